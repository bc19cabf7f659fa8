/* Find the cells of a feature map whose scores pass, by their stored codes. */
#ifndef NPU_LAYOUT_SCAN_H
#define NPU_LAYOUT_SCAN_H

#include "feature_map.h"

typedef struct {
    int32_t cell, channel, code;
} Hit;

/* A list that grows. most: with more, listing every channel of planes stops; nothing else reads it. */
typedef struct Hits {
    Hit *items;
    int64_t count, room, most;
} Hits;

enum { MOST_FEW = 16 }; /* channels that are read cell by cell */

/* Make room for `more` items; 0: there is no memory. */
int hits_grow(Hits *hits, int64_t more);
static inline int hits_reserve(Hits *hits, int64_t more) { return hits->room - hits->count >= more || hits_grow(hits, more); }

/* Append the cells whose largest code is `least` or more, with the first channel that has it, in the order of cells; with `all`,
 * every channel of every cell whose code is. 0: there is no memory. */
int scan(const Level *level, const FeatureMap *map, const uint8_t *data, int32_t least, int all, Hits *hits);
static inline int scan_best(const Level *level, const FeatureMap *map, const uint8_t *data, int32_t least, Hits *hits) {
    return scan(level, map, data, least, 0, hits);
}
static inline int scan_all(const Level *level, const FeatureMap *map, const uint8_t *data, int32_t least, Hits *hits) {
    return scan(level, map, data, least, 1, hits);
}
/* The first channel with the largest code of one cell; meanwhile the lines of the next one are fetched. */
Hit best_of_cell(const Level *level, const FeatureMap *map, const uint8_t *data, int64_t cell, const Upcoming *next);

#endif
