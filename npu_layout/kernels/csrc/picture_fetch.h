/* Rows of a picture's planes that are prefetched while those of another row of the result are read. */
#ifndef NPU_LAYOUT_PICTURE_FETCH_H
#define NPU_LAYOUT_PICTURE_FETCH_H

#include "picture_plan.h"

/* Source rows of the next row of the result, which no prefetcher of a processor foresees: a camera's frame is in no cache. Loops that
 * can fetch them while they work do so: a burst of reads, as before other rows, waits for the slots of the first cache. */
typedef struct {
    const uint8_t *row[2];
    int rows;
    int64_t bytes;
} Fetch;

static inline void next_rows(const PicturePlan *plan, const PicturePlane *planes, int64_t y, Fetch *f) {
    const RowPair *now = plan->resize[0].rows + y + plan->ahead - 1, *next = now + 1;
    f->rows = 0, f->bytes = plan->spec.width * plan->spec.component[0].step;
    if (f->bytes < FETCHED || y + plan->ahead >= plan->spec.y[0].to) return;
    for (int k = 0; k < (next->below ? 2 : 1); ++k)
        if (next->row[k] > now->row[now->below != 0])
            f->row[f->rows++] = planes[0].first + next->row[k] * planes[0].pitch;
}
/* GCC 12 drops calls of functions that only prefetch, unless they are inlined. */
#define FETCHING static inline __attribute__((always_inline))
FETCHING void fetch(const Fetch *next) {
    for (int k = 0; k < next->rows; ++k)
        for (int64_t i = 0; i < next->bytes; i += 64) __builtin_prefetch(next->row[k] + i, 0, 3);
}

/* The rows to fetch inside a loop that reads `rows`: these themselves if there are none. */
static inline void fetch_along(const Fetch *next, const uint8_t *const rows[2], const uint8_t *fetched[2]) {
    const uint8_t *const first = next->rows ? next->row[0] : rows[0];
    fetched[0] = first;
    fetched[1] = next->rows == 2 ? next->row[1] : next->rows || !rows[1] ? first : rows[1];
}

/* The same of components. */
FETCHING void fetch_component(const PicturePlan *plan, const PicturePlane *planes, int k, int64_t y) {
    const PictureComponent *c = plan->spec.component + k;
    const PicturePlane *plane = planes + c->plane;
    const RowPair *now = plan->resize[plan->spec.convert_first ? 0 : k].rows + y + plan->ahead - 1, *next = now + 1;
    const int32_t every = plan->spec.convert_first ? (int32_t)c->every_y : 1;
    int32_t last = now->row[now->below != 0] / every;
    for (int i = 0; i < (next->below ? 2 : 1); ++i) {
        const int32_t row = next->row[i] / every;
        const uint8_t *from = plane->first + row * plane->pitch;
        for (int64_t at = 0; row > last && at < plan->fetched[k]; at += 64) __builtin_prefetch(from + at, 0, 3);
        if (row > last) last = row;
    }
}
FETCHING void fetch_components(const PicturePlan *plan, const PicturePlane *planes, int64_t y) {
    for (int k = 0; k < 3 && y + plan->ahead < plan->spec.y[0].to; ++k)
        if (plan->fetched[k]) fetch_component(plan, planes, k, y);
}

#endif
