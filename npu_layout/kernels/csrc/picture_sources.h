/* Rows of a picture's planes that are not stored as such: rows of tiles, and rows of colors that are made of others. */
#ifndef NPU_LAYOUT_PICTURE_SOURCES_H
#define NPU_LAYOUT_PICTURE_SOURCES_H

#include "picture_plan.h"

/* Copy a row out of tiles: `bytes` of it, rounded up to whole tiles. */
void untile_row(const PicturePlane *plane, const PlaneTiles *tile, int64_t row, int64_t bytes, uint8_t *out);

/* Make a row of B, G and R, or of gray, out of a row of packed pixels, or of words of 16 bits. `next`: the row that is fetched
 * meanwhile, or NULL. */
void source_row(const PicturePlan *plan, const uint8_t *from, const uint8_t *next, uint8_t *const rgb[3]);

/* The row of a mosaic that a row is made of, with those above and below it; then make it of these three. */
int64_t mosaic_middle(const PictureSpec *spec, int64_t row);
void mosaic_row(const PicturePlan *plan, int64_t middle, const uint8_t *const rows[3], uint8_t *const rgb[3]);

#endif
