/* Rows of a resized picture: one way for each kind of scale, all with the same result. */
#include "pictures.h"

#include "picture_fetch.h"
#include "picture_plan.h"
#include "picture_sources.h"

/* What a thread works on, all of it on its bench: samples, terms of chroma, converted bytes, and the lines of two source rows, of
 * which those with an even number are in the first slot. `samples_row`, `terms_row` and `row`: which row is there, or -1. */
typedef struct {
    const PicturePlan *plan;
    const PicturePlane *planes;
    uint8_t *samples[3], *second, *bytes[2][3];
    int16_t *line[2][3];
    Terms terms;
    int64_t samples_row, terms_row, row[2][3];
    uint8_t *untiled[2][3];
    int64_t untiled_row[2][3];
    uint8_t *ungrouped[3]; /* three rows of a mosaic, each in the slot of its number modulo 3 */
    int64_t ungrouped_row[3];
} Work;

enum { BUFFERS = 1 + 2 * 3 + 2 * 3 + 2 * (2 * 3 + 2 * 3), TILED_BUFFERS = 2 * 3, GROUPED_BUFFERS = 3 };
int64_t picture_bench(const PicturePlan *plan) {
    return (BUFFERS + (plan->tiled ? TILED_BUFFERS : 0) + (plan->grouped ? GROUPED_BUFFERS : 0)) * plan->reach;
}

static void work_on(Work *w, const PicturePlan *plan, const PicturePlane *planes, uint8_t *bench) {
    const int64_t reach = plan->reach;
    w->plan = plan, w->planes = planes, w->samples_row = w->terms_row = -1;
    w->second = bench, bench += reach;
    for (int c = 0; c < 3; ++c) {
        w->samples[c] = bench, bench += 2 * reach; /* pairs */
        w->terms.high[c] = (int16_t *)(void *)bench, bench += 2 * reach;
        w->terms.low[c] = (uint16_t *)(void *)bench, bench += 2 * reach;
        for (int slot = 0; slot < 2; ++slot) {
            w->bytes[slot][c] = bench, bench += reach;
            w->line[slot][c] = (int16_t *)(void *)bench, bench += 2 * reach;
            w->row[slot][c] = w->untiled_row[slot][c] = -1;
        }
    }
    for (int i = 0; plan->tiled && i < TILED_BUFFERS; ++i, bench += reach) w->untiled[i % 2][i / 2] = bench;
    for (int i = 0; plan->grouped && i < GROUPED_BUFFERS; ++i, bench += reach) w->ungrouped[i] = bench, w->ungrouped_row[i] = -1;
}

/* A row of a plane from the first sample of a component on, where it is stored, or on the bench. */
static const uint8_t *row_of(Work *w, int k, int64_t row) {
    const PictureSpec *spec = &w->plan->spec;
    const int p = spec->component[k].plane, slot = (int)(row & 1);
    const PicturePlane *plane = w->planes + p;
    if (!spec->tile[p].bytes) return plane->first + row * plane->pitch + w->plan->start[k];
    if (w->untiled_row[slot][p] != row) untile_row(plane, spec->tile + p, row, plane_bytes(spec, k), w->untiled[slot][p]);
    w->untiled_row[slot][p] = row;
    return w->untiled[slot][p] + w->plan->start[k];
}
static void gather(const Work *w, const Gather *g, const uint8_t *row, uint8_t *out) {
    const PictureLoops *loops = w->plan->loops;
    (g->kind >= WIDE_64 ? loops->gather_wide : loops->gather)(row, g, out);
}
static void gather_samples(Work *w, int k, int64_t pixel_row, uint8_t *out) {
    gather(w, w->plan->component + k, row_of(w, k, pixel_row / w->plan->spec.component[k].every_y), out);
}
/* Samples in a row of their plane are read where they are if they are neighbours. */
static const uint8_t *stored_samples(Work *w, int k, int64_t row, uint8_t *room) {
    const Gather *g = w->plan->component + k;
    const uint8_t *const from = row_of(w, k, row);
    if (g->kind == COPY) return from + g->at[0];
    gather(w, g, from, room);
    return room;
}
static const uint8_t *whole_row(Work *w, int64_t row, uint8_t *room) { return stored_samples(w, 0, row, room); }

