/* What the elements of a view are, and its dimensions as digits of a number of channels. */
#ifndef NPU_LAYOUT_VIEW_ELEMENTS_H
#define NPU_LAYOUT_VIEW_ELEMENTS_H

#include <Python.h>

#include "reduce.h"

/* The one letter of a format in this machine's byte order; 0 for any other format. */
char view_letter(const Py_buffer *view);
int view_is_index(const Py_buffer *view); /* int64 */
/* The dtype of the elements: the buffer's, or `asked` (a name or None); DTYPES if there is no such one. */
Dtype view_dtype(const Py_buffer *view, PyObject *asked);
/* Read the dimensions from `first` on as digits of `channels`. False: they have too few elements, or are too many. */
int view_digits(const Py_buffer *view, int first, int end, int64_t channels, Digits *digits);

#endif
