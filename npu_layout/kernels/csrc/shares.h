/* The softmax of the scores of a cell, and scores beside objectness, with the bits of decode/arithmetic/activations.py. */
#ifndef NPU_LAYOUT_SHARES_H
#define NPU_LAYOUT_SHARES_H

#include <math.h>

#include "detect.h"

/* What shares_of_cell found. */
typedef enum { NO_ROOM, NONE_REACHES, SHARES } Shared;

/* Write the shares of all scores of a cell to work->shares, the background among them, in the order in which they are stored; but nothing of
 * use if no class can have `least`. NO_ROOM: there is no memory. */
Shared shares_of_cell(const Level *level, const Anchor *anchor, const uint8_t *const *buffers, int64_t cell, double least, Workspace *work);

/* Where the share of a class is. */
static inline int64_t share_at(const Anchor *anchor, int64_t class_id) { return class_id + (anchor->background.map.count && class_id >= anchor->aside); }

/* A score from objectness and that of a class. */
static inline double combined(ScoreRule rule, double object, double share) {
    if (rule == WEIGHTED) return share < 0 ? NAN : fifth_root(object * object * object * (share * share));
    return rule == ROOT_OF_PRODUCT ? sqrt(object * share) : object * share;
}

/* What a class has at least beside this objectness, above 0; shares_of_cell has room for rounding. */
static inline double least_share(ScoreRule rule, double object, double confidence) {
    if (rule == WEIGHTED) return sqrt(pow(confidence, 5) / (object * object * object));
    return (rule == ROOT_OF_PRODUCT ? confidence * confidence : confidence) / object;
}

/* The class with the largest share, the first of equal ones. */
static inline int64_t largest_share(const Anchor *anchor, const double *shares) {
    int64_t best = 0;
    for (int64_t c = 1; c < anchor->score.map.count; ++c)
        if (shares[share_at(anchor, c)] > shares[share_at(anchor, best)]) best = c;
    return best;
}

#endif
