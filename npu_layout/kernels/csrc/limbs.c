#include "limbs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHARES = 64 }; /* samples whose places on a line are computed once */

typedef struct {
    double score;
    int64_t first, second;
} Pair;

typedef struct {
    const Skeletons *of;
    const float *x, *y;    /* the field of the current limb */
    double shares[SHARES];
    Pair *pairs;
    int64_t count, room;
    int64_t *owner;        /* of each peak the skeleton, or -1 */
    uint8_t *used, *alive; /* of each peak, by the current limb; of each skeleton */
    int64_t made;
} Work;

/* The nearest whole number, of halves the even one, of -0.25 .. 2**30. Adding 1.5 * 2**52 rounds as rint does, which is a call without
 * SSE4.1. */
static inline int64_t rounded(double at) {
    const double rounder = 6755399441055744.0;
    return (int64_t)((at + rounder) - rounder);
}

/* The nearest of 0 .. size - 1; of NaN 0. */
static inline int64_t cell_of(double at, int64_t size) {
    const double last = (double)(size - 1);
    return rounded(at > 0 ? at < last ? at : last : 0);
}

static double share_of(int k, int samples) { return (double)k / (samples - 1); }

static double finite_or_0(float v) { return fabsf(v) <= 3.4028234663852886e38f ? (double)v : 0; }

/* The operations, and their order, are those of fallback.limbs; a line that too few of the samples left can save is none. Without
 * `careful`, both peaks are on the map, and NaN says that a value on the way is not finite. */
static inline double score_of(const Work *w, const double *a, const double *b, int careful) {
    const Skeletons *s = w->of;
    const double dx = b[0] - a[0], dy = b[1] - a[1], length = sqrt(dx * dx + dy * dy);
    if (!(length > 0)) return -1;
    const double ux = dx / length, uy = dy / length;
    const int spare = s->samples - s->enough;
    double sum = 0;
    int below = 0;
    for (int k = 0; k < s->samples && below <= spare; ++k) {
        const double t = k < SHARES ? w->shares[k] : share_of(k, s->samples), left = a[0] + dx * t, down = a[1] + dy * t;
        const int64_t column = careful ? cell_of(left, s->columns) : rounded(left), row = careful ? cell_of(down, s->rows) : rounded(down);
        const float x = w->x[row * s->columns + column], y = w->y[row * s->columns + column];
        const double along = (careful ? finite_or_0(x) : (double)x) * ux + (careful ? finite_or_0(y) : (double)y) * uy;
        sum += along, below += !(along > s->least);
    }
    if (!careful && !(sum - sum == 0)) return NAN;
    if (below > spare) return -1;
    const double score = sum / s->samples * sqrt(a[2] * b[2]);
    return score > 0 ? score : -1;
}

static inline int on_map(const Skeletons *s, const double *a) {
    return a[0] >= 0 && a[0] <= (double)(s->columns - 1) && a[1] >= 0 && a[1] <= (double)(s->rows - 1);
}

static int add_pair(Work *w, double score, int64_t first, int64_t second) {
    if (w->count == w->room) {
        const int64_t room = w->room ? 2 * w->room : 64;
        Pair *pairs = realloc(w->pairs, (size_t)room * sizeof *pairs);
        if (!pairs) return 0;
        w->pairs = pairs, w->room = room;
    }
    w->pairs[w->count++] = (Pair){score, first, second};
    return 1;
}

/* The best first; of equals the first in the order of the peaks. */
static int better(const void *one, const void *other) {
    const Pair *a = one, *b = other;
    if (a->score != b->score) return a->score < b->score ? 1 : -1;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return (a->second > b->second) - (a->second < b->second);
}

/* List the pairs of a limb's peaks that follow its field, the best first; false: no memory. */
static int list_pairs(Work *w, const int64_t *limb) {
    const Skeletons *s = w->of;
    const int64_t *a = s->ends + limb[0], *b = s->ends + limb[1];
    w->count = 0;
    for (int64_t i = a[0]; i < a[1]; ++i) {
        const double *const first = s->peaks + 3 * i;
        const int inside = on_map(s, first);
        for (int64_t j = b[0]; j < b[1]; ++j) {
            const double *const second = s->peaks + 3 * j;
            double score = inside && on_map(s, second) ? score_of(w, first, second, 0) : NAN;
            if (score != score) score = score_of(w, first, second, 1);
            if (score > 0 && !add_pair(w, score, i, j)) return 0;
        }
    }
    if (w->count) qsort(w->pairs, (size_t)w->count, sizeof *w->pairs, better);
    return 1;
}

