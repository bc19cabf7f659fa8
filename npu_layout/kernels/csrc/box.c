/* Boxes: the order of their loops, and how a box is divided into parts. */
#include "box.h"

#include <string.h>

void box_flip(Box *box, Loop *k) {
    box->src += (k->n - 1) * k->s;
    box->dst += (k->n - 1) * k->d;
    box->param += (k->n - 1) * k->p;
    k->s = -k->s, k->d = -k->d, k->p = -k->p;
}

int box_last(Box *box, int i) {
    const Loop k = box->loops[i];
    memmove(box->loops + i, box->loops + i + 1, (size_t)(box->count - 1 - i) * sizeof k);
    box->loops[box->count - 1] = k;
    return box->count - 1;
}

void box_add(Box *box, Loop k) {
    if (k.n == 1) return;
    int at = box->count++;
    for (; at > 0 && magnitude(box->loops[at - 1].d) < magnitude(k.d); --at) box->loops[at] = box->loops[at - 1];
    box->loops[at] = k;
}

enum { LINE = 64, HUGE_PAGE = 2 << 20, MANY_PAGES = 64 * HUGE_PAGE };

/* Elements that a cut does not separate: neighbours on either side that share a cache line. */
static int64_t grain_of(const Loop *k) {
    const int64_t s = k->s ? magnitude(k->s) : LINE, step = at_most(s, k->d ? magnitude(k->d) : LINE);
    return step < LINE ? (LINE - 1 + step) / step : 1;
}
static int64_t pieces(const Loop *k) { return (k->n + grain_of(k) - 1) / grain_of(k); }

/* Bytes from one cut to the next in the destination: cores that write near each other evict lines from each other's caches,
 * prefetched ones as well. In the source, if its elements are neighbours: a core reads whole lines. */
static int64_t cut_distance(const Loop *k, int64_t parts) {
    const int64_t s = k->s ? magnitude(k->s) : LINE, d = k->d ? magnitude(k->d) : INT32_MAX;
    return (s < LINE ? at_most(s, d) : d) * k->n / parts;
}

/* Whether so many pieces can be divided into parts of about the same size. */
static int even(int64_t count, int64_t parts) {
    return count < parts ? parts % count == 0 : 4 * ((count + parts - 1) / parts * parts) <= 5 * count;
}

/* The loop to cut: among those whose pieces make parts of equal size, the one with the largest distance between cuts; if there
 * is none, the one with the most pieces. A loop that steps from page to page of the destination is preferred if there are so
 * many pages that a part which is the first to touch each of them needs too long. */
static Loop *cut_of(Box *box, int64_t parts) {
    Loop *best = box->loops;
    int found = 0;
    for (Loop *k = box->loops; k < box->loops + box->count; ++k) {
        const int64_t here = pieces(k);
        if (here < 2) continue;
        if (at_most(magnitude(k->d), HUGE_PAGE) > MANY_PAGES / k->n) return k;
        const int fit = even(here, parts);
        if (fit > found || (fit == found && (found ? cut_distance(k, parts) > cut_distance(best, parts) : here > pieces(best))))
            best = k, found = fit;
    }
    return best;
}

int box_cut(Box *box, int64_t part, int64_t parts) {
    while (parts > 1) {
        Loop *k = cut_of(box, parts);
        if (!box->count || pieces(k) < 2) return part == 0;
        const int64_t each = (parts - 1) / pieces(k) + 1; /* parts into which one of its pieces is divided in turn */
        const int64_t cuts = (parts - 1) / each + 1, cut = part / each;
        const int64_t grain = k->n >= 64 * cuts ? 64 : grain_of(k), grains = (k->n + grain - 1) / grain;
        const int64_t begin = at_most(k->n, grains * cut / cuts * grain);
        const int64_t end = at_most(k->n, grains * (cut + 1) / cuts * grain);
        box->src += begin * k->s, box->dst += begin * k->d, box->param += begin * k->p;
        k->n = end - begin;
        if (end <= begin) return 0;
        part -= cut * each, parts = at_most(each, parts - cut * each);
    }
    return 1;
}