/* V, or NULL if it is among U. */
static const uint8_t *second_chroma(const Work *w) { return w->plan->together ? NULL : w->samples[2]; }

/* The samples of chroma of a row of pixels, and their terms; the next row may share both. */
static void chroma(Work *w, int64_t pixel_row, int terms) {
    const PicturePlan *plan = w->plan;
    const int64_t row = pixel_row / plan->spec.component[1].every_y;
    for (int k = 1; w->samples_row != row && k < (plan->together ? 2 : 3); ++k) gather_samples(w, k, pixel_row, w->samples[k]);
    w->samples_row = row;
    if (terms && w->terms_row != row)
        plan->loops->terms(w->samples[1], second_chroma(w), &plan->spec.color, plan->samples, &w->terms), w->terms_row = row;
}

/* A row of a mosaic, where it is stored, or on the bench. */
static const uint8_t *mosaic_source(Work *w, int64_t row) {
    const uint8_t *const from = w->planes[0].first + row * w->planes[0].pitch;
    const int slot = (int)(row % GROUPED_BUFFERS);
    if (!w->plan->grouped) return from;
    if (w->ungrouped_row[slot] != row) gather(w, w->plan->component, from, w->ungrouped[slot]);
    w->ungrouped_row[slot] = row;
    return w->ungrouped[slot];
}

/* Make a row of what the samples of the plane are no components of. */
static void made_row(Work *w, int64_t row, uint8_t *const rgb[3]) {
    const PicturePlan *plan = w->plan;
    if (plan->spec.source != MOSAIC) {
        const uint8_t *const from = w->planes[0].first + row * w->planes[0].pitch;
        const int all = plan->spec.y[0].from <= 2 * plan->spec.y[0].to && row + 1 < plan->spec.height; /* rows are read */
        source_row(plan, from, all ? from + w->planes[0].pitch : NULL, rgb);
        return;
    }
    const int64_t middle = mosaic_middle(&plan->spec, row);
    const uint8_t *const rows[3] = {mosaic_source(w, middle - 1), mosaic_source(w, middle), mosaic_source(w, middle + 1)};
    mosaic_row(plan, middle, rows, rgb);
}

/* Convert a row of pixels, all of them or those that were gathered. `once`: no other row needs its terms of chroma. */
static void convert(Work *w, int64_t row, int64_t n, int once, uint8_t *const rgb[3]) {
    const PicturePlan *plan = w->plan;
    if (plan->spec.source != COMPONENTS) {
        made_row(w, row, rgb);
        return;
    }
    chroma(w, row, plan->shared || !once);
    if (plan->shared)
        plan->loops->color_shared(whole_row(w, row, w->samples[0]), &w->terms, &plan->spec.color, n, rgb);
    else {
        gather_samples(w, 0, row, w->samples[0]);
        if (once) plan->loops->color_once(w->samples[0], w->samples[1], second_chroma(w), &plan->spec.color, n, rgb);
        else plan->loops->color(w->samples[0], &w->terms, &plan->spec.color, n, rgb);
    }
}

/* Whether rows of pairs are blended without being stored as lines. */
static int blends_pairs(const PicturePlan *plan, int k) {
    return plan->resize[k].filter == LINEAR && plan->way != ROWS && !plan->resize[k].reuses;
}

