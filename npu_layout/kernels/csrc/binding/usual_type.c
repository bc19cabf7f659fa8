/* The type Usual: what a loop over frames repeats. It compares two arrays with those that it was made of, and runs the program if they are
 * alike. It does not change, so that threads may share it. */
#include "binding/usual_type.h"

#include "binding/program_type.h"

/* Of the source, then of the result. */
typedef struct {
    PyObject_HEAD
    PyObject *program, *dtype_name;
    PyObject *types[2], *dtypes[2];
    Extents extents[2];
} UsualObject;

static void usual_dealloc(PyObject *object) {
    UsualObject *self = (UsualObject *)object;
    PyTypeObject *type = Py_TYPE(object);
    for (int i = 0; i < 2; ++i) Py_XDECREF(self->types[i]), Py_XDECREF(self->dtypes[i]);
    Py_XDECREF(self->program), Py_XDECREF(self->dtype_name);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static int read_array(UsualObject *self, int i, PyObject *array) {
    Py_buffer view;
    self->types[i] = (PyObject *)Py_TYPE(array);
    Py_INCREF(self->types[i]);
    self->dtypes[i] = PyObject_GetAttr(array, self->dtype_name);
    if (!self->dtypes[i] || PyObject_GetBuffer(array, &view, PyBUF_ND)) return 0;
    const int fits = view.ndim <= MOST_AXES;
    if (fits) extents_read(self->extents + i, &view);
    PyBuffer_Release(&view);
    if (!fits) PyErr_Format(PyExc_OverflowError, "more than %d axes", MOST_AXES);
    return fits;
}

static PyObject *usual_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *program, *source, *result;
    if (kwargs && PyDict_Size(kwargs)) {
        PyErr_SetString(PyExc_TypeError, "Usual takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OOO", &program, &source, &result) || !program_of(program)) return NULL;
    UsualObject *self = (UsualObject *)PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    Py_INCREF(program);
    self->program = program, self->dtype_name = PyUnicode_InternFromString("dtype");
    if (self->dtype_name && read_array(self, 0, source) && read_array(self, 1, result)) return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

/* Whether a dtype is the expected one: almost always the same object; one that was unpickled is another, equal one. */
static int is_dtype(PyObject *array, PyObject *name, PyObject *expected) {
    PyObject *dtype = PyObject_GetAttr(array, name);
    const int same = dtype && (dtype == expected || PyObject_RichCompareBool(dtype, expected, Py_EQ) == 1);
    Py_XDECREF(dtype);
    if (!same) PyErr_Clear();
    return same;
}

static PyObject *usual_attempt(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    const UsualObject *self = (const UsualObject *)object;
    if (count != 2) {
        PyErr_Format(PyExc_TypeError, "attempt takes source and destination, got %zd", count);
        return NULL;
    }
    for (int i = 0; i < 2; ++i)
        if ((PyObject *)Py_TYPE(args[i]) != self->types[i] || !is_dtype(args[i], self->dtype_name, self->dtypes[i])) Py_RETURN_FALSE;
    return program_try(self->program, args, self->extents);
}

static PyMethodDef usual_methods[] = {
    {"attempt", (PyCFunction)(void (*)(void))usual_attempt, METH_FASTCALL,
     "attempt(source, destination): run, and True; False for arrays of another type, dtype or shape, or which the program refuses: then "
     "nothing was written"},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot usual_slots[] = {
    {Py_tp_doc, "Usual(program, source, destination): the program's call with arrays like these."},
    {Py_tp_new, usual_new},
    {Py_tp_dealloc, usual_dealloc},
    {Py_tp_methods, usual_methods},
    {0, NULL},
};
PyType_Spec usual_spec = {"npu_layout.kernels._native.Usual", sizeof(UsualObject), 0, Py_TPFLAGS_DEFAULT, usual_slots};
