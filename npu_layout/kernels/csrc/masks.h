/* Masks of instances: the sign of integer prototypes times integer coefficients, enlarged, inside a box. No rounding. */
#ifndef NPU_LAYOUT_MASKS_H
#define NPU_LAYOUT_MASKS_H

#include <stdint.h>

enum { MASK_CHANNELS = 256 };

typedef struct {
    const uint8_t *data;
    int is_signed, zero; /* of stored bytes */
    int64_t count, rows, columns;
    const int64_t *channel, *row, *column; /* an element is at channel[c] + row[y] + column[x] */
    int factor;                            /* pixels of the input in a cell, each way */
} Prototypes;

/* One mask, (bottom - top) x (right - left) bytes 0 or 1; window: left, top, right, bottom in pixels, not empty and inside.
 * `coefficient`: without zero points. All sums must fit in 32 bits. work: mask_room integers. */
void mask_write(const Prototypes *from, const int16_t *coefficient, const int32_t window[4], uint8_t *out, int32_t *work, int wide);
int64_t mask_room(const Prototypes *from);

#endif
