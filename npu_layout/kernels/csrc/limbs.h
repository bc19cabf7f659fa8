/* Limbs between joints, by the field along the line between them, and the skeletons that they make. */
#ifndef NPU_LAYOUT_LIMBS_H
#define NPU_LAYOUT_LIMBS_H

#include <stdint.h>

typedef struct {
    const float *fields;   /* planes of rows x columns, x and y of each limb; a value that is not finite is read as 0 */
    const int64_t *limbs;  /* pairs of joints */
    const double *peaks;   /* x, y and score of each, joint after joint */
    const int64_t *ends;   /* of each joint its first peak, and behind the last joint their number */
    int64_t rows, columns, count, joints;
    int samples, enough;   /* points of a line, and how many of them must be above `least` */
    double least, total;   /* `total`: the least sum of a skeleton's limbs */
} Skeletons;

/* The most skeletons that there can be: each has two peaks of its own. */
int64_t skeletons_most(const Skeletons *s);

/* Write skeletons, a row of `joints` each: which peak is its joint, or -1; and their sums of limbs. The peaks of a limb are matched
 * greedily: each once, the best aligned first; of equals the first. Limbs are added in their order. Returns how many skeletons there
 * are, -1 without memory. found, sums: room for `skeletons_most`. */
int64_t skeletons_find(const Skeletons *s, int64_t *found, double *sums);

#endif
