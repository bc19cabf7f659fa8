/* The tiles of argmax, top_k and softmax: the channels of some positions are moved to a tile in L1 as planes, from any layout;
 * one loop works on the planes, and the result is moved to the destination. If the source has planes already, argmax reads
 * them in place, and so does softmax of up to 8 channels, which writes planes to the destination directly too. Many
 * neighbouring channels are not moved. The arithmetic is the same in all cases. */
#ifndef NPU_LAYOUT_REDUCE_TILES_H
#define NPU_LAYOUT_REDUCE_TILES_H

#include "move.h"
#include "reduce.h"

enum { LINE = 64 }; /* bytes of a cache line */

static inline int64_t up_to(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

/* Merge digits of a channel whose neighbours continue each other; at least one is left. */
void digits_merge(Digits *digits);
/* The offset of channel c, and how many channels from it on have equal steps. */
int64_t channel_at(const Digits *digits, int64_t c, int64_t *run);

/* Whether channels are neighbours in the source. */
static inline int neighbours(const Reduction *r) { return r->from.count == 1 && r->from.loops[0].s == dtype_size[r->type]; }

/* The positions of a tile: `rows` times `row`. */
typedef struct {
    Loop row, rows;
    int64_t row_n, rows_n; /* in a whole tile */
    int count;             /* loops around them */
    int64_t part, part_s;  /* of tiling_joined: positions of a row of the source, and bytes from row to row */
} Tiling;

Tiling reduction_tiling(const Box *box, int one_row, int64_t positions);
/* The same of rows that continue each other in the destination, but not in the source: all of them are one row, whose tiles are full. Of
 * planes rows are better read in place. */
Tiling tiling_joined(const Box *box, int64_t positions);
static inline int tiling_joins(const Reduction *r, const Box *box) {
    const Loop *row = box->loops + box->count - 1, *rows = row - 1;
    return box->count > 1 && row->n % 16 && row->s != dtype_size[r->type] && rows->d == row->n * row->d && rows->p == row->n * row->p;
}
/* Whether the parts of joined rows are copied one behind the other first, as blocks of shorter elements are: a transpose of so few of them takes
 * longer than the copy (measured). */
static inline int joins_blocks(const Reduction *r, const Tiling *t) {
    const int64_t size = dtype_size[r->type];
    return t->part && size < 4 && r->from.count == 2 && r->from.loops[1].s == size && t->row.s == r->from.loops[1].n * size;
}
/* Where position i of a row is in the source. */
static inline int64_t tile_from(const Tiling *t, int64_t i) {
    return t->part ? i / t->part * t->part_s + i % t->part * t->row.s : i * t->row.s;
}

/* Choose the positions of a tile, `bytes` bytes for each channel, in whole cache lines of planes. */
static inline int64_t positions_of(int64_t channels, int64_t size, int64_t bytes) {
    const int64_t line = LINE / size, n = bytes / (channels * size) / line * line;
    return n < line ? line : at_most(n, STRIP);
}

/* The next `most` of those left, or half of them if less than a vector would remain. */
static inline int64_t next(int64_t left, int64_t most, int64_t least) {
    return left > most && left < most + least ? most / 2 : at_most(left, most);
}

/* Tile after tile: `tile_rows` rows of `tile_row` positions, from the offsets tile_src and tile_dst on. */
#define TILES(tiling, tile_row, tile_rows, least, ...)                                                              \
    for (int64_t i_ = 0, tile_row; i_ < (tiling).row.n; i_ += tile_row) {                                           \
        tile_row = next((tiling).row.n - i_, (tiling).row_n, least);                                                \
        for (int64_t j_ = 0; j_ < (tiling).rows.n; j_ += (tiling).rows_n) {                                         \
            const int64_t tile_rows = at_most((tiling).rows.n - j_, (tiling).rows_n);                               \
            const int64_t tile_src = tile_from(&(tiling), i_) + j_ * (tiling).rows.s;                                   \
            const int64_t tile_dst = i_ * (tiling).row.d + j_ * (tiling).rows.d;                                    \
            __VA_ARGS__                                                                                             \
        }                                                                                                           \
    }

/* GATHERED: bytes that are gathered at once, which fills the tiles of a transpose better; of these the loops take as many positions as fit in L1.
 * GATHERED_ROOM: the same with a line more for each channel of so many, and with the pad lanes of blocks. PADS: pad lanes are moved if they are
 * at most an eighth. JOINED: bytes of blocks of joined rows that are brought one behind the other at once. */
enum { GATHERED = 98304, GATHERED_ROOM = GATHERED + 3 * GATHERED / 8, PADS = 8, JOINED = 16384 };

/* Moves between a tile and memory; the last ones planned are kept, by their extents. */
enum { PLANNED = 12 };
typedef struct {
    const Level *level;
    uint8_t *rows; /* room for JOINED bytes, or NULL */
    int planned;
    int64_t key[PLANNED][5];
    Move move[PLANNED];
} Movers;

/* `run` planes of rows x row elements, `pitch` bytes apart in the tile, and run.s in memory, where there are `blocks` of them,
 * blocks.s apart; `in`: to the tile. */
void reduction_move(Movers *m, int size, int in, uint8_t *tile, int64_t pitch, uint8_t *memory, Loop run, Loop blocks,
                    const Tiling *t, int64_t rows, int64_t row);
/* Move channels from c on to planes in a tile. `first`: of joined rows, the place of the first position in its row of the source. */
void reduction_gather(Movers *m, const Reduction *r, const Tiling *t, const uint8_t *src, int64_t first, int64_t c, int64_t channels,
                      int64_t rows, int64_t row, uint8_t *tile, int64_t pitch);

#endif
