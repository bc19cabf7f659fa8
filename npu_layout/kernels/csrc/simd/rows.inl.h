/* Rows: neighbours that stay neighbours, moved as bytes. */

/* A row of `size` bytes: one move. */
#define ONE_ROW(size)                                                    \
    INLINE void row##size(const uint8_t *s, uint8_t *d, int64_t bytes) { \
        (void)bytes;                                                     \
        element(size, s, d);                                             \
    }
/* A row of `size` to twice as many bytes: two moves that overlap. */
#define ROWS_FROM(size)                                                        \
    INLINE void rows_from##size(const uint8_t *s, uint8_t *d, int64_t bytes) { \
        element(size, s, d);                                                   \
        element(size, s + bytes - size, d + bytes - size);                     \
    }
ONE_ROW(32)
ONE_ROW(64)
ROWS_FROM(2)
ROWS_FROM(4)
ROWS_FROM(8)
ROWS_FROM(16)
ROWS_FROM(32)
ROWS_FROM(64)

#define BY_ROW(bytes, CALL)                             \
    do {                                                \
        if ((bytes) == 32) CALL(row32);                 \
        else if ((bytes) == 64) CALL(row64);            \
        else if ((bytes) < 2 || (bytes) > 2 * (VB < 32 ? 32 : VB)) CALL(copy_row); \
        else if ((bytes) <= 4) CALL(rows_from2);        \
        else if ((bytes) <= 8) CALL(rows_from4);        \
        else if ((bytes) <= 16) CALL(rows_from8);       \
        else if ((bytes) <= 32) CALL(rows_from16);      \
        else if ((bytes) <= 64) CALL(rows_from32);      \
        else CALL(rows_from64);                         \
    } while (0)

enum { BY_CALL = 2048 }; /* bytes; longer rows are copied by memcpy */

/* Where parts of lines are slow, shorter rows begin and end with lines. */
INLINE int rows_gain_past(const uint8_t *dst, Loop a, Loop b, int64_t bytes) {
    enum { LONG = 4096 };
    const int whole = !(((uintptr_t)dst | (uintptr_t)a.d | (uintptr_t)b.d | (uintptr_t)bytes) % 64);
    return row_gains_past(bytes) && (whole || bytes >= LONG || !stores_whole_lines());
}

static void HERE(move_copy)(const Move *m, const uint8_t *src, uint8_t *dst) {
    const Loop rows = m->box.loops[m->box.count - 2], row = m->box.loops[m->box.count - 1];
    const int64_t bytes = row.n * m->size;
#define CALL(copy) for (int64_t i = 0; i < rows.n; ++i) copy(src + i * rows.s, dst + i * rows.d, bytes)
    if (m->past && is_rows_past(rows, bytes))
        rows_past(src, dst, rows, bytes);
    else if (m->past && rows_gain_past(dst, rows, rows, bytes))
        CALL(row_past);
    else if (bytes > BY_CALL)
        for (int64_t i = 0; i < rows.n; ++i) memcpy(dst + i * rows.d, src + i * rows.s, (size_t)bytes);
    else
        BY_ROW(bytes, CALL);
#undef CALL
}

/* The lines of a run of `count` rows that is read later, the first one of each; not those that the run `step` bytes before it
 * shares. */
INLINE void fetch_run(const uint8_t *p, Loop rows, int64_t count, int64_t step) {
    if (rows.s < 64)
        for (int64_t at = 0; at < count * rows.s; at += 64) __builtin_prefetch(p + at);
    else if (magnitude(step) >= 64 || (uintptr_t)p / 64 != (uintptr_t)(p - step) / 64)
        for (int64_t k = 0; k < count; ++k) __builtin_prefetch(p + k * rows.s);
}

