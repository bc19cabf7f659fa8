#include "feature_map.h"

/* The extremes of a table. */
static void extremes(const int64_t *table, int64_t n, int64_t *low, int64_t *high) {
    *low = *high = table[0];
    for (int64_t i = 1; i < n; ++i) {
        if (table[i] < *low) *low = table[i];
        if (table[i] > *high) *high = table[i];
    }
}

/* Bytes from one entry to the next, if it is the same everywhere, else 0. One entry has any step: `single`. */
static int64_t step_of(const int64_t *table, int64_t n, int64_t single) {
    if (n == 1) return single;
    for (int64_t i = 2; i < n; ++i)
        if (table[i] - table[i - 1] != table[1] - table[0]) return 0;
    return table[1] - table[0];
}

/* Channels behind the first one that neighbour it, one after the other. */
static int64_t run_at(const FeatureMap *map, int64_t from) {
    int64_t n = 1;
    while (from + n < map->count && map->channel[from + n] - map->channel[from + n - 1] == dtype_size[map->type]) ++n;
    return n;
}

/* Whether channels are in blocks as long as the step of cells, and the blocks are inside the buffer. */
static int in_blocks(FeatureMap *map, int64_t low, int64_t high, int64_t bytes) {
    const int64_t size = dtype_size[map->type], block = map->cell / size;
    if (map->cell % size || map->cell < 2 || map->cell > 64 || (map->cell & (map->cell - 1))) return 0;
    const int64_t first = run_at(map, 0);
    if (first > block) return 0;
    for (int64_t c = first; c < map->count;) {
        const int64_t run = run_at(map, c);
        if (run > block || (run < block && c + run < map->count)) return 0;
        c += run;
    }
    const int whole = first < map->count;
    for (int64_t lane = whole ? block - first : 0; lane <= block - first; ++lane) {
        int inside = 1;
        for (int64_t c = 0; c < map->count; c += c ? block : block - lane) {
            const int64_t from = map->channel[c] - (c ? 0 : lane * size);
            inside = inside && from + low >= 0 && from + high + map->cell <= bytes;
        }
        if (inside) {
            map->lane = lane, map->block = block;
            return 1;
        }
    }
    return 0;
}

/* Find the lines: all cells, the cells of a row, or columns of a row up to where their step changes. 0: there are none. */
static int find_lines(FeatureMap *map) {
    const int64_t size = dtype_size[map->type], n = map->columns, *at = map->column;
    map->cell = n > 1 ? at[1] - at[0] : step_of(map->row, map->rows, size);
    map->pieces = 1, map->lines = map->rows, map->line = n;
    if (!map->cell) return 0;
    if (n == 1 || (step_of(at, n, 0) && (map->rows == 1 || step_of(map->row, map->rows, 0) == map->cell * n))) {
        map->pieces = 0, map->lines = 1, map->line = map->rows * n;
        return 1;
    }
    int64_t piece = 1;
    while (piece < n && at[piece] - at[piece - 1] == map->cell) ++piece;
    for (int64_t x = piece; x < n; ++x)
        if (x % piece && at[x] - at[x - 1] != map->cell) return 0;
    map->line = piece, map->pieces = (n + piece - 1) / piece, map->lines = map->rows * map->pieces;
    return 1;
}

/* The span of blocks, of neighbouring channels with a short gap behind them, or of planes whose rows do not continue each other: digits for blocks, lines, and the cells of a line. Between blocks there
 * is at most a quarter of them, because that may be another part, whose codes pass. Rows of planes that are shorter than the longest vectors may be
 * shorter than their gaps. */
enum { MOST_GAP = 16 }; /* channels for each element of the gap behind them, at least: it may be other parts, whose codes pass */
static Span span_of(const FeatureMap *map) {
    const int64_t size = dtype_size[map->type], cell = map->cell / size;
    const int64_t block = map->kind == BLOCKS ? map->block : map->kind == ROWS ? map->count : 1;
    const int64_t blocks = (map->lane + map->count + block - 1) / block, lines = map->lines, none = UINT32_MAX;
    const int64_t first = map->channel[0] - map->lane * size;
    Span span = {first + map->row[0] + map->column[0], 0, {{0, 0, 0, 0}}};
    if (map->pieces > 1 || map->line < 2 || (map->kind == PLANES && lines < 2)) return span;
    if (map->kind == ROWS && (cell <= block || (cell - block) * MOST_GAP > block)) return span;
    const int64_t down = lines < 2 ? none * size : step_of(map->row, lines, 0);
    int64_t across = blocks < 2 ? none * size : map->channel[block - map->lane] - first;
    for (int64_t b = 2; b < blocks; ++b)
        if (map->channel[b * block - map->lane] - first != b * across) across = 0;
    if (down <= 0 || across <= 0 || down % size || across % size) return span;
    const int outside = across >= down; /* planes consist of lines, or lines of blocks */
    const int64_t outer = (outside ? across : down) / size, inner = (outside ? down : across) / size;
    const int64_t outers = outside ? blocks : lines, inners = outside ? lines : blocks;
    const int64_t in_line = (map->line - 1) * cell + block;
    const int64_t in_outer = inners < 2 ? in_line : (inners - 1) * inner + in_line, all = outers < 2 ? in_outer : (outers - 1) * outer + in_outer;
    if (outer > none || all > INT32_MAX || (inners > 1 && inner < in_line) || (outers > 1 && outer < in_outer)) return span;
    const int64_t own = lines * map->line * blocks * block, more = map->kind != PLANES ? own / 4 : map->line * size < 64 ? 3 * own : own;
    if (all > own + more) return span;
    const SpanDigit over_blocks = {(uint32_t)(across / size), (uint32_t)blocks, 0, (int32_t)block};
    const SpanDigit over_lines = {(uint32_t)(down / size), (uint32_t)lines, (int32_t)map->columns, 0};
    span.elements = all;
    span.digits[0] = outside ? over_blocks : over_lines, span.digits[1] = outside ? over_lines : over_blocks;
    span.digits[2] = (SpanDigit){(uint32_t)cell, (uint32_t)map->line, 1, 0};
    return span;
}

int feature_map_plan(FeatureMap *map, int64_t bytes) {
    int64_t low[3], high[3];
    const int64_t size = dtype_size[map->type];
    if (map->count < 1 || map->rows < 1 || map->columns < 1) return 0;
    extremes(map->channel, map->count, low, high);
    extremes(map->row, map->rows, low + 1, high + 1);
    extremes(map->column, map->columns, low + 2, high + 2);
    for (int i = 0; i < 3; ++i)
        if (low[i] < -((int64_t)1 << 60) || high[i] > (int64_t)1 << 60) return 0;
    if (low[0] + low[1] + low[2] < 0 || high[0] + high[1] + high[2] + size > bytes) return 0;
    map->bytes = bytes, map->lane = map->block = 0, map->run = map->apart = 1;
    map->hop = step_of(map->channel, map->count, 0);
    const int lines = find_lines(map);
    if (!lines)
        map->kind = TABLES, map->lines = 0;
    else if (map->cell == size)
        map->kind = PLANES;
    else if (map->cell > 0 && in_blocks(map, low[1] + low[2], high[1] + high[2], bytes))
        map->kind = BLOCKS;
    else if (run_at(map, 0) == map->count)
        map->kind = ROWS;
    else
        map->kind = TABLES;
    if (map->kind == ROWS) map->run = map->count, map->apart = 64 / size;
    map->span = map->kind != TABLES ? span_of(map) : (Span){0};
    if (map->kind == BLOCKS) map->run = map->lane ? 1 : map->block, map->apart = map->block;
    return 1;
}
