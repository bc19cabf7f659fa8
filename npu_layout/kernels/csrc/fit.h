/* One pass from a picture to a buffer: rows are resized into a band that stays in the caches, with a border around them, and a
 * program converts each band. */
#ifndef NPU_LAYOUT_FIT_H
#define NPU_LAYOUT_FIT_H

#include "program.h"
#include "pictures.h"

enum { FIT_PLANES = 3, FIT_CHANNELS = 4 };

typedef struct {
    const PicturePlan *plan;
    int packed, channels;
    int64_t width, height;               /* of the result with its border */
    int64_t left, top, inner_w, inner_h; /* where the resized picture is */
    uint8_t border[FIT_CHANNELS];
    int flipped; /* whether the top bit of each byte of the rows is inverted, for a program that only moves them */
    const Program *band, *tail; /* of `rows` rows, and of those behind the last such band; NULL: rows are results */
    int64_t rows, pitch;        /* `pitch`: bytes from one row of the result to the next */
} Fit;

/* Each part of `parts` has bands of its own, and works on a bench of so many bytes, aligned to 64. `past`: whether the result is in
 * no cache, and bands that gain by it are stored past the caches. */
int64_t fit_bench(const Fit *fit);
void fit_run(const Fit *fit, const PicturePlane planes[FIT_PLANES], uint8_t *out, int past, int64_t part, int64_t parts, uint8_t *bench);
/* Whether the way in which bands are stored depends on where the result is. */
int fit_looks(const Fit *fit);

#endif
