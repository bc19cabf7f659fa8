/* Moves: choose the path for a box. */
#include "move.h"

#include <string.h>

/* The loop that steps by so many bytes, backwards in the source, or -1. Less than 16 bytes are not a row. */
static int find_reverse(const Box *box, int64_t size) {
    const int i = box_find(box, -size, size);
    return i >= 0 && size <= 16 && box->loops[i].n * size >= 16 ? i : -1;
}

/* Add a loop of one element, for paths that need two loops. */
static void at_least_two(Box *box) {
    if (box->count > 1) return;
    box->loops[1] = box->loops[0];
    box->loops[0] = (Loop){1, 0, 0, 0};
    box->count = 2;
}

/* All loops except one; adjacent ones are merged if one loop steps through the destination. */
static int walk_of(const Box *box, int but, Loop *walk) {
    int count = 0;
    for (int i = 0; i < box->count; ++i) {
        const Loop k = box->loops[i];
        if (i == but || k.n == 1) continue;
        int at = count++;
        for (; at > 0 && walk[at - 1].d < k.d; --at) walk[at] = walk[at - 1];
        walk[at] = k;
    }
    int merged = 0;
    for (int i = 0; i < count; ++i) {
        if (merged && walk[merged - 1].d == walk[i].n * walk[i].d)
            walk[merged - 1].n *= walk[i].n, walk[merged - 1].d = walk[i].d;
        else
            walk[merged++] = walk[i];
    }
    return merged;
}

int64_t pad_of(const Box *move, const Box *fill, int64_t src_size, int64_t dst_size) {
    enum { MOST = 64, MOST_OF_PLANES = 32 };
    const int channel = box_find(move, 0, dst_size), pad = box_find(fill, 0, dst_size);
    const int64_t channels = channel < 0 ? 1 : move->loops[channel].n, pads = pad < 0 ? 1 : fill->loops[pad].n;
    const int64_t bytes = channels * dst_size, more = pads * dst_size;
    if (bytes > MOST || fill->dst != move->dst + bytes || move->count > MAX_LOOPS - INNER) return 0;
    for (int i = 0; i < move->count; ++i)
        if (move->loops[i].d < 0) return 0;
    const int pixel = box_find(move, 0, bytes + more);
    if (pixel < 0) return 0;
    const int pixels = channel < 0 || magnitude(move->loops[channel].s) == src_size;
    const int planes = move->loops[pixel].s == src_size;
    if (!pixels && !(planes && (has_channel_loops(channels) || bytes <= MOST_OF_PLANES))) return 0;
    Loop moved[MAX_LOOPS], filled[MAX_LOOPS];
    const int count = walk_of(move, channel, moved);
    if (count != walk_of(fill, pad, filled)) return 0;
    for (int i = 0; i < count; ++i)
        if (moved[i].n != filled[i].n || moved[i].d != filled[i].d) return 0;
    return more;
}

/* The loop of more than one element with the smallest steps, in the source or in the destination, but the last one. */
static int least_steps(const Box *box, int in_source) {
    int best = 0;
    for (int i = 1; i < box->count - 1; ++i) {
        const Loop k = box->loops[i], b = box->loops[best];
        if (k.n > 1 && (b.n == 1 || (in_source ? magnitude(k.s) <= magnitude(b.s) : magnitude(k.d) <= magnitude(b.d)))) best = i;
    }
    return best;
}

/* The last loop is a row of so many bytes. */
static void plan_rows(Move *m, int64_t bytes) {
    Box *box = &m->box;
    const int a = least_steps(box, 0), b = least_steps(box, 1);
    if (a == b || bytes > LONG_ROW) {
        m->path = PATH_COPY;
        at_least_two(box);
        return;
    }
    m->path = PATH_ROWS;
    m->size = (int)bytes;
    --box->count;
    box_last(box, b);
    box_last(box, a > b ? a - 1 : a);
}

/* Whether there are loops for so many channels. 8 of them need rows of at least a vector: shorter ones are transposed. */
static int separate(int64_t channels, int64_t pixels, int size) {
    return size <= 4 && has_channel_loops(channels) && (channels < 8 || pixels * size >= 16);
}

/* Whether no tile suits so small a number of neighbours on one side. TILE: bytes of the smallest tile's rows; with 4 bytes there
 * have to be two. No tile suits a vector of them with a small number of others either. Rows of the result whose pitch is a
 * multiple of CROWD bytes share sets of L1, and the smallest tiles do not fill their lines. Rows of the source with less than
 * 16 bytes have their own loops (narrow.inl.h), if there are MANY. */
