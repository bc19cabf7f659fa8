/* The Python type of rows of a resized picture. */
#ifndef NPU_LAYOUT_YUV_TYPE_H
#define NPU_LAYOUT_YUV_TYPE_H

#include "binding/benches.h"
#include "yuv.h"

extern PyType_Spec yuv_spec;

typedef struct {
    PyObject_HEAD
    YuvPlan *plan;
    int64_t width, height, rows, columns, channels;
    int components, planes, packed;
    YuvComponent component[4];
    Benches benches;
} YuvObject;

/* NULL, with a TypeError set, if the object is of another type. */
YuvObject *yuv_object(PyObject *object);
/* The rows and the bytes of each that are read of a plane. */
void yuv_plane_needs(const YuvObject *self, int plane, int64_t *rows, int64_t *bytes);
/* Whether a plane has every sample that its components have, as rows of neighbouring bytes; otherwise a ValueError is set. */
int yuv_plane_fits(const YuvObject *self, int plane, const Py_buffer *view);
/* The first byte of an array and the one behind its last. */
void view_extent(const Py_buffer *view, const char **low, const char **high);
/* Whether two arrays have a byte in common, or bytes between those of the other. */
int views_overlap(const Py_buffer *a, const Py_buffer *b);

#endif
