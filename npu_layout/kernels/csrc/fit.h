/* One pass from a picture to a buffer: rows are resized into a band that stays in the caches, with a border around them, and a
 * program converts each band. */
#ifndef NPU_LAYOUT_FIT_H
#define NPU_LAYOUT_FIT_H

#include "program.h"
#include "yuv.h"

enum { FIT_PLANES = 3, FIT_CHANNELS = 4 };

typedef struct {
    const YuvPlan *plan;
    int packed, channels;
    int64_t width, height;             /* of the result with its border */
    int64_t left, top, inner_w, inner_h; /* where the resized picture is */
    uint8_t border[FIT_CHANNELS];
    /* Rows are written into `out` itself if there is no program; `pitch`: bytes between rows of the result in `out`. */
    const Program *band, *tail; /* for `rows` rows, and for what is left behind the last of such bands; or NULL */
    int64_t rows, pitch;
    int64_t source_rows[FIT_PLANES], source_bytes[FIT_PLANES]; /* of each plane that is read: rows, and bytes of each */
    int planes;
    int64_t out_bytes, moved;
} Fit;

/* Run part `part` of `parts`; each has bands of its own. 0: there was no memory. */
int fit_run(const Fit *fit, const YuvPlane planes[FIT_PLANES], uint8_t *out, int64_t part, int64_t parts);

#endif
