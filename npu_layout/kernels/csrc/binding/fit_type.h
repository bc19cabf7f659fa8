/* The Python type of a fit. */
#ifndef NPU_LAYOUT_FIT_TYPE_H
#define NPU_LAYOUT_FIT_TYPE_H

extern PyType_Spec fit_spec;

#endif