/* Add a limb to the skeleton that has its peaks, start one, or join two that have no joint in common. */
static void add_limb(Work *w, const int64_t *limb, const Pair *pair, int64_t *found, double *sums) {
    const int64_t joints = w->of->joints, i = pair->first, j = pair->second, first = w->owner[i], second = w->owner[j];
    if (first < 0 && second < 0) {
        int64_t *row = found + w->made * joints;
        for (int64_t k = 0; k < joints; ++k) row[k] = -1;
        row[limb[0]] = i, row[limb[1]] = j, sums[w->made] = pair->score, w->alive[w->made] = 1;
        w->owner[i] = w->owner[j] = w->made++;
        return;
    }
    const int64_t low = first < second ? first : second, high = first < second ? second : first;
    int64_t *ours = found + low * joints, *theirs = found + high * joints;
    if (low < 0 || low == high) {
        if (theirs[limb[0]] < 0) theirs[limb[0]] = i;
        if (theirs[limb[0]] != i) return;
        if (theirs[limb[1]] < 0) theirs[limb[1]] = j;
        if (theirs[limb[1]] == j) sums[high] += pair->score, w->owner[i] = w->owner[j] = high;
        return;
    }
    for (int64_t k = 0; k < joints; ++k)
        if (ours[k] >= 0 && theirs[k] >= 0) return;
    for (int64_t k = 0; k < joints; ++k)
        if (theirs[k] >= 0) ours[k] = theirs[k];
    for (int64_t k = 0; k < w->of->ends[joints]; ++k)
        if (w->owner[k] == high) w->owner[k] = low;
    sums[low] += sums[high] + pair->score, w->alive[high] = 0;
}

static int assemble(Work *w, int64_t *found, double *sums) {
    const Skeletons *s = w->of;
    const int64_t peaks = s->ends[s->joints], cells = s->rows * s->columns;
    for (int64_t k = 0; k < peaks; ++k) w->owner[k] = -1;
    for (int64_t l = 0; l < s->count; ++l) {
        const int64_t *limb = s->limbs + 2 * l;
        w->x = s->fields + 2 * l * cells, w->y = w->x + cells;
        if (!list_pairs(w, limb)) return 0;
        memset(w->used, 0, (size_t)(2 * peaks));
        for (const Pair *pair = w->pairs; pair < w->pairs + w->count; ++pair) {
            uint8_t *first = w->used + pair->first, *second = w->used + peaks + pair->second;
            if (*first | *second) continue;
            *first = *second = 1;
            add_limb(w, limb, pair, found, sums);
        }
    }
    return 1;
}

int64_t skeletons_most(const Skeletons *s) { return s->ends[s->joints] / 2; }

int64_t skeletons_find(const Skeletons *s, int64_t *found, double *sums) {
    const int64_t peaks = s->ends[s->joints], most = skeletons_most(s);
    Work w = {.of = s};
    int64_t kept = -1;
    w.owner = malloc((size_t)(peaks + 1) * sizeof *w.owner);
    w.used = malloc((size_t)(2 * peaks + 1)), w.alive = malloc((size_t)(most + 1));
    for (int k = 0; k < SHARES && k < s->samples; ++k) w.shares[k] = share_of(k, s->samples);
    if (w.owner && w.used && w.alive && assemble(&w, found, sums)) {
        kept = 0;
        for (int64_t k = 0; k < w.made; ++k) {
            if (!w.alive[k] || !(sums[k] >= s->total)) continue;
            memmove(found + kept * s->joints, found + k * s->joints, (size_t)s->joints * sizeof *found);
            sums[kept++] = sums[k];
        }
    }
    free(w.owner), free(w.used), free(w.alive), free(w.pairs);
    return kept;
}
