/* A fill that a move may take over: the gap behind each run of the destination. */
#include "move.h"

/* The bytes of the gap up to the next pixel, and the fill; 0 where there is none that belongs to the core's fast path. */
static int64_t gap_behind(const Box *box, int64_t src_item, int64_t dst_item, Box *fill) {
    const int channel = box_find(box, 0, dst_item);
    const int64_t run = dst_item * (channel < 0 ? 1 : box->loops[channel].n);
    int64_t next = 0;
    *fill = *box;
    for (int i = fill->count = 0; i < box->count; ++i) {
        if (i == channel) continue;
        fill->loops[fill->count++] = box->loops[i];
        if (box->loops[i].d >= run && (!next || box->loops[i].d < next)) next = box->loops[i].d;
    }
    const int64_t gap = next - run;
    if (gap <= 0 || gap % dst_item || fill->count == MAX_LOOPS) return 0;
    fill->loops[fill->count++] = (Loop){gap / dst_item, 0, dst_item, 0};
    fill->dst = box->dst + run;
    return pad_of(box, fill, src_item, dst_item);
}
