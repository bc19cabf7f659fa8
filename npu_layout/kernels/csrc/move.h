/* Moves: elements in another order, with unchanged bits. */
#ifndef NPU_LAYOUT_MOVE_H
#define NPU_LAYOUT_MOVE_H

#include "levels.h"

enum { MAX_TILE = 16384 }; /* bytes of a bench, a scratch buffer in L1 */
/* Bytes of the longest row that is moved together with its neighbours on both sides, and of those of which runs are. */
enum { LONG_ROW = 1 << 16, RUNS_OF_ROWS = 512 };
/* Whether rows of so many bytes are faster past the caches, if the result is in none: whole lines outweigh the parts of lines at both
 * ends (Zen 5). Shorter ones are if lines are made of some of them. */
enum { ROW_PAST = 128 };
static inline int row_gains_past(int64_t bytes) { return bytes >= (bytes % 64 == 0 ? ROW_PAST : bytes % 16 == 0 ? 320 : 960); }
/* Whether rows follow each other in the result, so that all of their lines are written as a whole. */
static inline int is_rows_past(Loop rows, int64_t bytes) { return bytes >= ROW_PAST && rows.d == bytes && rows.n > 1; }
/* Bytes of rows of a result of which a line each is written past the caches as fast as a stream is; with twice as many it takes three
 * times as long (Zen 5). */
enum { SHORT_PAST = 256 };
enum { INNER = 2 }; /* loops that a mover walks itself, the last ones of the box */
/* The last loops of a detour's box: the neighbours of one side, the loop along which the neighbours of the other side continue, and
 * these, which are a small number. */
enum { DETOUR = 3 };

/* How many rows of a move from loop a to b (rows.inl.h) fill whole lines, or 0: they continue in the result, and are so near each other
 * in the source that L1 contains them. */
enum { MOST_LANES = 32, NEAR_ROWS = 1 << 14 };
static inline int64_t lines_of_rows(Loop a, Loop b, int64_t bytes) {
    int64_t rows = 1;
    if (bytes % 16 || bytes >= ROW_PAST || a.d != bytes || b.d % 64 || a.s <= 0 || a.s > 2 * b.n * bytes) return 0;
    while (rows * bytes % 64) ++rows;
    return rows * a.s <= NEAR_ROWS ? rows : 0;
}

static inline int is_near_multiple(int64_t pitch, int64_t of) { return ((pitch + 32) & (of - 1)) < 64; }
/* Whether a transpose of rows of the source with a pitch of sa bytes to rows of the result with a pitch of db is done in bands
 * (bands.inl.h): not if the lines of the side with the longer rows are in so small a number of sets of L1 that they evict each other.
 * `how`: of planes from no cache, which are so slow in any other order that only lines in one set are worse. But those of 4 bytes an
 * element whose pixels are SHORT_PAST or less are read faster from end to end, 16 at a time, unless their lines share sets too and the
 * tiles share lines of the result, or have to wait for these. */
static inline int goes_by_bands(int64_t sa, int64_t db, int size, int how) {
    const int64_t from = magnitude(sa), to = magnitude(db), apart = size == 1 ? PAGE / 2 : PAGE / 4;
    const int whole_lines = to % 64 == 0 && to > 64, waits = how & COLD_RESULT && !(how & PAST);
    if (from <= to) return !is_near_multiple(to, apart);
    if (!(how & (PAST | COLD))) return !is_near_multiple(from, apart);
    if (is_near_multiple(from, PAGE)) return 0;
    return size < 4 || to > SHORT_PAST || (is_near_multiple(from, apart) && (waits || !whole_lines));
}
/* Whether planes in no cache, whose lines are all in one set of L1, are read from end to end, as many at a time as a set has lines
 * (bands.inl.h). With 1 byte an element they write 8 bytes of a line, which takes longer if a line is not finished by eight of them. */
enum { SET_OF_L1 = 8 };
static inline int goes_by_sets(int64_t sa, int64_t db, int size) {
    const int64_t from = magnitude(sa), to = magnitude(db);
    return size <= 4 && from > to && is_near_multiple(from, PAGE) && (size > 1 || to <= 64);
}

/* Rows of 16, 32 or 64 bytes that are blocks of pixels without gaps: neighbours in the result along loop a, in the source along loop b.
 * As many pixels as fill a line of the source fit in a bench. */
static inline int is_blocks_to_pixels(Loop a, Loop b, int64_t bytes) {
    return (bytes == 16 || bytes == 32 || bytes == 64) && a.d == bytes && b.s == bytes && a.n > 1 && b.d == a.n * bytes &&
           a.n * 64 <= MAX_TILE;
}

struct Move {
    int path, size;
    int past;    /* whether to store past the caches (cold.h) */
    int cold;    /* whether the source is in no cache */
    int cold_result; /* whether the result, which is stored through the caches, is in none */
    int64_t pad; /* bytes to set to zero behind each run of neighbours in the destination */
    int64_t row; /* bytes of the rows, which must fill a vector of the path's loops; INT64_MAX: any level will do */
    Box box; /* the last INNER loops in the order that the path requires */
};

/* The bytes of a fill behind each run of neighbours that a move writes, if the move can do the fill too; otherwise 0. */
int64_t pad_of(const Box *move, const Box *fill, int64_t src_size, int64_t dst_size);
void move_plan(Move *move, const Box *box, int size, int64_t pad);
void move_plan_direct(Move *move, const Box *box, int size); /* without a pad or a detour */
/* Whether a move fetches more lines ahead if its source is in no cache. */
int move_fetches(const Move *move);
/* Whether a move by vectors of so many bytes fetches lines of a result, of `bytes`, before they are written, if source and result are in
 * no cache. */
int move_fetches_result(const Move *move, int64_t bytes, int vector);
/* Whether a move by vectors of so many bytes is faster with stores past the caches if its result is in none (measured). */
int move_gains_past(const Move *move, int vector);
/* Whether it is slower so if the result is in a cache, however large it is. */
int move_looks_first(const Move *move);
/* Whether the loops with vectors of half the size are faster where what they read and write is not near a core (Intel). */
int move_prefers_below(const Move *move, int vector);
void move_run(const Level *level, const Move *move, const uint8_t *src, uint8_t *dst);

#endif