static int lacks_tiles(const Loop *tiny, const Loop *other, int size, int in_result) {
    enum { TILE = 8, CROWD = 1024, MANY = 48 };
    const int64_t bytes = tiny->n * size;
    if (bytes <= 2 * TILE && has_channel_loops(other->n)) return 1;
    if (bytes >= 2 * TILE) return 0;
    if (bytes >= TILE && size < 4) return in_result && other->d % CROWD == 0;
    return in_result || size > 2 || other->n < MANY;
}

/* A transpose, or a split or a merge of short rows, of a small number of neighbours that continue along a third loop. The third
 * loop is transposed in its place, to planes on a bench, which are then interleaved; or pixels are split into planes first,
 * which are then transposed. */
static void plan_detour(Move *m) {
    enum { LEAST = 2, LEAST_NEXT = 16 };
    Box *box = &m->box;
    const int b = box->count - 2, a = box->count - 1;
    for (int in_result = 1; in_result >= 0; --in_result) {
        const Loop tiny = box->loops[in_result ? a : b], other = box->loops[in_result ? b : a];
        for (int i = 0; other.n >= LEAST && lacks_tiles(&tiny, &other, m->size, in_result) && i < b; ++i) {
            const Loop next = box->loops[i], last[DETOUR] = {other, next, tiny};
            if (next.n < LEAST_NEXT || magnitude(in_result ? next.d : next.s) != tiny.n * m->size) continue;
            box_last(box, i);
            memcpy(box->loops + box->count - DETOUR, last, sizeof last);
            m->path = PATH_DETOUR;
            return;
        }
    }
}

/* The move to plan, and the loops that the rows of the table need, or -1: neighbours on both sides; see find_reverse;
 * neighbours in the destination, if an element fits in a register. They are found once, because small calls plan each time. */
typedef struct {
    Move *m;
    int may_detour, run, reverse, inner;
} Plan;

/* The loop along which neighbours in the source continue: forwards or, if there is none, backwards. */
static int source_run(const Move *m) {
    const int forwards = box_find(&m->box, m->size, 0);
    return forwards >= 0 ? forwards : box_find(&m->box, -m->size, 0);
}

/* Make elements larger: neighbours that fill a register, and pixels of a row that is read backwards. */
static void widen(Plan *p) {
    Move *m = p->m;
    Box *box = &m->box;
    p->run = box_find(box, m->size, m->size);
    if (p->run < 0) return;
    const int64_t bytes = box->loops[p->run].n * m->size;
    const int fills = box->count > 1 && power_of_two(bytes) && bytes <= 16;
    if (!fills && find_reverse(box, bytes) < 0) return;
    m->size = (int)bytes;
    box_last(box, p->run);
    --box->count;
    p->run = -1;
}

static int is_padded(const Plan *p) { return p->m->pad != 0; }
static void plan_padded(Plan *p) {
    Move *m = p->m;
    Box *box = &m->box;
    Loop channel = {1, m->size, m->size, 0}, pixel = {1, 0, 0, 0};
    int at = box_find(box, 0, m->size);
    if (at >= 0) channel = box->loops[box_last(box, at)], --box->count;
    pixel.d = channel.n * m->size + m->pad;
    at = box_find(box, 0, pixel.d);
    if (at >= 0) pixel = box->loops[box_last(box, at)], --box->count;
    box->loops[box->count++] = pixel, box->loops[box->count++] = channel;
    m->path = PATH_PADDED;
}

/* Pixels of three bytes with gaps between them. */
static int is_pixels(const Plan *p) {
    const Box *box = &p->m->box;
    if (p->run < 0 || p->m->size != 1 || box->loops[p->run].n != 3) return 0;
    const int pixel = box_find(box, 0, 3);
    return pixel >= 0 && magnitude(box->loops[pixel].s) <= 8;
}
static void plan_pixels(Plan *p) {
    Box *box = &p->m->box;
    box_last(box, box_find(box, 0, 3));
    box_last(box, box_find(box, 1, 1));
    p->m->path = PATH_PIXELS;
}

static int is_run(const Plan *p) { return p->run >= 0; }
static void plan_run(Plan *p) {
    Box *box = &p->m->box;
    const int64_t bytes = box->loops[p->run].n * p->m->size;
    box_last(box, p->run);
    plan_rows(p->m, bytes);
}

static int is_reversed(const Plan *p) { return p->reverse >= 0; }
static void plan_reversed(Plan *p) {
    box_last(&p->m->box, p->reverse);
    at_least_two(&p->m->box);
    p->m->path = PATH_REVERSE;
}

