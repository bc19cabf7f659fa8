/* Peaks of heatmaps. */
#ifndef NPU_LAYOUT_PEAKS_H
#define NPU_LAYOUT_PEAKS_H

#include "levels.h"

/* Heatmaps: loops over planes (s: bytes, p: what one step adds to the plane's number), rows and columns. */
typedef struct {
    Dtype type;
    int64_t height, width, y, x; /* extents, steps in bytes */
    int64_t radius, least;       /* integers: `least` or more; floats: above the threshold */
    float threshold;
    int y_bits, x_bits; /* that hold every y and x */
    Box planes;
} Heatmaps;

/* Codes, of the bits of plane, y and x, in a list of `room`, in any order; how many there are, with those for which
 * there was no room; and the one found last, 0 before any was. */
typedef struct {
    int64_t count, room;
    int unsorted;
    int64_t *codes, last;
} Peaks;
void peaks_find(const Level *level, const Heatmaps *maps, const uint8_t *src, Peaks *peaks);
/* Sort `peaks` by way of as much room again. True: the list is in `other`. */
int peaks_sort(Peaks *peaks, int64_t *other);

/* Where a peak is between pixels: not looked for, at the top of a parabola, a quarter of a pixel towards the greater
 * neighbour. */
typedef enum { WHOLE, PARABOLA, QUARTER, REFINEMENTS } Refinement;

/* Of the pixel `index` (n, c, y, x) of heatmaps with those extents and steps in bytes: n, c, x, y and its value. */
void peak_top(Dtype type, const uint8_t *src, const int64_t extents[4], const int64_t steps[4], const int64_t index[4],
              Refinement refinement, double top[5]);

#endif
