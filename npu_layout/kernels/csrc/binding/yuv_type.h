/* The Python type of YUV rows. */
#ifndef NPU_LAYOUT_YUV_TYPE_H
#define NPU_LAYOUT_YUV_TYPE_H

extern PyType_Spec yuv_spec;

#endif
