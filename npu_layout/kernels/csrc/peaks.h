/* Peaks of heatmaps. */
#ifndef NPU_LAYOUT_PEAKS_H
#define NPU_LAYOUT_PEAKS_H

#include "levels.h"

/* Heatmaps: loops over planes (s: bytes, p: the increment of the plane's index), rows and columns. */
typedef struct {
    Dtype type;
    int64_t height, width, y, x; /* extents, steps in bytes */
    int64_t radius, least;       /* integers: `least` or more; floats: above the threshold */
    float threshold;
    int y_bits, x_bits; /* that represent every y and x */
    Box planes;
} Heatmaps;

/* Codes, made of the bits of plane, y and x, in a list of size `room`, in any order; how many were found, also those beyond
 * `room`; and the one found last, 0 if there is none yet. */
typedef struct {
    int64_t count, room;
    int unsorted;
    int64_t *codes, last;
} Peaks;
void peaks_find(const Level *level, const Heatmaps *maps, const uint8_t *src, Peaks *peaks);
/* Sort `peaks`, with a buffer `other` of the same size. True: the sorted list is in `other`. */
int peaks_sort(Peaks *peaks, int64_t *other);

/* How the position of a peak is refined: not at all, to the top of a parabola, or by a quarter of a pixel towards the greater
 * neighbour. */
typedef enum { WHOLE, PARABOLA, QUARTER, REFINEMENTS } Refinement;

/* Write n, c, x, y and the value of the pixel `index` (n, c, y, x) of heatmaps with these extents, and steps in bytes. */
void peak_top(Dtype type, const uint8_t *src, const int64_t extents[4], const int64_t steps[4], const int64_t index[4],
              Refinement refinement, double top[5]);

#endif
