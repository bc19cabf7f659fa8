#include "scan.h"

#include <stdlib.h>

#include "largest.h"

int hits_grow(Hits *hits, int64_t more) {
    int64_t room = hits->room ? hits->room : 1024;
    while (room < hits->count + more) room *= 2;
    Hit *items = realloc(hits->items, (size_t)room * sizeof *items);
    if (!items) return 0;
    hits->items = items, hits->room = room;
    return 1;
}

/* Hits that are sorted by insertion; cells for each hit, from which on hits are few. */
enum { FEW = 32, SPARSE = 8 };
/* Bits of a digit at most; fewer for less hits than MANY, which take less time than the counts of long digits. */
enum { LONG_DIGIT = 11, SHORT_DIGIT = 7, MANY = 1024 };

/* Sort hits by cell, the equal ones as they are; `others` has room for as many. */
static void sort_by_cell(Hit *hits, Hit *others, int64_t n, int32_t first, int64_t cells) {
    for (int64_t i = 1; n <= FEW && i < n; ++i) {
        const Hit hit = hits[i];
        int64_t k = i;
        for (; k && hits[k - 1].cell > hit.cell; --k) hits[k] = hits[k - 1];
        hits[k] = hit;
    }
    Hit *from = hits, *to = others;
    const int digit = n < MANY ? SHORT_DIGIT : LONG_DIGIT;
    const int32_t mask = (1 << digit) - 1;
    for (int shift = 0; n > FEW && (cells - 1) >> shift; shift += digit) {
        int32_t count[(1 << LONG_DIGIT) + 1];
        memset(count, 0, ((size_t)mask + 2) * sizeof *count);
        for (int64_t i = 0; i < n; ++i) ++count[((from[i].cell - first) >> shift & mask) + 1];
        for (int d = 1; d <= mask; ++d) count[d] += count[d - 1];
        for (int64_t i = 0; i < n; ++i) to[count[(from[i].cell - first) >> shift & mask]++] = from[i];
        Hit *const swapped = from;
        from = to, to = swapped;
    }
    if (from != hits) memcpy(hits, from, (size_t)n * sizeof *hits);
}

/* Sort the hits from `from` on, of a line; 0: there is no memory. */
static int sort_line(Hits *hits, int64_t from, const Line *line) {
    const int64_t n = hits->count - from;
    int64_t sorted = 1;
    while (sorted < n && hits->items[from + sorted - 1].cell <= hits->items[from + sorted].cell) ++sorted;
    if (sorted >= n) return 1;
    if (n > FEW && !hits_reserve(hits, n)) return 0;
    sort_by_cell(hits->items + from, hits->items + hits->count, n, (int32_t)line->first, line->cells);
    return 1;
}

/* What every map can use: the tables, an element at a time. `type` is a constant of each call, so that the compiler makes a loop
 * for each. */
static inline __attribute__((always_inline)) Hit best_by_tables(Dtype type, const FeatureMap *map, const uint8_t *p, int64_t cell) {
    Hit best = {(int32_t)cell, 0, sorted_code(type, p + map->channel[0])};
    for (int64_t c = 1; c < map->count; ++c) {
        const int32_t code = sorted_code(type, p + map->channel[c]);
        if (code > best.code) best.code = code, best.channel = (int32_t)c;
    }
    return best;
}

static inline __attribute__((always_inline)) int scan_by_tables(Dtype type, const FeatureMap *map, const uint8_t *data, int64_t from,
                                                                int64_t to, int32_t least, int all, Hits *hits) {
    for (int64_t cell = from; cell < to; ++cell) {
        const uint8_t *p = data + cell_at(map, cell);
        const Hit best = best_by_tables(type, map, p, cell);
        if (best.code < least) continue;
        if (!hits_reserve(hits, all ? map->count : 1)) return 0;
        if (!all) hits->items[hits->count++] = best;
        for (int64_t c = all ? best.channel * (best.code == least) : map->count; c < map->count; ++c) {
            const int32_t code = sorted_code(type, p + map->channel[c]);
            if (code >= least) hits->items[hits->count++] = (Hit){(int32_t)cell, (int32_t)c, code};
        }
    }
    return 1;
}

#define FOR_EACH_TYPE(call)     \
    switch (map->type) {        \
        case I8: return call(I8);     \
        case U8: return call(U8);     \
        case I16: return call(I16);   \
        case U16: return call(U16);   \
        case I32: return call(I32);   \
        case F16: return call(F16);   \
        case BF16: return call(BF16); \
        default: return call(F32);    \
    }

