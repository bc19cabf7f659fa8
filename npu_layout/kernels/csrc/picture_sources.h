/* Rows of a picture's planes that are not stored as such: rows of tiles, and rows of colors that are made of others. */
#ifndef NPU_LAYOUT_PICTURE_SOURCES_H
#define NPU_LAYOUT_PICTURE_SOURCES_H

#include "picture_plan.h"

/* Copy a row out of tiles: `bytes` of it, rounded up to whole tiles. */
void untile_row(const PicturePlane *plane, const PlaneTiles *tile, int64_t row, int64_t bytes, uint8_t *out);

/* Make a row of B, G and R, or of gray, out of rows of a plane whose samples are no components themselves. */
void source_row(const PicturePlan *plan, const PicturePlane *plane, int64_t row, uint8_t *const rgb[3]);

#endif