/* Put R, G and B of a source row, or gray, into its slot: as lines, or as bytes. */
static int color_slot(Work *w, int64_t row, int once) {
    const PicturePlan *plan = w->plan;
    const int slot = (int)(row & 1);
    if (w->row[slot][0] == row) return slot;
    w->row[slot][0] = row;
    convert(w, row, plan->way == ROWS ? plan->spec.width : 2 * plan->n, once, w->bytes[slot]);
    if (plan->resize[0].filter != LINEAR || blends_pairs(plan, 0)) return slot;
    for (int c = 0; c < plan->spec.components; ++c) {
        const uint8_t *pairs = w->bytes[slot][c];
        if (plan->way == ROWS) gather(w, &plan->pairs, pairs, w->second), pairs = w->second;
        plan->loops->line(pairs, &plan->resize[0].weights, plan->n, w->line[slot][c]);
    }
    return slot;
}
static void pixels_row(Work *w, int64_t y, uint8_t *const out[3]) {
    const PicturePlan *plan = w->plan;
    const RowPair *rows = plan->resize[0].rows + y;
    const int64_t every_y = plan->spec.components == 1 ? 1 : plan->spec.component[1].every_y;
    const int once = !plan->resize[0].reuses && (!rows->below || rows->row[0] / every_y != rows->row[1] / every_y);
    const int a = color_slot(w, rows->row[0], once), b = rows->below ? color_slot(w, rows->row[1], once) : a;
    const int64_t first = plan->spec.x[0].begin; /* of the bytes whose means are taken */
    for (int c = 0; c < plan->spec.components; ++c)
        if (plan->resize[0].filter == ONE) {
            gather(w, &plan->pairs, w->bytes[a][c], w->second);
            memcpy(out[c], w->second, (size_t)plan->n);
        } else if (plan->resize[0].filter == MEAN) plan->loops->mean(w->bytes[a][c] + first, w->bytes[b][c] + first, plan->n, out[c]);
        else if (blends_pairs(plan, 0))
            plan->loops->blend_pairs(w->bytes[a][c], w->bytes[b][c], &plan->resize[0].weights, rows->above, rows->below, plan->n, out[c]);
        else plan->loops->blend(w->line[a][c], w->line[b][c], rows->above, rows->below, plan->n, out[c]);
}
static void means_row(Work *w, int64_t y, uint8_t *const out[3]) {
    const PicturePlan *plan = w->plan;
    const int32_t *row = plan->resize[0].rows[y].row;
    chroma(w, row[0], 0);
    const uint8_t *const luma[2] = {whole_row(w, row[0], w->samples[0]), whole_row(w, row[1], w->second)};
    plan->loops->color_mean(luma, w->samples[1], second_chroma(w), &plan->spec.color, plan->n, out);
}