static int by_tables(const FeatureMap *map, const uint8_t *data, int64_t from, int64_t to, int32_t least, int all, Hits *hits) {
#define SCAN_TABLES(type) scan_by_tables(type, map, data, from, to, least, all, hits)
    FOR_EACH_TYPE(SCAN_TABLES)
}

static Hit best_at(const FeatureMap *map, const uint8_t *p, int64_t cell) {
#define BEST_TABLES(type) best_by_tables(type, map, p, cell)
    FOR_EACH_TYPE(BEST_TABLES)
}

static int32_t lowest(const FeatureMap *map) { return dtype_size[map->type] == 4 ? INT32_MIN : lowest_code(map->type); }

/* The first largest one of neighbouring bytes. */
static void best_of_run(const uint8_t *p, int64_t n, uint8_t flip, Hit *best) {
    const uint8_t most = largest_byte(p, n, flip ^ 0x80);
    const uint8_t *at = memchr(p, most ^ flip ^ 0x80, (size_t)n);
    best->code = most - 128, best->channel = (int32_t)(at - p);
}

enum { GATHERED = 512, LONGEST = 64 }; /* bytes of a cell that are brought together at most, and of a block */

/* The blocks of a cell, of 8 bits, one after the other. */
static void whole_blocks(const FeatureMap *map, const uint8_t *p, uint8_t *bytes) {
    const int64_t block = map->block;
    for (int64_t c = -map->lane; c < map->count; c += block, bytes += block) {
        const uint8_t *from = p + (c > 0 ? map->channel[c] : map->channel[0] - map->lane);
        if (block % 16)
            memcpy(bytes, from, (size_t)block);
        else
            for (int64_t i = 0; i < block; i += 16) memcpy(bytes + i, from + i, 16);
    }
}

static Hit best_byte_of_cell(const FeatureMap *map, const uint8_t *p, int64_t cell, const Upcoming *next) {
    const uint8_t flip = byte_flip(map->type);
    uint8_t bytes[GATHERED + 2 * LONGEST];
    Hit best = {(int32_t)cell, 0, 0};
    if (map->kind == ROWS || map->kind == BLOCKS || map->count > GATHERED) fetch_upcoming(next);
    if (map->kind == ROWS) {
        best_of_run(p + map->channel[0], map->count, flip, &best);
    } else if (map->count > GATHERED) {
        return best_at(map, p, cell);
    } else if (map->kind == BLOCKS) {
        whole_blocks(map, p, bytes);
        best_of_run(bytes + map->lane, map->count, flip, &best);
    } else {
        bytes_of_cell(map, p, next, bytes);
        best_of_run(bytes, map->count, flip, &best);
    }
    return best;
}

/* The loops of a map: those of shorter vectors where a cell's channels do not fill one; or some, if the best of them is looked for again
 * among the lanes of one; or where a line of a plane does not. */
static Scan *scan_of(const Level *level, const FeatureMap *map, int all) {
    const int64_t least = all ? 2 : 4, size = dtype_size[map->type], bytes = map->count * size;
    for (const Level *below; map->kind == PLANES && map->line * size < level->vector && (below = level_below(level));) level = below;
    for (const Level *below; map->kind == ROWS && bytes < least * level->vector && (below = level_below(level));) level = below;
    return level->detect->scan[map->kind][map->type];
}

Hit best_of_cell(const Level *level, const FeatureMap *map, const uint8_t *data, int64_t cell, const Upcoming *next) {
    Hit found[64]; /* room for the cells of a vector, for which the loops ask */
    Hits one = {found, 0, 64, 0};
    const int64_t offset = cell_at(map, cell);
    if (map->type <= U8) return best_byte_of_cell(map, data + offset, cell, next);
    fetch_upcoming(next);
    if (map->kind == ROWS && scan_of(level, map, 0)(map, data, offset, cell, 1, lowest(map) + 1, 0, &one) == 1 && one.count) return found[0];
    return best_at(map, data + offset, cell);
}

/* Of the hits from `from` on, by cells, keep the first one with the largest code of each. */
static void keep_best(Hits *hits, int64_t from) {
    int64_t last = from;
    for (int64_t i = from + 1; i < hits->count; ++i) {
        const Hit hit = hits->items[i];
        if (hit.cell != hits->items[last].cell) hits->items[++last] = hit;
        else if (hit.code > hits->items[last].code) hits->items[last] = hit;
    }
    if (hits->count > from) hits->count = last + 1;
}