/* Rows in the order of the source, past the caches, or from no cache. */
INLINE void rows_in_order(const uint8_t *src, uint8_t *dst, Loop a, Loop b, int64_t bytes, int past) {
    enum { AHEAD = 4096 };
    for (int64_t i = 0; i < a.n; ++i)
        for (int64_t j = 0; j < b.n; ++j) {
            const uint8_t *s = src + i * a.s + j * b.s;
            uint8_t *d = dst + i * a.d + j * b.d;
            for (int64_t x = 0; !past && x < bytes; x += 64) __builtin_prefetch(s + AHEAD + x);
            if (past) row_past(s, d, bytes);
            else copy_row(s, d, bytes);
        }
}
/* Long rows in the order of the result, whose lines are fetched ahead if there is a reach. */
INLINE void rows_of_result(const uint8_t *src, uint8_t *dst, Loop a, Loop b, int64_t bytes, int reach) {
    for (int64_t j = 0; j < b.n; ++j)
        for (int64_t i = 0; i < a.n; ++i) {
            const uint8_t *s = src + i * a.s + j * b.s;
            uint8_t *d = dst + i * a.d + j * b.d;
            fetch_ahead(reach, d, (int)bytes);
            if (bytes > BY_CALL) memcpy(d, s, (size_t)bytes);
            else copy_row(s, d, bytes);
        }
}

/* Rows of less than a line that continue along loop a of the result, as many of each step of loop b as fill lines: whole lines past
 * the caches, of lanes of 16 bytes, since arrays begin at any lane of a line. Loop a is the outer one, so that the source is read
 * from end to end. 0: no lines. */
#ifdef STREAM
OUT_OF_LINE int HERE(rows_by_lines)(const uint8_t *src, uint8_t *dst, Loop a, Loop b, int64_t bytes) {
    enum { AHEAD = 4096 };
    const int64_t group = lines_of_rows(a, b, bytes), lanes = group * bytes / 16, lead = (int64_t)(-(uintptr_t)dst % 64);
    const int64_t first = lead / bytes, begun = lead % bytes, groups = (a.n - first - !!begun) / (group ? group : 1);
    const int64_t last = first + groups * group, step = group * a.s / b.n;
    int64_t at[MOST_LANES];
    if (!group || (uintptr_t)dst % 16 || groups < 1) return 0;
    for (int64_t l = 0; l < lanes; ++l) at[l] = (begun + 16 * l) / bytes * a.s + (begun + 16 * l) % bytes;
    for (int64_t j = 0; j < b.n; ++j) {
        const uint8_t *s = src + j * b.s;
        uint8_t *d = dst + j * b.d;
        for (int64_t i = 0; i < first; ++i) copy_row(s + i * a.s, d + i * bytes, bytes);
        copy_row(s + first * a.s, d + first * bytes, begun);
        if (last < a.n) copy_row(s + last * a.s + begun, d + last * bytes + begun, bytes - begun);
        for (int64_t i = last + 1; i < a.n; ++i) copy_row(s + i * a.s, d + i * bytes, bytes);
    }
#define LINES(count)                                                                                      \
    for (int64_t g = 0; g < groups; ++g) {                                                                \
        const uint8_t *s = src + (first + g * group) * a.s, *next = s + AHEAD;                            \
        uint8_t *d = dst + lead + g * group * bytes;                                                      \
        for (int64_t j = 0; j < b.n; ++j, s += b.s, d += b.d, next += step) {                             \
            for (int64_t x = 0; x < step; x += 64) __builtin_prefetch(next + x);                          \
            for (int64_t l = 0; l < (count); ++l) put_lane(d + 16 * l, load16(s + at[l]), 1);             \
        }                                                                                                 \
    }
    if (lanes == 4) LINES(4)
    else LINES(lanes)
#undef LINES
    return 1;
}
#else
INLINE int HERE(rows_by_lines)(const uint8_t *src, uint8_t *dst, Loop a, Loop b, int64_t bytes) {
    (void)src, (void)dst, (void)a, (void)b, (void)bytes;
    return 0;
}
#endif

