/* Moves: walk the outer loops of a box, and know which moves gain by stores past the caches and by lines fetched ahead. */
#include "move.h"

#include "cold.h"

/* The size of a piece of at most `most` of n elements, such that the last one, which overlaps, repeats little. */
static int64_t alike(int64_t n, int64_t most) {
    const int64_t pieces = (n + most - 1) / most, each = (n + pieces - 1) / pieces;
    return n <= most ? n : at_most(most, (each + 15) / 16 * 16);
}

enum { NEXT = 128 }; /* elements of the longest rows on the bench */

/* Tile after tile; a tile that does not fit begins earlier. Large results are stored through the caches too. */
static void run_detour(const Level *level, const Move *m, const uint8_t *src, uint8_t *dst) {
    uint8_t bench[MAX_TILE] __attribute__((aligned(64)));
    const int outer = m->box.count - DETOUR;
    const Loop other = m->box.loops[outer], next = m->box.loops[outer + 1], tiny = m->box.loops[outer + 2];
    const int64_t size = m->size, nexts = alike(next.n, NEXT), others = alike(other.n, MAX_TILE / (size * tiny.n * nexts));
    const int64_t row = nexts * size, plane = others * row;
    Box to, from;
    box_clear(&to), box_clear(&from);
    box_add(&to, (Loop){tiny.n, tiny.s, plane, 0}), box_add(&from, (Loop){tiny.n, plane, tiny.d, 0});
    box_add(&to, (Loop){others, other.s, row, 0}), box_add(&from, (Loop){others, row, other.d, 0});
    box_add(&to, (Loop){nexts, next.s, size, 0}), box_add(&from, (Loop){nexts, size, next.d, 0});
    Move gather, scatter;
    move_plan_direct(&gather, &to, (int)size), move_plan_direct(&scatter, &from, (int)size);
    ODOMETER(m->box.loops, outer, m->box.src, m->box.dst, 0, {
        for (int64_t j = 0; j < other.n; j += others)
            for (int64_t i = 0; i < next.n; i += nexts) {
                const int64_t p = at_most(j, other.n - others);
                const int64_t q = at_most(i, next.n - nexts);
                move_run(level, &gather, src + src_ + p * other.s + q * next.s, bench);
                move_run(level, &scatter, bench, dst + dst_ + p * other.d + q * next.d);
            }
    });
}

void move_run(const Level *level, const Move *m, const uint8_t *src, uint8_t *dst) {
    if (m->path == PATH_DETOUR) {
        run_detour(level, m, src, dst);
        return;
    }
    for (const Level *below; m->row < level->vector && (below = level_below(level));) level = below;
    Mover *mover = fast_of(level, m->path)->move;
    const int outer = m->box.count - INNER;
    ODOMETER(m->box.loops, outer, m->box.src, m->box.dst, 0, mover(m, src + src_, dst + dst_));
}

/* Planes of 4 bytes an element to pixels, a small number of whole lines each. */
static int is_merge_of_lines(const Move *m) {
    const Loop b = m->box.loops[m->box.count - 2], a = m->box.loops[m->box.count - 1];
    return m->path == PATH_TRANSPOSE && m->size == 4 && a.n % 16 == 0 && b.d % 64 == 0 && magnitude(b.d) <= SHORT_PAST &&
           magnitude(a.s) >= magnitude(b.d);
}

/* Rows of some lines, or of less, of which lines are made. */
static int is_rows_of_lines(const Move *m) {
    const Loop b = m->box.loops[m->box.count - 2], a = m->box.loops[m->box.count - 1];
    return (m->path == PATH_COPY && (row_gains_past(a.n * m->size) || is_rows_past(b, a.n * m->size))) ||
           (m->path == PATH_ROWS && (row_gains_past(m->size) || lines_of_rows(a, b, m->size))) ||
           (m->path == PATH_TRANSPOSE && m->size == 16 && lines_of_rows(a, b, 16));
}

/* Planes that vectors of 32 bytes bring to pixels in bands, which gain by lines of the result that are fetched, not by stores past the
 * caches. */
static int is_band_of_result(const Move *m, int how) {
    const Loop b = m->box.loops[m->box.count - 2], a = m->box.loops[m->box.count - 1];
    return m->path == PATH_TRANSPOSE && m->size <= 4 && magnitude(a.s) > magnitude(b.d) && goes_by_bands(a.s, b.d, m->size, how);
}

/* Planes that they read from end to end, a set's lines at a time, through the caches. */
static int is_by_sets(const Move *m) {
    const Loop b = m->box.loops[m->box.count - 2], a = m->box.loops[m->box.count - 1];
    return m->path == PATH_TRANSPOSE && a.n >= SET_OF_L1 && goes_by_sets(a.s, b.d, m->size);
}