/* The loop that lists every channel that passes of a line; NULL: there is none. */
static Scan *list_of(const Level *level, const FeatureMap *map) {
    const int64_t bytes = map->count * dtype_size[map->type];
    if (map->kind == PLANES) return scan_of(level, map, 1);
    if (map->kind != ROWS) return NULL;
    for (const Level *below; map->cell != bytes && bytes < level->vector && (below = level_below(level));) level = below;
    return level->detect->listed[map->type];
}

/* The hits of a line, by cells. Every channel that passes is listed first, which reads each element once, in streams side by side; the best ones
 * are looked for by maxima if those are many. Return how many cells were looked at, or -1: there is no memory. */
static int64_t scan_line(const Level *level, Scan *run, const FeatureMap *map, const uint8_t *data, const Line *line, int32_t least, int all,
                         Hits *hits) {
    const int64_t from = hits->count;
    Scan *const list = list_of(level, map);
    hits->most = all ? INT64_MAX : from + line->cells / SPARSE;
    const int64_t done = list ? list(map, data, line->offset, line->first, line->cells, least, 1, hits) : 0;
    if (done < 0 || (done && !sort_line(hits, from, line))) return -1;
    if (done && !all) keep_best(hits, from);
    if (done) return done;
    hits->count = from;
    return run(map, data, line->offset, line->first, line->cells, least, all, hits);
}

/* What element e of a span is; 0: it is in a gap or in a pad lane, or of another part. */
static int placed(const FeatureMap *map, uint32_t e, Hit *hit) {
    int64_t cell = 0, channel = -map->lane;
    for (const SpanDigit *k = map->span.digits; k < map->span.digits + 3; ++k) {
        const uint32_t q = e / k->step;
        if (q >= k->n) return 0;
        e -= q * k->step, cell += (int64_t)q * k->cells, channel += (int64_t)q * k->channels;
    }
    if (channel + e < 0 || channel + e >= map->count) return 0;
    hit->cell = (int32_t)cell, hit->channel = (int32_t)(channel + e);
    return 1;
}

/* Of blocks of MANY_LANES and more, whose own loops are as fast from a hit in RARE elements on, a part of a span of PROBED bytes is scanned
 * first: it is not late that the hits turn out to be many. */
enum { MANY_LANES = 16, RARE = 1024, PROBED = 1 << 17, PROBE = 8 };

/* Every code that passes of a map's span, whatever is between the elements, as of neighbouring channels: `group` of them. 0: they are too many,
 * or the span is too short; -1: there is no memory. */
static int64_t scan_span(const Level *level, const FeatureMap *map, const uint8_t *data, int32_t least, Hits *hits) {
    const int64_t size = dtype_size[map->type], from = hits->count, lanes = map->kind == ROWS ? map->count : map->block;
    const int64_t group = lanes < MANY_LANES ? 16 : 32, none = 0;
    const int64_t elements = map->span.elements, probe = lanes < MANY_LANES || elements * size < PROBED ? 0 : elements / group / PROBE;
    const uint8_t *const start = data + map->span.at;
    const FeatureMap flat = {.type = map->type, .kind = ROWS, .count = group, .channel = &none, .cell = group * size};
    const Line groups = {0, 0, elements / group + 1}, cells = {0, 0, map->rows * map->columns};
    int64_t done = 0, kept = from;
    for (int64_t seen = 1, left = groups.cells - 1; seen && left; done += seen, left -= seen) { /* what is left of pieces is one */
        const int first = probe && !done;
        const int64_t before = hits->count, each = first ? probe : left;
        seen = level->detect->listed[map->type](&flat, start, done * group * size, done, each, least, 1, hits);
        if (seen < 0) return -1;
        const int many = first && (!seen || (hits->count - from) * RARE > elements / PROBE);
        if (!seen || many) hits->count = before;
        if (many) return 0;
    }
    if (!done) return 0;
    for (int64_t e = done * group; e < elements; ++e) {
        const int32_t code = sorted_code(map->type, start + e * size);
        if (code < least) continue;
        if (!hits_reserve(hits, 1)) return -1;
        hits->items[hits->count++] = (Hit){(int32_t)(e / group), (int32_t)(e % group), code};
    }
    if (!sort_line(hits, from, &groups)) return -1; /* the channels of a cell come in their order */
    for (int64_t i = from; i < hits->count; ++i) {
        Hit hit = hits->items[i];
        if (placed(map, (uint32_t)hit.cell * (uint32_t)group + (uint32_t)hit.channel, &hit)) hits->items[kept++] = hit;
    }
    hits->count = kept;
    return sort_line(hits, from, &cells) ? 1 : -1;
}

/* Pieces of a line that are read abreast, and cells of each, at least; how far ahead a line is fetched where cells are read one by one. */
enum { PIECES = 8, LEAST_CELLS = 8, FAR_AHEAD = 8 << 10 };

