/* The type Program: checks the numbers of a program when it is made, and the buffers when it runs. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#include "binding/arithmetic_record.h"
#include "binding/level_named.h"
#include "binding/program_type.h"
#include "binding/signals.h"
#include "cold.h"
#include "program.h"

typedef struct {
    PyObject_HEAD
    Program program;
    void *parameters; /* the parameters of the arithmetic, for each channel */
    Results results;
} ProgramObject;

static int add(int64_t *total, int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(*total, product, total);
}

/* Whether every element that a walk reaches is within 0 .. bytes. */
static int inside(const Box *box, int64_t start, size_t step, int64_t item, int64_t bytes) {
    int64_t low = start, high = start;
    for (int i = 0; i < box->count; ++i) {
        int64_t by;
        memcpy(&by, (const char *)(box->loops + i) + step, sizeof by);
        if (add(by < 0 ? &low : &high, box->loops[i].n - 1, by)) return 0;
    }
    return low >= 0 && !add(&high, item, 1) && high <= bytes;
}

/* ((extent, source step, destination step, parameter step), ...), source, destination, parameter: in elements. */
static int read_box(PyObject *from, Box *box, int64_t src_item, int64_t dst_item) {
    PyObject *loops;
    long long src, dst, param;
    if (!PyArg_ParseTuple(from, "O!LLL", &PyTuple_Type, &loops, &src, &dst, &param)) return 0;
    const Py_ssize_t count = PyTuple_Size(loops);
    if (count > MAX_LOOPS) {
        PyErr_Format(PyExc_OverflowError, "%zd loops, more than %d", count, MAX_LOOPS);
        return 0;
    }
    box->count = (int)count;
    box->param = param;
    int wrong = __builtin_mul_overflow((int64_t)src, src_item, &box->src);
    wrong |= __builtin_mul_overflow((int64_t)dst, dst_item, &box->dst);
    for (int i = 0; i < box->count; ++i) {
        long long n, s, d, p;
        if (!PyArg_ParseTuple(PyTuple_GetItem(loops, i), "LLLL", &n, &s, &d, &p)) return 0;
        Loop *k = box->loops + i;
        k->n = n, k->p = n > 1 ? p : 0; /* the step of a loop of extent 1 has no effect */
        wrong |= n < 1;
        wrong |= __builtin_mul_overflow((int64_t)(n > 1 ? s : 0), src_item, &k->s);
        wrong |= __builtin_mul_overflow((int64_t)(n > 1 ? d : 0), dst_item, &k->d);
    }
    if (wrong) PyErr_SetString(PyExc_ValueError, "loops that do not fit 64 bits, or an extent below 1");
    return !wrong;
}

static int64_t box_bytes(const Box *box, int64_t item) {
    for (int i = 0; i < box->count; ++i) item *= box->loops[i].n;
    return item;
}

/* Remove the fill that this move can do too, of the first `fills` jobs, if there is one; return the bytes of its pads. */
static int64_t take_pad(Program *p, int *fills, const Box *box, int64_t src_item, int64_t dst_item) {
    for (int i = 0; i < *fills; ++i) {
        const Box fill = p->job[i].move.box;
        const int64_t pad = pad_of(box, &fill, src_item, dst_item);
        if (!pad) continue;
        --*fills;
        p->fill_bytes -= box_bytes(&fill, dst_item);
        memmove(p->job + i, p->job + i + 1, (size_t)(--p->jobs - i) * sizeof *p->job);
        return pad;
    }
    return 0;
}

/* Read the arithmetic of a program, and check the bytes of its elements. */
static int read_arithmetic(PyObject *arithmetic, ProgramObject *self, long long src_item, long long dst_item) {
    Program *p = &self->program;
    p->converts = arithmetic != Py_None;
    if (p->converts && !arithmetic_read(arithmetic, &p->arithmetic, &self->parameters)) return 0;
    const long long src_size = p->converts ? dtype_size[p->arithmetic.from] : dst_item;
    const long long dst_size = p->converts ? dtype_size[p->arithmetic.to] : dst_item;
    if (src_item == src_size && dst_item == dst_size) return 1;
    PyErr_Format(PyExc_ValueError, "src_item and dst_item: expected %lld and %lld bytes, got %lld and %lld", src_size, dst_size,
                 src_item, dst_item);
    return 0;
}