/* Pixels of bytes whose channels are read from the last to the first. */
static int is_swapped_pixels(const Plan *p) {
    const Box *box = &p->m->box;
    const int channel = p->inner;
    if (channel < 0 || p->m->size != 1 || box->loops[channel].s != -1 || box->loops[channel].n > 4) return 0;
    const int pixel = box_find(box, 0, box->loops[channel].n);
    return pixel >= 0 && pixel != channel;
}
static void plan_swapped_pixels(Plan *p) {
    Box *box = &p->m->box;
    box_last(box, box_find(box, 0, box->loops[p->inner].n));
    box_last(box, box_find(box, -1, 1));
    p->m->path = PATH_PIXELS;
}

static int is_transpose(const Plan *p) {
    if (p->inner < 0 || p->m->box.loops[p->inner].s == p->m->size) return 0;
    const int b = source_run(p->m);
    return b >= 0 && b != p->inner;
}
static void plan_transpose(Plan *p) {
    enum { LEFT_ROWS = 16 }; /* with less than 16 bytes each, which the loops of narrow.inl.h may not be able to move */
    Move *m = p->m;
    Box *box = &m->box;
    const int size = m->size;
    box_last(box, p->inner);
    const int b = source_run(m);
    if (box->loops[b].s < 0) box_flip(box, box->loops + b);
    const Loop inner = box->loops[box->count - 1], outer = box->loops[b];
    box_last(box, b);
    box_last(box, box->count - 2);
    const int64_t channels = magnitude(inner.s) / size;
    const int splits = separate(channels, inner.n, size) && magnitude(inner.s) == channels * size && outer.n <= channels;
    const int merges = !splits && separate(inner.n, outer.n, size) && magnitude(outer.d) == inner.n * size;
    m->path = splits ? PATH_SPLIT : merges ? PATH_MERGE : PATH_TRANSPOSE;
    if (splits || merges) m->row = (splits ? inner.n : outer.n) * size;
    else if (outer.n * size < 16) m->row = (inner.n - LEFT_ROWS) * size;
    else if (inner.n * size < 16) m->row = (outer.n - LEFT_ROWS) * size;
    if (p->may_detour && (m->path == PATH_TRANSPOSE || m->row < 16)) plan_detour(m);
}

/* Elements that do not fit in a register: as rows, of which a part is planned again. */
static int is_wide(const Plan *p) { return !(power_of_two(p->m->size) && p->m->size <= 16) && p->m->box.count < MAX_LOOPS; }
static void plan_wide(Plan *p) {
    p->m->box.loops[p->m->box.count++] = (Loop){1, p->m->size, p->m->size, 0};
    plan_rows(p->m, p->m->size);
}

static int is_any(const Plan *p) { return p != NULL; }
static void plan_strided(Plan *p) {
    Box *box = &p->m->box;
    const int last = p->inner < 0 ? -1 : box_last(box, p->inner);
    if (last >= 0 && box->loops[last].s == -p->m->size) box_flip(box, box->loops + last); /* the source is read forwards */
    at_least_two(box);
    int near_source = 0;
    for (int i = 1; i < box->count - 1; ++i)
        if (magnitude(box->loops[i].s) < magnitude(box->loops[near_source].s)) near_source = i;
    const Loop k = box->loops[near_source];
    for (int i = near_source; i < box->count - 2; ++i) box->loops[i] = box->loops[i + 1];
    box->loops[box->count - 2] = k;
    p->m->path = PATH_STRIDED;
}

/* The first row that applies plans the move. */
static const struct {
    int (*applies)(const Plan *);
    void (*plan)(Plan *);
} rows[] = {
    {is_padded, plan_padded},
    {is_pixels, plan_pixels},
    {is_run, plan_run},
    {is_reversed, plan_reversed},
    {is_swapped_pixels, plan_swapped_pixels},
    {is_transpose, plan_transpose},
    {is_wide, plan_wide},
    {is_any, plan_strided},
};

static void plan(Move *m, const Box *asked, int size, int64_t pad, int may_detour) {
    Box *box = &m->box;
    m->size = size, m->past = m->cold = m->cold_result = 0, m->pad = pad, m->row = INT64_MAX;
    box_copy(box, asked);
    for (int i = 0; i < box->count; ++i)
        if (box->loops[i].d < 0) box_flip(box, box->loops + i);
    Plan p = {m, may_detour, -1, -1, -1};
    if (!pad) {
        if (!box->count) box->loops[box->count++] = (Loop){1, size, size, 0};
        widen(&p);
        p.reverse = find_reverse(box, m->size);
        if (power_of_two(m->size) && m->size <= 16) p.inner = box_find(box, 0, m->size);
    }
    int i = 0;
    while (!rows[i].applies(&p)) ++i;
    rows[i].plan(&p);
}

void move_plan(Move *m, const Box *box, int size, int64_t pad) { plan(m, box, size, pad, 1); }
void move_plan_direct(Move *m, const Box *box, int size) { plan(m, box, size, 0, 0); }
