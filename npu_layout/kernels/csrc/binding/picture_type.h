/* The Python type of rows of a resized picture. */
#ifndef NPU_LAYOUT_PICTURE_TYPE_H
#define NPU_LAYOUT_PICTURE_TYPE_H

#include "binding/benches.h"
#include "pictures.h"

extern PyType_Spec picture_spec;

typedef struct {
    PyObject_HEAD
    PicturePlan *plan;
    int64_t width, height, rows, columns, channels;
    int components, planes, packed;
    PictureSource source;
    int64_t group_pixels, group_bytes;
    PictureComponent component[4];
    PlaneTiles tile[3];
    Benches benches;
} PictureObject;

/* NULL, with a TypeError set, if the object is of another type. */
PictureObject *picture_object(PyObject *object);
/* The rows and the bytes of each that are read of a plane. */
void picture_plane_needs(const PictureObject *self, int plane, int64_t *rows, int64_t *bytes);
/* Whether a plane has every sample that its components have, as rows of neighbouring bytes; otherwise a ValueError is set. */
int picture_plane_fits(const PictureObject *self, int plane, const Py_buffer *view);
/* The first byte of an array and the one behind its last. */
void view_extent(const Py_buffer *view, const char **low, const char **high);
/* Whether two arrays have a byte in common, or bytes between those of the other. */
int views_overlap(const Py_buffer *a, const Py_buffer *b);

#endif