/* Whether each element that a box reaches is in its buffer. */
static int stays_inside(const Program *p, const Box *box, int is_fill, int64_t src_item, int64_t dst_item) {
    int good = inside(box, box->dst, offsetof(Loop, d), dst_item, p->dst_bytes);
    if (!is_fill) good = good && inside(box, box->src, offsetof(Loop, s), src_item, p->src_bytes);
    if (!is_fill && p->converts) good = good && inside(box, box->param, offsetof(Loop, p), 1, p->arithmetic.channels);
    if (!good) PyErr_SetString(PyExc_ValueError, "a walk that leaves its buffer");
    return good;
}

/* `fills`: the jobs that are fills, which come before all moves. */
static void add_job(Program *p, int *fills, const Box *box, int is_fill, int64_t src_item, int64_t dst_item) {
    const int64_t pad = is_fill ? 0 : take_pad(p, fills, box, src_item, dst_item);
    *fills += is_fill;
    Job *job = p->job + p->jobs;
    memset(job, 0, sizeof *job);
    job->is_fill = is_fill, job->size = (int)dst_item, job->pad = pad;
    if (is_fill)
        job->move.box = *box, p->fill_bytes += box_bytes(box, dst_item);
    else if (p->converts)
        job_convert(job, box, &p->arithmetic);
    else
        move_plan(&job->move, box, (int)dst_item, pad), job->move.past = p->arithmetic.past;
    ++p->jobs;
}

static int read_jobs(PyObject *fills, PyObject *boxes, Program *p, int64_t src_item, int64_t dst_item) {
    const Py_ssize_t filled = PyTuple_Size(fills), moved = PyTuple_Size(boxes);
    p->job = PyMem_Calloc((size_t)(filled + moved) + 1, sizeof *p->job);
    if (!p->job) {
        PyErr_NoMemory();
        return 0;
    }
    int waiting = 0;
    for (Py_ssize_t i = 0; i < filled + moved; ++i) {
        Box box;
        const int is_fill = i < filled;
        PyObject *from = PyTuple_GetItem(is_fill ? fills : boxes, is_fill ? i : i - filled);
        if (!read_box(from, &box, is_fill ? 0 : src_item, dst_item) || !stays_inside(p, &box, is_fill, src_item, dst_item)) return 0;
        add_job(p, &waiting, &box, is_fill, src_item, dst_item);
    }
    return 1;
}

static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *fills, *boxes, *arithmetic;
    const char *name;
    long long src_bytes, dst_bytes, src_item, dst_item, alongside = 0;
    if (kwargs && PyDict_Size(kwargs)) {
        PyErr_SetString(PyExc_TypeError, "Program takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "sLLLLO!O!O|L", &name, &src_bytes, &src_item, &dst_bytes, &dst_item, &PyTuple_Type,
                          &fills, &PyTuple_Type, &boxes, &arithmetic, &alongside))
        return NULL;
    const Level *level = level_named(name);
    if (!level) return NULL;
    if (src_item < 1 || dst_item < 1 || src_item > 1 << 20 || dst_item > 1 << 20) {
        PyErr_Format(PyExc_ValueError, "src_item and dst_item: elements of %lld and %lld bytes", src_item, dst_item);
        return NULL;
    }
    ProgramObject *self = (ProgramObject *)PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    Program *p = &self->program;
    p->level = level, p->src_bytes = src_bytes, p->dst_bytes = dst_bytes;
    const int64_t moved = at_most(src_bytes / src_item, dst_bytes / dst_item) * src_item, most = INT64_MAX / 2;
    const int64_t others = alongside < 0 ? 0 : at_most(alongside, (int64_t)1 << 40);
    p->touched = at_most(at_most(moved, most) + at_most(dst_bytes, most), most) + others;
    if (read_arithmetic(arithmetic, self, src_item, dst_item) && read_jobs(fills, boxes, p, src_item, dst_item)) {
        program_planned(p);
        return (PyObject *)self;
    }
    Py_DECREF(self);
    return NULL;
}

