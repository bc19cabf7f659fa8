#include "reduce_tiles.h"

#include <string.h>

static int merges(const Loop *outer, const Loop *inner) {
    return outer->s == inner->n * inner->s && outer->d == inner->n * inner->d && outer->p == inner->n * inner->p;
}

/* Merge adjacent loops that one loop can replace, and remove those of extent 1. */
static int merged(Loop *loops, int count) {
    int kept = 0;
    for (int i = 0; i < count; ++i) {
        if (loops[i].n == 1) continue;
        if (kept && merges(loops + kept - 1, loops + i)) {
            loops[i].n *= loops[kept - 1].n;
            --kept;
        }
        loops[kept++] = loops[i];
    }
    return kept;
}

void digits_merge(Digits *digits) {
    digits->count = merged(digits->loops, digits->count);
    if (!digits->count) digits->loops[digits->count++] = (Loop){1, 0, 0, 0};
}

void reduction_plan(Reduction *r) {
    Box *box = &r->positions;
    for (int i = 0; i < box->count; ++i) {
        Loop *k = box->loops + i;
        if (k->s < 0) box_flip(box, k);
        for (int j = i; j > 0 && box->loops[j - 1].s < box->loops[j].s; --j) {
            const Loop moved = box->loops[j];
            box->loops[j] = box->loops[j - 1], box->loops[j - 1] = moved;
        }
    }
    box->count = merged(box->loops, box->count);
    if (!box->count) box->loops[box->count++] = (Loop){1, dtype_size[r->type], 0, 0};
    digits_merge(&r->from), digits_merge(&r->to);
}

int64_t channel_at(const Digits *digits, int64_t c, int64_t *run) {
    const Loop *inner = digits->loops + digits->count - 1;
    int64_t at = 0;
    *run = inner->n - c % inner->n;
    if (digits->count == 1) return c * inner->s;
    for (const Loop *k = inner; k >= digits->loops; c /= k->n, --k) at += (k == digits->loops ? c : c % k->n) * k->s;
    return at;
}

Tiling reduction_tiling(const Box *box, int one_row, int64_t positions) {
    Tiling t = {box->loops[box->count - 1], {1, 0, 0, 0}, 0, 1, box->count - 1, 0, 0};
    t.row_n = at_most(t.row.n, positions);
    if (one_row || !t.count || t.row_n < t.row.n) return t;
    t.rows = box->loops[--t.count];
    t.rows_n = at_most(t.rows.n, positions / t.row_n);
    return t;
}

Tiling tiling_joined(const Box *box, int64_t positions) {
    const Loop row = box->loops[box->count - 1], rows = box->loops[box->count - 2];
    Tiling t = {{row.n * rows.n, row.s, row.d, row.p}, {1, 0, 0, 0}, positions, 1, box->count - 2, row.n, rows.s};
    int64_t whole = row.n; /* rows that are whole lines of a plane together */
    while (whole % 16) whole += row.n;
    t.row_n = at_most(t.row.n, whole > positions ? positions : positions / whole * whole);
    return t;
}

void reduction_move(Movers *m, int size, int in, uint8_t *tile, int64_t pitch, uint8_t *memory, Loop run, Loop blocks,
                    const Tiling *t, int64_t rows, int64_t row) {
    const int64_t key[5] = {in + 2 * run.n, blocks.n, rows, row, pitch};
    int slot = 0;
    while (slot < PLANNED && slot < m->planned && memcmp(m->key[slot], key, sizeof key)) ++slot;
    if (slot == PLANNED || slot == m->planned) {
        slot = m->planned++ % PLANNED;
        if (m->planned > PLANNED) m->planned = PLANNED + m->planned % PLANNED;
        memcpy(m->key[slot], key, sizeof key);
        Box box;
        box_clear(&box);
        const Loop loops[4] = {{blocks.n, blocks.s, run.n * pitch, 0},
                               {run.n, run.s, pitch, 0},
                               {rows, in ? t->rows.s : t->rows.d, row * size, 0},
                               {row, in ? t->row.s : t->row.d, size, 0}};
        for (int i = 0; i < 4; ++i) {
            Loop k = loops[i];
            if (!in) k.s = loops[i].d, k.d = loops[i].s;
            box_add(&box, k);
        }
        box.count = merged(box.loops, box.count);
        move_plan(m->move + slot, &box, size, 0);
    }
    if (in)
        move_run(m->level, m->move + slot, memory, tile);
    else
        move_run(m->level, m->move + slot, tile, memory);
}