/* Samples of one component in a source row; gray is converted first if pixels are. */
static void component_samples(Work *w, int k, int64_t row, int64_t n, uint8_t *out) {
    const PicturePlan *plan = w->plan;
    gather(w, plan->component + k, row_of(w, k, row), out);
    if (plan->spec.components == 1 && plan->spec.convert_first && plan->has_luma) plan->loops->luma(out, &plan->spec.color, n, out);
}
static int component_slot(Work *w, int k, int64_t row) {
    const PicturePlan *plan = w->plan;
    const Resize *resize = plan->resize + k;
    const int slot = (int)(row & 1);
    if (w->row[slot][k] == row) return slot;
    w->row[slot][k] = row;
    component_samples(w, k, row, 2 * plan->n, w->bytes[slot][k]);
    if (resize->filter == LINEAR && !blends_pairs(plan, k))
        plan->loops->line(w->bytes[slot][k], &resize->weights, plan->n, w->line[slot][k]);
    return slot;
}
static void component_row(Work *w, int k, int64_t y, uint8_t *out) {
    const PicturePlan *plan = w->plan;
    const Resize *resize = plan->resize + k;
    const RowPair *rows = resize->rows + y;
    if (resize->filter == ONE) {
        component_samples(w, k, rows->row[0], plan->n, w->second);
        memcpy(out, w->second, (size_t)plan->n);
        return;
    }
    if (resize->filter == DOWN) {
        const uint8_t *const a = stored_samples(w, k, rows->row[0], w->bytes[0][k]);
        plan->loops->mean_rows(a, stored_samples(w, k, rows->row[1], w->bytes[1][k]), plan->n, out);
        return;
    }
    const int a = component_slot(w, k, rows->row[0]), b = rows->below ? component_slot(w, k, rows->row[1]) : a;
    if (resize->filter == MEAN) plan->loops->mean(w->bytes[a][k], w->bytes[b][k], plan->n, out);
    else if (blends_pairs(plan, k))
        plan->loops->blend_pairs(w->bytes[a][k], w->bytes[b][k], &resize->weights, rows->above, rows->below, plan->n, out);
    else plan->loops->blend(w->line[a][k], w->line[b][k], rows->above, rows->below, plan->n, out);
}
static void planes_row(Work *w, int64_t y, uint8_t *const out[3]) {
    const PicturePlan *plan = w->plan;
    const PictureSpec *spec = &plan->spec;
    if (spec->components == 1) {
        const int last = !spec->convert_first && plan->has_luma;
        component_row(w, 0, y, last ? w->samples[0] : out[0]);
        if (last) plan->loops->luma(w->samples[0], &spec->color, plan->n, out[0]);
        return;
    }
    component_row(w, 0, y, w->samples[0]);
    if (plan->together) gather(w, plan->component + 1, row_of(w, 1, plan->resize[1].rows[y].row[0]), w->samples[1]);
    else
        for (int k = 1; k < 3; ++k) component_row(w, k, y, w->samples[k]);
    plan->loops->color_once(w->samples[0], w->samples[1], second_chroma(w), &spec->color, plan->n, out);
}

/* Pairs out of two planes. */
static void joined_row(Work *w, int64_t y, uint8_t *out) {
    const PicturePlan *plan = w->plan;
    const RowPair *rows = plan->resize[0].rows + y;
    const uint8_t *both[2];
    for (int k = 0; k < 2; ++k) {
        both[k] = w->samples[k];
        if (plan->resize[0].filter == ONE) both[k] = stored_samples(w, k, rows->row[0], w->samples[k]);
        else component_row(w, k, y, w->samples[k]);
    }
    plan->loops->join_bytes(both[0], both[1], plan->n, out);
}

