/* Two conversions that write parts of the same rows, as one. */
#include "joined.h"

/* The loop with the largest step in the result. */
static int outermost(const Box *box) {
    int most = 0;
    for (int i = 1; i < box->count; ++i)
        if (box->loops[i].d > box->loops[most].d) most = i;
    return most;
}

/* The elements of each row, if they are in one piece in the result and all have the same parameters; otherwise 0. */
static int64_t in_one_piece(const Box *box, int rows, int64_t size) {
    int64_t n = 1, all = 1;
    for (int next; (next = box_find(box, 0, size * n)) >= 0 && next != rows;) n *= box->loops[next].n;
    for (int i = 0; i < box->count; ++i) {
        if (box->loops[i].p) return 0;
        if (i != rows) all *= box->loops[i].n;
    }
    return n == all ? n : 0;
}

/* The rows of so many bytes that are on the bench at once, which fill whole lines of the result: so few that they are near each other
 * in the source (measured); 0: there is no room. */
static int64_t rows_at_once(int64_t bytes) {
    enum { USUAL = 4096, LEAST = 64, LINES = 16 };
    const int64_t usual = USUAL / bytes, room = MAX_TILE / bytes;
    return at_most(usual < LEAST ? LEAST : usual, room) / LINES * LINES;
}

static void plan_rows(Benched *some, const Joined *j, const Box *const parts[2], const int loops[2], const Arithmetic *a,
                      int64_t rows) {
    const int64_t from = dtype_size[a->from], to = dtype_size[a->to];
    Box box;
    for (int i = 0; i < 2; ++i) {
        box_clear(&box);
        for (int k = 0; k < parts[i]->count; ++k) {
            const Loop loop = parts[i]->loops[k];
            box_add(&box, k == loops[i] ? (Loop){rows, loop.s, j->row * from, 0}
                                        : (Loop){loop.n, loop.s, loop.d / to * from, 0});
        }
        move_plan(some->gather + i, &box, (int)from, 0);
    }
    box_clear(&box);
    box_add(&box, (Loop){rows * j->row, from, to, 0});
    box.param = parts[0]->param;
    convert_plan(&some->convert, &box, a, 0);
}

int joined_plan(Joined *j, const Box *a, const Box *b, const Arithmetic *arithmetic) {
    const int64_t from = dtype_size[arithmetic->from], to = dtype_size[arithmetic->to];
    if (from >= to || a->param != b->param) return 0;
    const Box *const parts[2] = {a->dst < b->dst ? a : b, a->dst < b->dst ? b : a};
    const int loops[2] = {outermost(parts[0]), outermost(parts[1])};
    const Loop rows = parts[0]->loops[loops[0]], others = parts[1]->loops[loops[1]];
    const int64_t before = in_one_piece(parts[0], loops[0], to), behind = in_one_piece(parts[1], loops[1], to);
    if (!before || !behind || parts[1]->dst != parts[0]->dst + before * to) return 0;
    if (others.n != rows.n || others.d != rows.d || rows.d != (before + behind) * to) return 0;
    const int64_t at_once = at_most(rows_at_once((before + behind) * from), rows.n);
    if (!at_once) return 0;
    j->rows = rows.n, j->at_once = at_once, j->row = before + behind, j->before = before;
    j->dst = parts[0]->dst, j->dst_step = rows.d;
    j->src[0] = parts[0]->src, j->src[1] = parts[1]->src, j->src_step[0] = rows.s, j->src_step[1] = others.s;
    plan_rows(&j->some, j, parts, loops, arithmetic, at_once);
    if (rows.n % at_once) plan_rows(&j->last, j, parts, loops, arithmetic, rows.n % at_once);
    return 1;
}

void joined_run(const Level *level, const Joined *j, const Arithmetic *a, const uint8_t *src, uint8_t *dst, int64_t part,
                int64_t parts) {
    uint8_t bench[MAX_TILE + 64] __attribute__((aligned(64)));
    const int64_t pieces = (j->rows + j->at_once - 1) / j->at_once, end = pieces * (part + 1) / parts;
    const int64_t before = j->before * dtype_size[a->from];
    for (int64_t i = pieces * part / parts; i < end; ++i) {
        const int64_t r = i * j->at_once;
        const Benched *here = j->rows - r < j->at_once ? &j->last : &j->some;
        for (int k = 0; k < 2; ++k)
            move_run(level, here->gather + k, src + j->src[k] + r * j->src_step[k], bench + k * before);
        convert_run(level, &here->convert, a, bench, dst + j->dst + r * j->dst_step);
    }
}

int joined_paths(const Level *level, const Joined *j, const Arithmetic *a, int taken[2 + 4]) {
    taken[0] = j->some.gather[0].path, taken[1] = j->some.gather[1].path;
    return 2 + convert_paths(level, &j->some.convert, a, taken + 2);
}