/* Blocks to pixels, in the order of the result: a line of each block's plane is read at a time. Past the caches pixels are made on a
 * bench, because the parts of a line have to be written one after the other. 0: they are no such blocks, or better moved otherwise.
 * On Zen 1 0.6 of the time past the caches, and 0.8 to 0.9 through them, but for blocks of 16 bytes and planes that share a set
 * of L1; with vectors of 64 bytes a bench gains nothing (Zen 5). */
#if VB == 32
INLINE void pixels_of_blocks(const uint8_t *src, uint8_t *dst, Loop a, Loop b, int64_t pixels, int bytes) {
    enum { AHEAD = 512 };
    const int group = 64 / bytes;
    int64_t j = 0;
    for (; j + group <= pixels; j += group, dst += group * b.d)
        for (int64_t i = 0; i < a.n; ++i) {
            const uint8_t *s = src + j * bytes + i * a.s;
            __builtin_prefetch(s + AHEAD, 0, 2);
            for (int p = 0; p < group; ++p) element(bytes, s + p * bytes, dst + p * b.d + i * bytes);
        }
    for (; j < pixels; ++j, dst += b.d)
        for (int64_t i = 0; i < a.n; ++i) element(bytes, src + j * bytes + i * a.s, dst + i * bytes);
}
OUT_OF_LINE int HERE(blocks_to_pixels)(const uint8_t *src, uint8_t *dst, Loop a, Loop b, int64_t bytes, int past) {
    enum { SOME = 4096 };
    uint8_t bench[MAX_TILE] __attribute__((aligned(64)));
    if (!is_blocks_to_pixels(a, b, bytes) || (!past && (bytes == 16 || in_one_set(a.n, a.s) >= CROWD))) return 0;
    const int64_t group = 64 / bytes, most = !past ? b.n : b.d * group < SOME ? SOME / b.d / group * group : group;
    for (int64_t j = 0; j < b.n; j += most) {
        const uint8_t *from = src + j * bytes;
        uint8_t *to = past ? bench : dst;
        const int64_t pixels = at_most(most, b.n - j);
        if (bytes == 16) pixels_of_blocks(from, to, a, b, pixels, 16);
        else if (bytes == 32) pixels_of_blocks(from, to, a, b, pixels, 32);
        else pixels_of_blocks(from, to, a, b, pixels, 64);
        if (past) copy_past(bench, dst + j * b.d, pixels * b.d);
    }
    return 1;
}
#else
INLINE int HERE(blocks_to_pixels)(const uint8_t *src, uint8_t *dst, Loop a, Loop b, int64_t bytes, int past) {
    (void)src, (void)dst, (void)a, (void)b, (void)bytes, (void)past;
    return 0;
}
#endif

/* Pixels to blocks of 32 bytes in the order of the source, some blocks at a time: on Zen 1 0.6 to 0.95 of the time of runs of one block.
 * 0: they are no such blocks. */
#if VB == 32
INLINE void some_blocks(const uint8_t *src, uint8_t *dst, Loop a, int64_t step, int count) {
    for (int64_t i = 0; i < a.n; ++i, src += a.s, dst += VB) {
        V x[4];
        for (int k = 0; k < count; ++k) x[k] = whole(src + k * VB);
        for (int k = 0; k < count; ++k) put(dst + k * step, x[k]);
    }
}
OUT_OF_LINE int HERE(pixels_to_blocks)(const uint8_t *src, uint8_t *dst, Loop a, Loop b, int64_t bytes) {
    int64_t j = 0;
    if (bytes != VB || a.d != VB || b.s != VB) return 0;
    for (; j + 4 <= b.n; j += 4) some_blocks(src + j * VB, dst + j * b.d, a, b.d, 4);
    for (; j + 2 <= b.n; j += 2) some_blocks(src + j * VB, dst + j * b.d, a, b.d, 2);
    if (j < b.n) some_blocks(src + j * VB, dst + j * b.d, a, b.d, 1);
    return 1;
}
#else
INLINE int HERE(pixels_to_blocks)(const uint8_t *src, uint8_t *dst, Loop a, Loop b, int64_t bytes) {
    (void)src, (void)dst, (void)a, (void)b, (void)bytes;
    return 0;
}
#endif

