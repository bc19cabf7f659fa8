/* Sums, minima and maxima of two arrays and of their differences, by row and by column. */
#ifndef NPU_LAYOUT_SUMS_H
#define NPU_LAYOUT_SUMS_H

#include "levels.h"

/* Matrices of numbers anywhere in memory, and where their sums go; steps in bytes. */
typedef struct {
    int item;                       /* bytes of a number: 4 or 8 */
    int64_t count, rows, columns;   /* matrices, and the extents of each */
    struct {
        const uint8_t *at; /* NULL: there is none */
        int64_t matrix, row, column;
    } of[SUMMED_ARRAYS];
    double *by_row;    /* (sums_tiles, SUMS_BY_ROW, rows) */
    double *by_column; /* (SUMS_BY_COLUMN, count, columns) */
} Matrices;

/* A tile is SUM_TILE columns of every row of every matrix; at least 1. */
int64_t sums_tiles(const Matrices *m);
/* Each part has tiles of its own. */
void sums_run(const Level *level, const Matrices *m, int64_t part, int64_t parts);
/* Then: add the sums of all tiles to those of the first one, in order. */
void sums_merge(const Matrices *m);

#endif