/* As reduction_gather, of positions that have one step in the source, or rows of them. The pad lanes of the last block are moved too if they
 * are few, so that all blocks are one move. */
static void gather(Movers *m, const Reduction *r, const Tiling *t, const uint8_t *src, int64_t c, int64_t channels, int64_t rows, int64_t row,
                   uint8_t *tile, int64_t pitch) {
    const int blocked = r->from.count == 2 && c + channels == r->channels;
    for (int64_t i = 0, n; i < channels; i += n) {
        const int64_t at = channel_at(&r->from, c + i, &n), left = channels - i;
        Loop run = r->from.loops[r->from.count - 1], blocks = r->from.loops[0];
        const int whole = r->from.count == 2 && n == run.n && left >= n;
        const int padded = blocked && n == run.n && (up_to(left, n) - left) * PADS <= left;
        blocks.n = padded ? (left + n - 1) / n : whole ? left / n : 1;
        if (!padded) run.n = at_most(n, left);
        reduction_move(m, dtype_size[r->type], 1, tile + i * pitch, pitch, (uint8_t *)src + at, run, blocks, t, rows, row);
        n = run.n * blocks.n;
    }
}

/* Copy `row` positions of joined rows, of so many blocks, so that there are no gaps between rows; fetch those of the next tile. */
static void join_rows(const Tiling *t, const uint8_t *src, int64_t first, Loop blocks, int64_t row, uint8_t *to) {
    const int64_t bytes = t->row.s, pitch = row * bytes;
    for (int64_t i = 0, n; i < row; i += n, to += n * bytes) {
        n = at_most(row - i, t->part - (first + i) % t->part);
        const uint8_t *from = src + tile_from(t, first + i), *next = src + tile_from(t, first + i + row);
        for (int64_t b = 0; b < blocks.n; ++b, from += blocks.s, next += blocks.s) {
            for (int64_t line = 0; line < n * bytes; line += LINE) __builtin_prefetch(next + line);
            memcpy(to + b * pitch, from, (size_t)(n * bytes));
        }
    }
}

/* Of joined rows of blocks, some blocks at a time. */
static void gather_joined(Movers *m, const Reduction *r, const Tiling *t, const uint8_t *src, int64_t first, int64_t channels, int64_t row,
                          uint8_t *tile, int64_t pitch) {
    const Loop far = r->from.loops[0], run = r->from.loops[1];
    const int64_t bytes = row * t->row.s;
    const int64_t each = at_most(JOINED / bytes, (channels + run.n - 1) / run.n) * run.n;
    const Tiling dense = {.row = {row, t->row.s, 0, 0}};
    Reduction joined = *r;
    for (int64_t c = 0; c < channels; c += each, src += each / run.n * far.s) {
        joined.channels = at_most(channels - c, each);
        const Loop blocks = {(joined.channels + run.n - 1) / run.n, far.s, 0, 0};
        joined.from = (Digits){2, {{blocks.n, bytes, 0, 0}, run}};
        join_rows(t, src, first, blocks, row, m->rows);
        gather(m, &joined, &dense, m->rows, 0, joined.channels, 1, row, tile + c * pitch, pitch);
    }
}

void reduction_gather(Movers *m, const Reduction *r, const Tiling *t, const uint8_t *src, int64_t first, int64_t c, int64_t channels,
                      int64_t rows, int64_t row, uint8_t *tile, int64_t pitch) {
    const Loop run = r->from.loops[r->from.count - 1];
    if (joins_blocks(r, t) && m->rows && c % run.n == 0 && row * t->row.s <= JOINED) {
        gather_joined(m, r, t, src - first * t->row.s + c / run.n * r->from.loops[0].s, first, channels, row, tile, pitch);
        return;
    }
    const uint8_t *from = src;
    for (int64_t i = 0, n; i < row; i += n, from += n * t->row.s, first = 0) {
        n = t->part ? at_most(row - i, t->part - first) : row;
        gather(m, r, t, from, c, channels, rows, n, tile + i * dtype_size[r->type], pitch);
        if (t->part) from += t->part_s - t->part * t->row.s;
    }
}
