/* The type Detector. */
#ifndef NPU_LAYOUT_DETECT_TYPE_H
#define NPU_LAYOUT_DETECT_TYPE_H

extern PyType_Spec detector_spec;

#endif
