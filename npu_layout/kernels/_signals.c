#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "_signals.h"

static int see_signals(void *thread) {
    PyEval_RestoreThread(thread);
    const int raised = PyErr_CheckSignals();
    PyEval_SaveThread();
    return raised;
}

/* Asked anew each time: after a fork it is the thread that forked. */
static int in_main_thread(void) {
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *thread = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
    PyObject *ident = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
    const int is = ident && PyLong_Check(ident) && PyLong_AsUnsignedLong(ident) == PyThread_get_thread_ident();
    Py_XDECREF(ident), Py_XDECREF(thread), Py_XDECREF(threading);
    PyErr_Clear();
    return is;
}

Stop *signals_stop(int64_t bytes) { return bytes >= 2 * SLICE && in_main_thread() ? see_signals : NULL; }

void run_unlocked(Task *task, const void *context, int64_t bytes) {
    Stop *stop = signals_stop(bytes);
    PyThreadState *others = bytes < UNLOCK ? NULL : PyEval_SaveThread();
    pool_run(task, context, bytes, stop, others);
    if (others) PyEval_RestoreThread(others);
}