/* Rows of a source in the caches. Pixels to blocks: each pixel as a whole, if there are some blocks and the lines of all their planes have
 * room in L1. Other rows of more than a line: in the order of the result, since a line that is written is waited for longer than one that
 * is read, if L1 keeps the lines of the source that the next row of the result begins with. On Zen 1 0.75 to 1 of the time. 0: they are
 * better moved otherwise. */
#if VB == 32
INLINE void blocks_of_pixels(const uint8_t *src, uint8_t *dst, Loop a, Loop b, int bytes) {
    for (int64_t i = 0; i < a.n; ++i)
        for (int64_t j = 0; j < b.n; ++j) element(bytes, src + i * a.s + j * bytes, dst + i * bytes + j * b.d);
}
static __attribute__((noinline)) int HERE(rows_from_caches)(const uint8_t *src, uint8_t *dst, Loop a, Loop b, int64_t bytes) {
    enum { MOST = 64, ROOM = 4, KEPT = 18 << 10 };
    const int64_t least = bytes == 64 ? 4 : bytes == 32 ? 6 : INT64_MAX, shared = a.n * (a.s & -a.s) / PAGE;
    if (b.n >= least && b.n <= MOST && a.d == bytes && b.s == bytes && in_one_set(b.n, b.d) <= ROOM) {
        if (bytes == 64) blocks_of_pixels(src, dst, a, b, 64);
        else blocks_of_pixels(src, dst, a, b, 32);
    } else if (bytes > 64 && b.n > ROOM && a.n * (bytes + 64) <= KEPT && shared <= SET_OF_L1)
        rows_of_result(src, dst, a, b, bytes, 0);
    else
        return 0;
    return 1;
}
#elif VB == 64
/* A store across two lines waits for both, so that they are fetched: on an Intel Xeon of the fifth generation 0.7 to 0.85 of the time
 * if both sides are in L2 and 0.95 to 1 beyond it, but up to 1.8 if more than SHARED rows of the source share a set. Not measured on Zen 4 and 5. */
OUT_OF_LINE int HERE(rows_from_caches)(const uint8_t *src, uint8_t *dst, Loop a, Loop b, int64_t bytes) {
    enum { LEAST = 128, SHARED = 64 };
    if (bytes < LEAST || bytes > BY_CALL || in_one_set(a.n, a.s) > SHARED) return 0;
    rows_of_result(src, dst, a, b, bytes, CLOSE);
    return 1;
}
#else
INLINE int HERE(rows_from_caches)(const uint8_t *src, uint8_t *dst, Loop a, Loop b, int64_t bytes) {
    (void)src, (void)dst, (void)a, (void)b, (void)bytes;
    return 0;
}
#endif

/* Rows that follow each other in the result, whose runs share sets of L1, where parts of lines are slow past the caches: on a bench whose
 * lines are those of the result, from which whole ones are stored. Other rows gain nothing (On Intel in docs/kernels.md). 0: they do
 * not follow each other. */
#ifdef STREAM
OUT_OF_LINE int HERE(rows_by_bench)(const uint8_t *src, uint8_t *dst, Loop a, Loop b, int64_t bytes, int cold) {
    enum { AHEAD = 8, ROOM = 4096, LONGEST = 1024 };
    uint8_t bench[ROOM + LONGEST + 64] __attribute__((aligned(64)));
    if (a.d != bytes || bytes > LONGEST) return 0;
    for (int64_t j = 0; j < b.n; ++j) {
        uint8_t *to = dst + j * b.d;
        int64_t begin = (int64_t)((uintptr_t)to % 64), end = begin;
        to -= begin;
        for (int64_t i = 0; i < a.n; ++i) {
            const uint8_t *from = src + i * a.s + j * b.s;
            for (int64_t x = 0; cold && x < bytes; x += 64) __builtin_prefetch(from + AHEAD * a.s + x);
            copy_row(from, bench + end, bytes);
            end += bytes;
            if (end < ROOM && i + 1 < a.n) continue;
            const int64_t whole = i + 1 < a.n ? end / 64 * 64 : end;
            copy_past(bench + begin, to + begin, whole - begin);
            for (int64_t at = whole; at < end; at += 16) store16(bench + at - whole, load16(bench + at));
            to += whole, end -= whole, begin = 0;
        }
    }
    return 1;
}
#else
INLINE int HERE(rows_by_bench)(const uint8_t *src, uint8_t *dst, Loop a, Loop b, int64_t bytes, int cold) {
    (void)src, (void)dst, (void)a, (void)b, (void)bytes, (void)cold;
    return 0;
}
#endif