/* A source row of packed pixels, or the two pixels that each result needs, as neighbours. */
static const uint8_t *packed_source(Work *w, int64_t row, int slot) {
    const PicturePlan *plan = w->plan;
    const uint8_t *from = w->planes[0].first + row * w->planes[0].pitch;
    if (!plan->near) return from;
    const int taps = one_column(plan->resize[0].filter) ? 1 : 2;
    const int64_t bytes = taps * plan->pixel, n = plan->spec.x[0].to;
    uint8_t *to = w->samples[slot];
    int64_t i = 0;
    for (; i < plan->near_safe; ++i) memcpy(to + i * bytes, from + plan->near[i], 8);
    for (; i < n; ++i) memcpy(to + i * bytes, from + plan->near[i], (size_t)bytes);
    return to;
}
static const PackedLoops *packed_loops(const PicturePlan *plan) {
    return plan->pairs.kind >= WIDE_64 ? &plan->loops->packed_wide : &plan->loops->packed;
}
/* Without loops for its gather: by way of a buffer. */
static const uint8_t *packed_pairs(Work *w, int64_t row, int slot) {
    const PicturePlan *plan = w->plan;
    const uint8_t *const from = packed_source(w, row, slot);
    if (plan->near && plan->pairs.kind == COPY) return from + plan->pairs.at[0]; /* on the bench, with room behind it */
    gather(w, &plan->pairs, from, w->bytes[slot][0]);
    return w->bytes[slot][0];
}
/* The same of one pixel for each result, without room behind them. */
static const uint8_t *packed_points(Work *w, int64_t row, int slot) {
    const Gather *g = &w->plan->pairs;
    return g->kind == COPY ? packed_source(w, row, slot) + g->at[0] : packed_pairs(w, row, slot);
}
static const int16_t *packed_line(Work *w, int64_t row) {
    const PicturePlan *plan = w->plan;
    const int slot = (int)(row & 1), by_kind = plan->pairs.kind >= WINDOWS_1 && packed_loops(plan)->line;
    if (w->row[slot][0] == row) return w->line[slot][0];
    w->row[slot][0] = row;
    if (by_kind)
        packed_loops(plan)->line(packed_source(w, row, slot), &plan->pairs, &plan->resize[0].weights, plan->n, w->line[slot][0]);
    else plan->loops->line(packed_pairs(w, row, slot), &plan->resize[0].weights, plan->n, w->line[slot][0]);
    return w->line[slot][0];
}
static void packed_boxes(Work *w, int64_t row, uint8_t *out) {
    const PicturePlan *plan = w->plan;
    uint16_t *const sums = (uint16_t *)w->line[0][0], *const more = (uint16_t *)w->line[0][1];
    uint16_t *const all = (uint16_t *)w->line[0][2];
    const uint8_t *from = w->planes[0].first + row * w->planes[0].pitch;
    for (int64_t k = 0; k < plan->box_h; ++k)
        plan->loops->box_rows(from + k * w->planes[0].pitch, plan->spec.width * plan->pixel, k == 0, sums);
    if (plan->pairs.kind == EACH) { /* no windows: the sums of a box at each place, of which the results' are picked */
        const int64_t words = plan->spec.width * plan->pixel;
        memcpy(more, sums, (size_t)words * sizeof *sums);
        for (int64_t k = 1; k < plan->box_w; ++k) plan->loops->box_words(sums + k * plan->pixel, words - k * plan->pixel, more);
        for (int64_t i = 0; i < plan->n; ++i) all[i] = more[plan->pairs.at[2 * i] / 2];
    }
    for (int64_t k = 0; k < plan->box_w && plan->pairs.kind != EACH; ++k) {
        gather(w, &plan->pairs, (const uint8_t *)(sums + k * plan->pixel), (uint8_t *)(k ? more : all));
        if (k) plan->loops->box_words(more, plan->n, all);
    }
    plan->loops->box_mean(all, 1.f / (float)(plan->box_w * plan->box_h), plan->n, out);
}
static void packed_row(Work *w, int64_t y, uint8_t *out) {
    const PicturePlan *plan = w->plan;
    Fetch next;
    next_rows(plan, w->planes, y, &next);
    const Resize *resize = plan->resize;
    const RowPair *pair = resize->rows + y;
    if (resize->filter == BOX) {
        fetch(&next);
        packed_boxes(w, pair->row[0], out);
        return;
    }
    const PackedLoops *loops = packed_loops(plan);
    const int by_kind = plan->pairs.kind >= WINDOWS_1 && loops->rows;
    const int by_lines = resize->filter == LINEAR && plan->pairs.kind != LOADS_8 && (resize->reuses || !by_kind);
    const int meanwhile = plan->pairs.kind == LOADS_8 || (by_kind && !by_lines && resize->filter != ONE);
    if (!meanwhile || plan->near) fetch(&next);
    if (resize->filter == ONE) {
        if (by_kind) loops->points(packed_source(w, pair->row[0], 0), &plan->pairs, plan->n, out);
        else memcpy(out, packed_points(w, pair->row[0], 0), (size_t)plan->n);
        return;
    }
    if (resize->filter == DOWN && !by_kind) {
        const uint8_t *const a = packed_points(w, pair->row[0], 0);
        plan->loops->mean_rows(a, packed_points(w, pair->row[1], 1), plan->n, out);
        return;
    }
    if (by_lines) {
        const int16_t *a = packed_line(w, pair->row[0]), *b = pair->below ? packed_line(w, pair->row[1]) : a;
        plan->loops->blend(a, b, pair->above, pair->below, plan->n, out);
        return;
    }
    const int two = pair->below != 0;
    const Fetch none = {.rows = 0};
    const uint8_t *fetched[2];
    if (plan->pairs.kind == LOADS_8) {
        const uint8_t *const rows[2] = {packed_source(w, pair->row[0], 0), packed_source(w, pair->row[1], 1)};
        fetch_along(plan->near ? &none : &next, rows, fetched);
        plan->loops->packed_far(rows, fetched, &plan->pairs, &resize->weights, pair->above, pair->below, plan->spec.x[0].to,
                                plan->spec.components, out);
        return;
    }
    if (!by_kind) {
        plan->loops->mean(packed_pairs(w, pair->row[0], 0), packed_pairs(w, pair->row[1], 1), plan->n, out);
        return;
    }
    const uint8_t *const rows[2] = {packed_source(w, pair->row[0], 0), two ? packed_source(w, pair->row[1], 1) : NULL};
    fetch_along(plan->near ? &none : &next, rows, fetched);
    if (resize->filter == DOWN) loops->halves(rows, fetched, &plan->pairs, plan->n, out);
    else if (resize->filter == MEAN) loops->means(rows, fetched, &plan->pairs, plan->n, out);
    else loops->rows(rows, fetched, &plan->pairs, &resize->weights, pair->above, pair->below, plan->n, out);
}

