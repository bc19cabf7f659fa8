#define PY_SSIZE_T_CLEAN
#include "binding/view_elements.h"

char view_letter(const Py_buffer *view) {
    const int one = 1;
    const char *format = view->format ? view->format : "B", native = *(const char *)&one ? '<' : '>';
    if (*format == '@' || *format == '=' || *format == native) ++format;
    return format[0] && !format[1] ? format[0] : 0;
}

int view_is_index(const Py_buffer *view) { return view->itemsize == 8 && (view_letter(view) == 'l' || view_letter(view) == 'q'); }

Dtype view_dtype(const Py_buffer *view, PyObject *asked) {
    static const char letters[] = "bBhHieHf";
    const char letter = view_letter(view);
    for (int t = 0; t < DTYPES; ++t) {
        if (letters[t] != (letter == 'l' ? 'i' : letter) || dtype_size[t] != view->itemsize) continue;
        if (asked == Py_None) return (Dtype)t;
        if (PyUnicode_Check(asked) && !PyUnicode_CompareWithASCIIString(asked, dtype_name[t])) return (Dtype)t;
    }
    return DTYPES;
}

int view_digits(const Py_buffer *view, int first, int end, int64_t channels, Digits *digits) {
    int64_t room = 1;
    digits->count = 0;
    if (end < first || end - first > MAX_DIGITS) return 0;
    for (int i = first; i < end; ++i) {
        digits->loops[digits->count++] = (Loop){view->shape[i], view->strides[i], 0, 0};
        if (__builtin_mul_overflow(room, (int64_t)view->shape[i], &room)) return 0;
    }
    return channels >= 1 && channels <= room;
}
