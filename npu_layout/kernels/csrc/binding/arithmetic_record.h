/* The record that describes an arithmetic (Description in npu_layout/kernels/description.py), read field by field. */
#ifndef NPU_LAYOUT_ARITHMETIC_RECORD_H
#define NPU_LAYOUT_ARITHMETIC_RECORD_H

#include "convert.h"

/* Fill `a` from a record. Its numbers per channel are copied to `memory`, which the caller frees by PyMem_Free, also if
 * the record is refused. False: an exception is set, and names the field. */
int arithmetic_read(PyObject *record, Arithmetic *a, void **memory);

#endif