/* How many rows from y on are one piece of memory, as they are, in the plane and in the result; 0: no one. */
static int64_t rows_alike(const PicturePlan *plan, const PicturePlane *plane, int64_t y, int64_t to, int64_t row_pitch) {
    const RowPair *rows = plan->resize[0].rows;
    int64_t n = 0;
    if (plan->way != PACKED_PIXELS || plan->resize[0].filter != ONE || plan->pairs.kind != COPY || plan->near) return 0;
    if (plane->pitch != plan->n || row_pitch != plan->n) return 0;
    while (y + n < to && rows[y + n].row[0] == rows[y].row[0] + n) ++n;
    return n;
}

void picture_rows(const PicturePlan *plan, const PicturePlane planes[3], int64_t from, int64_t to, uint8_t *out, int64_t row_pitch,
              int64_t channel_pitch, uint8_t *bench) {
    const PictureSpec *spec = &plan->spec;
    Work w;
    work_on(&w, plan, planes, bench);
    for (int64_t y = from; y < to; ++y, out += row_pitch) {
        const int64_t alike = rows_alike(plan, planes, y, to, row_pitch);
        uint8_t *rgb[3];
        if (alike > 1) {
            memcpy(out, planes[0].first + plan->resize[0].rows[y].row[0] * planes[0].pitch + plan->pairs.at[0], (size_t)(alike * plan->n));
            y += alike - 1, out += (alike - 1) * row_pitch;
            continue;
        }
        fetch_components(plan, planes, y);
        for (int c = 0; c < 3; ++c) rgb[c] = out + (spec->components == 1 ? 0 : spec->channel[c]) * channel_pitch;
        switch (plan->way) {
            case POINTS:
            case SHARED: convert(&w, plan->resize[0].rows[y].row[0], plan->n, 1, rgb); break;
            case MEANS: means_row(&w, y, rgb); break;
            case ROWS:
            case PAIRS: pixels_row(&w, y, rgb); break;
            case PLANES: planes_row(&w, y, rgb); break;
            case PACKED_PIXELS: packed_row(&w, y, out); break;
            case JOINED: joined_row(&w, y, out); break;
        }
        if (spec->channels == 4 && !spec->packed) memset(out + 3 * channel_pitch, 255, (size_t)plan->n);
    }
}

void picture_flip(const PicturePlan *plan, uint8_t *bytes, int64_t n) { plan->loops->flip(bytes, n); }
