#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/signals.h"

static int see_signals(void *thread) {
    PyEval_RestoreThread(thread);
    const int raised = PyErr_CheckSignals();
    PyEval_SaveThread();
    return raised;
}

/* Computed each time, because after a fork the main thread is the one that forked. It calls a Python function, before which a
 * signal's handler may run: an exception that the handler raises stays set. */
static int in_main_thread(void) {
    PyObject *threading = PyImport_ImportModule("threading");
    if (!threading) PyErr_Clear(); /* the interpreter is shutting down */
    PyObject *thread = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
    PyObject *ident = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
    const int is = ident && PyLong_Check(ident) && PyLong_AsUnsignedLong(ident) == PyThread_get_thread_ident();
    Py_XDECREF(ident), Py_XDECREF(thread), Py_XDECREF(threading);
    return is;
}

int signals_stop(int64_t bytes, Stop **stop) {
    *stop = bytes >= 2 * SLICE && in_main_thread() ? see_signals : NULL;
    return PyErr_Occurred() ? -1 : 0;
}

void run_unlocked(Task *task, const void *context, int64_t bytes) {
    Stop *stop;
    if (signals_stop(bytes, &stop)) return;
    PyThreadState *others = bytes < UNLOCK ? NULL : PyEval_SaveThread();
    pool_run(task, context, bytes, stop, others);
    if (others) PyEval_RestoreThread(others);
}