/* `near` is walked in runs of RUN bytes, at most 16 rows, each along all of `far`. It is the loop of the side on which the
 * steps of the other loop are larger, but the destination's if these are a multiple of a page, so that lines would share sets of
 * L1. Of sources in many planes the next run is fetched meanwhile (with vectors of 32 bytes: measured on Zen 3). Not longer rows,
 * and from no cache not those of some lines, nor, with vectors of 32 bytes, those of which the processor foresees each run of the source
 * (float32 NCHW32c to NHWC 0.55 to 0.8 of the time on Zen 1). */
static void HERE(move_rows)(const Move *m, const uint8_t *src, uint8_t *dst) {
    enum { RUN = 2048, PAGE = 4096, FAR_AWAY = 1 << 18, FEW_LINES = 160, SOME_LINES = 256, STREAMS = 16 };
    const Loop b = m->box.loops[m->box.count - 2], a = m->box.loops[m->box.count - 1];
    const int64_t bytes = m->size;
    const int past = m->past && rows_gain_past(dst, a, b, bytes), crowd = magnitude(b.d) % PAGE == 0;
    const int goes_past = past || (m->past && !(stores_whole_lines() && bytes >= ROW_PAST));
    if (m->past && !past && crowd && row_gains_past(bytes) && HERE(rows_by_bench)(src, dst, a, b, bytes, m->cold)) return;
    if (past || (m->cold && bytes >= (crowd ? SOME_LINES : FEW_LINES))) {
        rows_in_order(src, dst, a, b, bytes, past);
        return;
    }
    if (!goes_past && !m->cold && HERE(rows_from_caches)(src, dst, a, b, bytes)) return;
    if (VB == 32 && !goes_past && m->cold && bytes > 64 && a.n <= STREAMS) {
        rows_of_result(src, dst, a, b, bytes, 0);
        return;
    }
    if (goes_past && HERE(rows_by_lines)(src, dst, a, b, bytes)) return;
    if (HERE(blocks_to_pixels)(src, dst, a, b, bytes, goes_past)) return;
    if (!(m->cold && a.n * b.n * bytes >= FAR_AWAY) && HERE(pixels_to_blocks)(src, dst, a, b, bytes)) return;
    if (bytes > RUNS_OF_ROWS) {
        rows_of_result(src, dst, a, b, bytes, 0);
        return;
    }
    const int64_t most = at_most(RUN / bytes, 16);
    const int reads = magnitude(a.s) > magnitude(b.d) && b.d % PAGE;
    const Loop near = reads ? b : a, far = reads ? a : b;
    const int fetches = near.s >= 0 && ((VB == 32 && reads) || (m->cold && bytes <= 64)) && near.n * far.n * bytes >= FAR_AWAY;
#define CALL(copy)                                                                                                          \
    do {                                                                                                                    \
        for (int64_t k0 = 0; k0 < near.n; k0 += most)                                                                       \
            for (int64_t l = 0, k1 = at_most(k0 + most, near.n); l < far.n; ++l) {                                          \
                if (fetches) fetch_run(src + l * far.s + (k0 + most) * near.s, near, k1 - k0, far.s);                             \
                for (int64_t k = k0; k < k1; ++k) copy(src + l * far.s + k * near.s, dst + l * far.d + k * near.d, bytes);  \
            }                                                                                                               \
    } while (0)
    BY_ROW(bytes, CALL);
#undef CALL
}