/* What vectors of 32 bytes make whole lines of, with a source that is fetched ahead: blocks to pixels 0.6 of the time, transposes of 16
 * and 32 bits 0.7 to 1 (Zen 1). */
static int is_lines_of_32(const Move *m) {
    const Loop b = m->box.loops[m->box.count - 2], a = m->box.loops[m->box.count - 1];
    if (m->path == PATH_ROWS) return is_blocks_to_pixels(a, b, m->size);
    return m->path == PATH_TRANSPOSE && (m->size == 2 || m->size == 4 || (m->size == 16 && is_blocks_to_pixels(a, b, 16)));
}

/* What vectors of 64 bytes make whole lines of; not small results, nor lines of 16 bits in a small number of sets, which take twice as
 * long. */
static int is_lines_of_64(const Move *m) {
    enum { CROWDED = 16, SMALL_RESULT = 1 << 20 };
    const Loop b = m->box.loops[m->box.count - 2], a = m->box.loops[m->box.count - 1];
    const int long_rows = a.n * m->size >= SHORT_PAST && magnitude(b.d) >= SHORT_PAST;
    return m->path == PATH_TRANSPOSE && m->size <= 4 && a.n * b.n * m->size >= SMALL_RESULT && long_rows &&
           !(m->size == 2 && in_one_set(b.n, b.d) >= CROWDED);
}

/* Bands of elements of less than 4 bytes, not if L1 has no room for a line of each plane: those with a pitch of a quarter of a page share
 * four sets of it. */
int move_prefers_below(const Move *m, int vector) {
    enum { ROOM = 48 };
    const Loop b = m->box.loops[m->box.count - 2], a = m->box.loops[m->box.count - 1];
    const int rows = m->path == PATH_ROWS || (m->path == PATH_TRANSPOSE && m->size == 16);
    if (vector != 64) return 0;
    if (rows && is_blocks_to_pixels(a, b, m->size)) return 1;
    if (m->size < 4 && a.n > ROOM && is_near_multiple(magnitude(a.s), PAGE / 4)) return 0;
    return b.d % 64 && is_band_of_result(m, COLD);
}

/* Where parts of lines are slow: planes that shorter vectors write by turns, and pixels of planes with which not every line begins,
 * because arrays begin at any lane of 16 bytes of a line. Padded ones of whole lines are collected to lines (pads.inl.h). */
static int is_parts_of_lines(const Move *m, int vector) {
    const Loop pixel = m->box.loops[m->box.count - 2], channel = m->box.loops[m->box.count - 1];
    if (vector < 64 && (m->path == PATH_SPLIT || (m->path == PATH_MERGE && channel.n == 8))) return 1;
    if (m->path == PATH_PADDED && (channel.s == m->size || pixel.d % 64 == 0)) return 0;
    return (m->path == PATH_MERGE || m->path == PATH_PADDED) && pixel.d % 32 == 0;
}

/* Other loops store past the caches too, and gain nothing by it, or lose; or have no such stores. */
int move_gains_past(const Move *m, int vector) {
    if (vector == 32 && (is_band_of_result(m, PAST) || is_by_sets(m))) return 0;
    if (stores_whole_lines() && is_parts_of_lines(m, vector)) return 0;
    return is_merge_of_lines(m) || is_rows_of_lines(m) || (vector == 32 && is_lines_of_32(m)) ||
           (vector == 64 && stores_whole_lines() && is_lines_of_64(m)) || m->path == PATH_SPLIT || m->path == PATH_MERGE ||
           m->path == PATH_REVERSE || m->path == PATH_PADDED || m->path == PATH_PIXELS;
}

/* Blocks of whole lines, which take twice as long as in L3 (Xeon of the fifth generation). */
int move_looks_first(const Move *m) { return m->path == PATH_PADDED && m->box.loops[m->box.count - 2].d % 64 == 0; }

int move_fetches(const Move *m) {
    return m->path == PATH_TRANSPOSE || m->path == PATH_ROWS || m->path == PATH_SPLIT || m->path == PATH_MERGE || m->path == PATH_PIXELS || m->path == PATH_PADDED;
}

/* Of larger results more time is lost by the lines of the source that have to wait for it (measured), but not in bands. */
int move_fetches_result(const Move *m, int64_t bytes, int vector) {
    enum { MOST = 1 << 17 };
    return m->path == PATH_TRANSPOSE && (bytes < MOST || (vector == 32 && is_band_of_result(m, COLD | COLD_RESULT)));
}
