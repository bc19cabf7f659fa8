/* What a plan of rows of a picture contains. */
#ifndef NPU_LAYOUT_PICTURE_PLAN_H
#define NPU_LAYOUT_PICTURE_PLAN_H

#include "pictures.h"

/* How the pixels of a result come about: each is one pixel, or every two neighbours are pixels that share chroma, or each is the
 * mean of four that do; or whole rows are converted, or only those pairs of pixels that are needed; or planes are resized; or
 * packed pixels are; or two planes become packed pixels. */
typedef enum { POINTS, SHARED, MEANS, ROWS, PAIRS, PLANES, PACKED_PIXELS, JOINED } Way;

/* The source rows of a row, with their weights; the second one is not read if `below` is 0. */
typedef struct {
    int32_t row[2];
    uint16_t above, below;
} RowPair;

/* DOWN: of packed pixels, means of two rows of the same columns, half up. */
typedef enum { ONE, MEAN, LINEAR, BOX, DOWN } Filter;
typedef struct {
    Filter filter;
    Weights weights;
    RowPair *rows;
    int reuses; /* lines of rows serve several results */
} Resize;

/* Whether each result is made of one column. */
static inline int one_column(Filter filter) { return filter == ONE || filter == DOWN; }

struct PicturePlan {
    PictureSpec spec; /* without the arrays of its axes */
    const PictureLoops *loops;
    Way way;
    int shared;          /* every two neighbours have one sample of chroma */
    int together;        /* U and V are gathered as pairs, by the gather of U */
    int has_luma;        /* gray is not Y itself */
    int64_t n, samples;  /* results in a row; samples of chroma that are converted for a row */
    int64_t reach;       /* bytes, at least, of each buffer of a row on the bench */
    int tiled;           /* any plane is stored in tiles, whose rows are put together on the bench */
    int grouped;         /* pixels of a mosaic have other bytes between them, and come together on the bench, by component[0] */
    Resize resize[3];      /* of planes, or of pixels */
    Gather component[3]; /* out of the rows of the source, from `start` on */
    int64_t start[3];
    int64_t ahead;       /* rows are prefetched so many rows of the result before they are needed */
    int64_t fetched[3];  /* bytes to prefetch of a row of the plane of each component; 0: they are few, or another component has the same */
    Gather pairs;        /* out of converted rows, or of packed pixels */
    int64_t pixel;       /* bytes of a packed pixel */
    int64_t box_w, box_h; /* pixels of each box whose mean is a result */
    int32_t *near;       /* if no windows reach the pixels: where the first of the two that each result needs is */
    int64_t near_safe;   /* of so many of them 8 bytes or more are in the row */
    int owned;
    void *memory[64];
};

/* Bytes of a row from which on rows are prefetched, and those that are read meanwhile, at least. */
enum { FETCHED = 256, MEANWHILE = 1024 };

/* Where a pixel of a mosaic's row is. */
static inline int64_t grouped_at(int64_t x, int64_t pixels, int64_t bytes) { return x / pixels * bytes + x % pixels; }

/* Bytes of a row of the plane of a component, which others may share. */
static inline int64_t plane_bytes(const PictureSpec *spec, int k) {
    int64_t most = 0;
    for (int i = 0; i < spec->components; ++i) {
        const PictureComponent *c = spec->component + i;
        const int64_t bytes = (spec->width + c->every_x - 1) / c->every_x * c->step;
        if (c->plane == spec->component[k].plane && bytes > most) most = bytes;
    }
    return most;
}

#endif
