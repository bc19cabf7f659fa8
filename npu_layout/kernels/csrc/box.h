/* Nested loops over two buffers at once, which every kernel walks. */
#ifndef NPU_LAYOUT_BOX_H
#define NPU_LAYOUT_BOX_H

#include <stdint.h>
#include <string.h>

enum { MAX_LOOPS = 16 };

/* n elements; steps in bytes of source and destination, in elements of the parameters. */
typedef struct {
    int64_t n, s, d, p;
} Loop;

/* Nested loops, outermost first, and where they start. */
typedef struct {
    int count;
    Loop loops[MAX_LOOPS];
    int64_t src, dst, param;
} Box;

static inline int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }
static inline int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int power_of_two(int64_t n) { return n > 0 && !(n & (n - 1)); }

/* How many rows of this pitch begin in one set of L1: all if the pitch is a multiple of PAGE, or nearly; half of them if
 * it is half a page more; otherwise too small a number to matter. CROWD: so many rows evict each other. */
enum { PAGE = 4096, CROWD = 16 };
static inline int64_t in_one_set(int64_t rows, int64_t distance) {
    const int64_t pitch = magnitude(distance), offset = (pitch + 8) & (PAGE - 16);
    return pitch < PAGE / 2 - 8 ? 0 : offset == 0 ? rows : offset == PAGE / 2 ? rows / 2 : 0;
}

/* Insert a loop of more than one element by its step in the destination, the largest first. */
void box_add(Box *box, Loop k);
/* The last loop with these steps (0: any step), or -1. */
static inline int box_find(const Box *box, int64_t s, int64_t d) {
    for (int i = box->count - 1; i >= 0; --i)
        if ((!s || box->loops[i].s == s) && (!d || box->loops[i].d == d)) return i;
    return -1;
}
/* Small calls plan each time, so loops beyond `count` are not initialized when a box is made empty or copied. */
static inline void box_clear(Box *box) { box->count = 0, box->src = box->dst = box->param = 0; }
static inline void box_copy(Box *to, const Box *from) {
    to->count = from->count, to->src = from->src, to->dst = from->dst, to->param = from->param;
    memcpy(to->loops, from->loops, (size_t)from->count * sizeof *to->loops);
}
/* Reverse the direction of a loop. */
void box_flip(Box *box, Loop *k);
/* Move loop i to the end and keep the order of the rest; return the end. */
int box_last(Box *box, int i);

/* Call `body` with the offsets of every index of the first `count` loops. */
#define ODOMETER(loops, count, src, dst, param, body)                     \
    do {                                                                  \
        int64_t at[MAX_LOOPS] = {0};                                      \
        int64_t src_ = (src), dst_ = (dst), param_ = (param);             \
        for (;;) {                                                        \
            body;                                                         \
            int k_ = (count)-1;                                           \
            for (; k_ >= 0; --k_) {                                       \
                src_ += (loops)[k_].s, dst_ += (loops)[k_].d, param_ += (loops)[k_].p; \
                if (++at[k_] < (loops)[k_].n) break;                      \
                src_ -= at[k_] * (loops)[k_].s, dst_ -= at[k_] * (loops)[k_].d;        \
                param_ -= at[k_] * (loops)[k_].p;                         \
                at[k_] = 0;                                               \
            }                                                             \
            if (k_ < 0) break;                                            \
        }                                                                 \
    } while (0)

/* Part `part` of `parts` of a box; false if the part is empty. Loops keep their order. */
int box_cut(Box *box, int64_t part, int64_t parts);

#endif
