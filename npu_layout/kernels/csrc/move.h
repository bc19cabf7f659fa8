/* Moves: elements in another order, their bits as they are. */
#ifndef NPU_LAYOUT_MOVE_H
#define NPU_LAYOUT_MOVE_H

#include "levels.h"

enum { MAX_TILE = 16384 }; /* bytes of a bench in L1 */
enum { LONG_ROW = 512 }; /* bytes of the longest row that is moved together with its neighbours on both sides */
enum { INNER = 2 }; /* loops that a mover walks itself, the last ones of the box; a detour has three */

struct Move {
    int path, size;
    int past;    /* see past_caches */
    int64_t pad; /* bytes to become zeros behind each run of neighbours in the destination */
    int64_t row; /* bytes of rows of which the path's loops want a whole vector; INT64_MAX: any level will do */
    Box box; /* the last INNER loops in the order that the path wants */
};

/* The bytes of a fill behind each run of neighbours that a move writes, where the move takes it over; else 0. */
int64_t pad_of(const Box *move, const Box *fill, int64_t src_size, int64_t dst_size);
void move_plan(Move *move, const Box *box, int size, int64_t pad);
void move_run(const Level *level, const Move *move, const uint8_t *src, uint8_t *dst);

#endif