static void program_dealloc(PyObject *object) {
    ProgramObject *self = (ProgramObject *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyMem_Free(self->program.job);
    PyMem_Free(self->parameters);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

typedef struct {
    const Program *program;
    const uint8_t *src;
    uint8_t *dst;
    Whereabouts where;
} Call;

static void fill_part(const void *context, int64_t part, int64_t parts) {
    const Call *call = context;
    program_fill(call->program, call->dst, part, parts);
}

static void program_part(const void *context, int64_t part, int64_t parts) {
    const Call *call = context;
    program_move(call->program, call->src, call->dst, part, parts, call->where);
}

/* A look loads from the buffers, whose pages may have to be read from a file first. `results`: NULL: the result is not looked at. */
static Whereabouts look(const Program *p, const uint8_t *src, const uint8_t *dst, Results *results) {
    const int past = results && p->gains_past && !p->arithmetic.past && past_cold(results, dst, p->dst_bytes, past_early(p->touched, 1));
    const int always = p->fetches_always, cold = p->fetches && (always || read_cold(src, p->src_bytes));
    return (Whereabouts){past, cold, cold && results && p->fetches_result && (always || write_cold(dst, p->dst_bytes))};
}

/* On return an exception may be set. */
static void run_program(Call *call, Results *results, long long part, long long parts) {
    const Program *p = call->program;
    Stop *stop;
    if (signals_stop(p->src_bytes + p->dst_bytes, &stop)) return;
    PyThreadState *others = p->dst_bytes < UNLOCK && p->src_bytes < UNLOCK ? NULL : PyEval_SaveThread();
    call->where = look(p, call->src, call->dst, results);
    if (parts) {
        if (part == 0) program_fill(p, call->dst, 0, 1);
        program_part(call, part, parts);
    } else if (!p->fill_bytes || !pool_run(fill_part, call, p->fill_bytes, stop, others)) {
        pool_run(program_part, call, p->src_bytes + p->dst_bytes, stop, others);
    }
    if (others) PyEval_RestoreThread(others);
}

/* NULL: an exception is set. `expected`: shapes, or NULL. `fits`: of an attempt, or NULL; if buffers do not fit, it becomes 0 and nothing is written. What is
 * attempted has a result that was there before, whereas new memory would have to be made before it can be looked at. */
static PyObject *call_program(ProgramObject *self, PyObject *const *args, long long part, long long parts, const Extents *expected, int *fits) {
    const Program *p = &self->program;
    const int flags = expected ? PyBUF_ND : PyBUF_SIMPLE;
    Py_buffer src, dst;
    if (PyObject_GetBuffer(args[0], &src, flags)) goto unfit;
    if (PyObject_GetBuffer(args[1], &dst, flags | PyBUF_WRITABLE)) {
        PyBuffer_Release(&src);
        goto unfit;
    }
    const char *s = src.buf, *d = dst.buf;
    int refused = 1;
    if (src.len != p->src_bytes || dst.len != p->dst_bytes) {
        PyErr_Format(PyExc_ValueError, "buffers of %zd and %zd bytes, expected %lld and %lld", src.len, dst.len,
                     (long long)p->src_bytes, (long long)p->dst_bytes);
    } else if (expected && !(extents_are(expected, &src) && extents_are(expected + 1, &dst))) {
        PyErr_SetString(PyExc_ValueError, "arrays of other shapes");
    } else if (s < d + dst.len && d < s + src.len) {
        PyErr_SetString(PyExc_ValueError, "source and destination overlap");
    } else {
        refused = 0;
        run_program(&(Call){p, src.buf, dst.buf, {0, 0, 0}}, fits ? &self->results : NULL, part, parts);
    }
    PyBuffer_Release(&dst);
    PyBuffer_Release(&src);
    if (refused) goto unfit;
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
unfit:
    if (fits) *fits = 0;
    return NULL;
}

static PyObject *program_call(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    long long part = 0, parts = 0;
    if (count != 2 && count != 4) {
        PyErr_Format(PyExc_TypeError, "run takes source and destination, or part and parts too; got %zd", count);
        return NULL;
    }
    if (count == 4) {
        part = PyLong_AsLongLong(args[2]), parts = PyLong_AsLongLong(args[3]);
        if (PyErr_Occurred()) return NULL;
        if (part < 0 || part >= parts || parts > 1 << 16) {
            PyErr_Format(PyExc_ValueError, "part %lld of %lld", part, parts);
            return NULL;
        }
    }
    return call_program((ProgramObject *)object, args, part, parts, NULL, NULL);
}

PyObject *program_try(PyObject *program, PyObject *const *args, const Extents *expected) {
    int fits = 1;
    PyObject *done = call_program((ProgramObject *)program, args, 0, 0, expected, &fits);
    if (!done && fits) return NULL;
    Py_XDECREF(done);
    PyErr_Clear();
    return PyBool_FromLong(fits);
}

static PyObject *program_attempt(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    if (count == 2) return program_try(object, args, NULL);
    PyErr_Format(PyExc_TypeError, "attempt takes source and destination, got %zd", count);
    return NULL;
}

/* The names of the rows of the table that the boxes use, in their order; a conversion uses up to four. */
static PyObject *program_paths(PyObject *object, PyObject *unused) {
    const Program *p = &((ProgramObject *)object)->program;
    PyObject *list = PyList_New(0);
    (void)unused;
    for (int i = 0; list && i < p->jobs; ++i) {
        const Job *job = p->job + i;
        int taken[4] = {job->move.path}, count = job->is_fill || p->is_joined ? 0 : 1;
        if (count && p->converts) count = convert_paths(p->level, &job->convert, &p->arithmetic, taken);
        int good = !job->is_fill || append_text(list, "fill");
        for (int k = 0; k < count; ++k) good = good && append_text(list, paths[taken[k]].name);
        if (!good) Py_CLEAR(list);
    }
    int taken[2 + 4], count = p->is_joined ? joined_paths(p->level, &p->joined, &p->arithmetic, taken) : 0;
    for (int k = 0; list && k < count; ++k)
        if (!append_text(list, paths[taken[k]].name)) Py_CLEAR(list);
    return list;
}

const Program *program_of(PyObject *object) {
    destructor mine = PyType_GetSlot(Py_TYPE(object), Py_tp_dealloc);
    if (mine == program_dealloc) return &((ProgramObject *)object)->program;
    PyErr_SetString(PyExc_TypeError, "expected a Program");
    return NULL;
}

static PyMethodDef program_methods[] = {
    {"run", (PyCFunction)(void (*)(void))program_call, METH_FASTCALL,
     "run(source, destination[, part, parts]): without parts on as many threads as pay; part 0 has to be the first"},
    {"attempt", (PyCFunction)(void (*)(void))program_attempt, METH_FASTCALL,
     "attempt(source, destination): run, and True; False if buffers do not fit: then nothing was written"},
    {"paths", program_paths, METH_NOARGS, "the fast paths used"},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot program_slots[] = {
    {Py_tp_doc, "Loops of one conversion, checked against the sizes of its two buffers."},
    {Py_tp_new, program_new},
    {Py_tp_dealloc, program_dealloc},
    {Py_tp_methods, program_methods},
    {0, NULL},
};
PyType_Spec program_spec = {"npu_layout.kernels._native.Program", sizeof(ProgramObject), 0, Py_TPFLAGS_DEFAULT,
                                   program_slots};
