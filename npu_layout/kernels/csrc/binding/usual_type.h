/* The Python type of a program's usual call: with arrays like those of a call that passed every check. */
#ifndef NPU_LAYOUT_USUAL_TYPE_H
#define NPU_LAYOUT_USUAL_TYPE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyType_Spec usual_spec;

#endif