/* A few channels of so many cells, which do not neighbour each other: every code that passes. `type` and `count` are constants of each call. */
static inline __attribute__((always_inline)) int few_cells(Dtype type, int count, const FeatureMap *map, const uint8_t *p, int64_t cell,
                                                           int64_t cells, int32_t least, Hits *hits) {
    if (!hits_reserve(hits, cells * count)) return 0;
    for (int64_t i = 0; i < cells; ++i, p += map->cell)
        for (int c = 0; c < count; ++c) {
            if (cells > 1) __builtin_prefetch(p + FAR_AHEAD + map->channel[c]);
            const int32_t code = sorted_code(type, p + map->channel[c]);
            if (code >= least) hits->items[hits->count++] = (Hit){(int32_t)(cell + i), c, code};
        }
    return 1;
}

/* As few_cells, of a line, sorted by cell: a cell of each of PIECES is asked at once whether a code passes. No prefetcher follows the gaps
 * between cells for long; memory brings pieces side by side. */
static inline __attribute__((always_inline)) int scan_few(Dtype type, int count, const FeatureMap *map, const uint8_t *data, const Line *line,
                                                          int32_t least, Hits *hits) {
    const int64_t many = line->cells / PIECES, from = hits->count;
    const uint8_t *const start = data + line->offset, *p = start;
    int64_t each = many < LEAST_CELLS ? 0 : many - (many * map->cell % PAGE == 0);
    for (int64_t cell = 0; cell < each; ++cell, p += map->cell) {
        if (hits->count - from > FEW + cell * PIECES * count / SPARSE) { /* too many to be sorted */
            hits->count = from, each = 0;
            break;
        }
        int64_t rest = 0; /* is negative if a code passes */
        for (int s = 0; s < PIECES; ++s)
            for (int c = 0; c < count; ++c) rest |= (int64_t)least - 1 - sorted_code(type, p + s * each * map->cell + map->channel[c]);
        if (__builtin_expect(rest >= 0, 1)) continue;
        for (int s = 0; s < PIECES; ++s)
            if (!few_cells(type, count, map, p + s * each * map->cell, line->first + s * each + cell, 1, least, hits)) return 0;
    }
    const int64_t done = PIECES * each;
    return few_cells(type, count, map, start + done * map->cell, line->first + done, line->cells - done, least, hits) && sort_line(hits, from, line);
}

/* Of each number of channels, up to MOST_FEW. */
static inline __attribute__((always_inline)) int scan_any_few(Dtype type, const FeatureMap *map, const uint8_t *data, const Line *line,
                                                              int32_t least, Hits *hits) {
    if (map->count == 1) return scan_few(type, 1, map, data, line, least, hits);
    if (map->count == 3) return scan_few(type, 3, map, data, line, least, hits);
    return scan_few(type, (int)map->count, map, data, line, least, hits);
}

static int few(const FeatureMap *map, const uint8_t *data, const Line *line, int32_t least, Hits *hits) {
#define SCAN_FEW(type) scan_any_few(type, map, data, line, least, hits)
    FOR_EACH_TYPE(SCAN_FEW)
}

/* Whether the loop of few channels finds the hits. */
static int is_few(const FeatureMap *map, int all) {
    return (map->kind == ROWS && map->count == 1) || (map->kind == TABLES && map->lines && map->count <= MOST_FEW && all);
}

int scan(const Level *level, const FeatureMap *map, const uint8_t *data, int32_t least, int all, Hits *hits) {
    const int32_t low = lowest(map), high = -1 - low;
    if (least > high) return 1;
    if (is_few(map, all)) {
        for (int64_t i = 0; i < map->lines; ++i) {
            const Line line = line_at(map, i);
            if (!few(map, data, &line, least, hits)) return 0;
        }
        return 1;
    }
    const int64_t from = hits->count, spanned = map->span.elements && least > low ? scan_span(level, map, data, least, hits) : 0;
    if (spanned && !all) keep_best(hits, from);
    if (spanned) return spanned > 0;
    Scan *const run = map->kind == TABLES || least <= low ? NULL : scan_of(level, map, all);
    for (int64_t i = 0; run && i < map->lines; ++i) {
        const Line line = line_at(map, i);
        const int64_t done = scan_line(level, run, map, data, &line, least, all, hits);
        if (done < 0 || !by_tables(map, data, line.first + done, line.first + line.cells, least, all, hits)) return 0;
    }
    return run || by_tables(map, data, 0, map->rows * map->columns, least, all, hits);
}
