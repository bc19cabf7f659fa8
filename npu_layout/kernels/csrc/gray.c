/* Convert pixels to grayscale. */
#include "gray.h"

int gray_path(int type) { return type == GRAY_U8 ? PATH_GRAY : PATH_GRAY_WIDE; }

/* Loads of 64 bytes that cross lines wait for earlier stores with the same address modulo a page, where the result is up to SOON
 * bytes behind a plane; shorter loads do not. From no cache, which stores wait for too, gray takes 1.4 times as long (Zen 5).
 * Arrays of whole pages that are allocated one after the other are placed so: 16 bytes behind. */
static int waits_for_stores(const uint8_t *plane, const uint8_t *out) {
    enum { LINE = 64, SOON = 768 };
    const int64_t behind = (int64_t)((uintptr_t)out - (uintptr_t)plane) & (PAGE - 1);
    return behind % LINE && behind < SOON;
}
static const Level *level_for(const Level *level, const Graying *gray, const uint8_t *planes[3], const uint8_t *out) {
    const Loop row = gray->box.loops[gray->box.count - 1];
    if (!gray->cold || level->vector < 64 || !level_below(level) || row.s != 1 << gray->type) return level;
    int waits = 0;
    for (int c = 0; c < 3; ++c) waits |= waits_for_stores(planes[c] + gray->box.src, out + gray->box.dst);
    return waits ? level_below(level) : level;
}

/* Rows of less than LEAST bytes begin and end within lines too often. There are no such stores of uint16. */
int gray_gains_past(const Graying *gray) {
    enum { LEAST = 960 };
    return gray->type != GRAY_U16 && gray->box.loops[gray->box.count - 1].n << gray->type >= LEAST;
}

void gray_run(const Level *level, const Graying *gray, const uint8_t *b, const uint8_t *g, const uint8_t *r, uint8_t *out,
              int64_t part, int64_t parts) {
    Box box = gray->box;
    if (parts > 1 && !box_cut(&box, part, parts)) return;
    const Loop row = box.loops[box.count - 1];
    const int how = (gray->past ? PAST : 0) | (gray->cold ? COLD : 0);
    const Level *chosen = level_for(level, gray, (const uint8_t *[3]){b, g, r}, out);
    Gray *loop = fast_of(chosen, gray_path(gray->type))->gray[gray->type];
    ODOMETER(box.loops, box.count - 1, box.src, box.dst, 0,
             loop(b + src_, g + src_, r + src_, row.s, out + dst_, row.n, how));
    if (gray->past) fence();
}
