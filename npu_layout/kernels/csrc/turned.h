/* Suppression of turned boxes, each a Gaussian, by 1 less their Hellinger distance (ProbIoU). */
#ifndef NPU_LAYOUT_TURNED_H
#define NPU_LAYOUT_TURNED_H

#include <stdint.h>

/* x, y of the centre, the covariance's a, b (variances) and c. */
typedef struct {
    double x, y, a, b, c;
} Gaussian;

/* Write the rows that stay, of `n` in the order of their scores, at most `limit`; a row goes if it is as near to one that stays, of its
 * class, as `iou` (or nearer, if not `inclusive`). class_id: or NULL. Returns how many; -1: there is no memory. */
int64_t turned_kept(const Gaussian *boxes, const int64_t *class_id, int64_t n, double iou, int inclusive, int64_t limit, int64_t *kept);

#endif
