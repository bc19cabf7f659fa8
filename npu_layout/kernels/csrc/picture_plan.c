/* Choose how the rows of a picture are made, and compute the tables of positions and weights. */
#include "picture_plan.h"

#include <stdlib.h>

/* Up to this horizontal scale whole rows are converted, because pixels that share chroma need half the work. */
enum { WHOLE_ROWS_BELOW = 2 };

static void *allocate(PicturePlan *plan, int64_t bytes) {
    void *memory = plan->owned < (int)(sizeof plan->memory / sizeof *plan->memory) ? calloc(1, (size_t)(bytes + PADDING)) : NULL;
    if (memory) plan->memory[plan->owned++] = memory;
    return memory;
}
void picture_free(PicturePlan *plan) {
    if (!plan) return;
    for (int i = 0; i < plan->owned; ++i) free(plan->memory[i]);
    free(plan);
}

/* Windows of `size` bytes inside a row of `extent`, each for the same number of `block` bytes; false if they do not cover them. */
static int fill_windows(Gather *g, const int32_t *at, int64_t n, int64_t extent, int block, int count, int size) {
    const int piece = block / count;
    if (extent < size) return 0;
    for (int64_t i = 0, w = 0; i < (n + 63) / 64 * 64; i += piece, ++w) {
        int64_t least = at[at_most(i, n - 1)], most = least;
        for (int64_t k = i; k < i + piece; ++k) {
            const int64_t x = at[at_most(k, n - 1)];
            if (x < least) least = x;
            if (x > most) most = x;
        }
        if (least > extent - size) least = extent - size;
        if (most - least >= size) return 0;
        g->at[w] = (int32_t)least;
        const int64_t before = size < 16 ? i % 16 : 0; /* of windows that are put together before they are shuffled */
        for (int64_t k = i; k < i + piece; ++k) g->order[k] = (uint8_t)(at[at_most(k, n - 1)] - least + before);
    }
    return 1;
}

/* Gather n bytes from these positions in a row of `extent` bytes, by the best kind that the loops have. */
static int make_gather(PicturePlan *plan, Gather *g, const int32_t *at, int64_t n, int64_t extent, int wide) {
    static const struct {
        GatherKind kind;
        int block, count, size;
    } kinds[] = {{WIDE_64, 64, 1, 64},     {WIDE_128, 64, 1, 128},    {WIDE_256, 64, 2, 128},
                 {WINDOWS_1, 16, 1, 16}, {WINDOWS_2, 16, 2, 16}, {WINDOWS_4, 16, 4, 16}, {LOADS_2, 16, 8, 2}};
    const int64_t room = (n + 63) / 64 * 64;
    g->bytes = n;
    if (!(g->at = allocate(plan, room * (int64_t)sizeof *g->at)) || !(g->order = allocate(plan, room))) return 0;
    int neighbours = 1;
    for (int64_t i = 0; i < n; ++i) neighbours &= at[i] == at[0] + i;
    g->kind = neighbours ? COPY : EACH;
    if (neighbours) {
        g->at[0] = at[0];
        return 1;
    }
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
        if (kinds[k].kind >= WIDE_64 ? !wide || !plan->loops->gather_wide : !plan->loops->windows) continue;
        if (!fill_windows(g, at, n, extent, kinds[k].block, kinds[k].count, kinds[k].size)) continue;
        g->kind = kinds[k].kind;
        return 1;
    }
    for (int64_t i = 0; i < n; ++i) g->at[i] = at[i];
    return 1;
}

static int single(const PictureAxis *axis) { /* whether each result is one source element */
    for (int64_t i = 0; axis->weights && i < axis->to; ++i)
        if (axis->weights[2 * i] && axis->weights[2 * i + 1]) return 0;
    return 1;
}
static int64_t inside(int64_t i, const PictureAxis *axis) {
    return i < axis->begin ? axis->begin : i < axis->end ? i : axis->end - 1;
}
/* Source element `tap` (0 or 1) of a result; the same one twice where the second one has no weight. */
static int64_t element_at(const PictureAxis *axis, int64_t i, int tap) {
    const int only = !axis->weights ? 0 : !axis->weights[2 * i + 1] ? 0 : !axis->weights[2 * i] ? 1 : tap;
    return inside(axis->first[i] + only, axis);
}

/* Whether each result is the mean of two elements of equal weights. */
static int halves(const PictureAxis *axis) {
    int found = axis->weights != NULL;
    for (int64_t i = 0; found && i < 2 * axis->to; ++i) found = axis->weights[i] == 1024;
    return found;
}

static int make_scale(PicturePlan *plan, Resize *resize, const PictureAxis *x, const PictureAxis *y, int mean) {
    resize->filter = mean ? mean == 2 ? BOX : MEAN : single(x) && single(y) ? ONE : LINEAR;
    if (!mean && plan->spec.packed && single(x) && halves(y)) resize->filter = DOWN;
    if (!(resize->rows = allocate(plan, y->to * (int64_t)sizeof *resize->rows))) return 0;
    for (int64_t i = 0; i < y->to; ++i) {
        RowPair *pair = resize->rows + i;
        if (mean == 2) {
            *pair = (RowPair){{(int32_t)(i * (y->from / y->to)), 0}, 1, 0};
            continue;
        }
        if (mean) {
            *pair = (RowPair){{(int32_t)(y->begin + 2 * i), (int32_t)(y->begin + 2 * i + 1)}, 1, 1};
            continue;
        }
        const uint16_t above = y->weights ? y->weights[2 * i] : 2048, below = y->weights ? y->weights[2 * i + 1] : 0;
        pair->row[0] = (int32_t)element_at(y, i, 0), pair->row[1] = (int32_t)element_at(y, i, 1);
        pair->above = above && below ? above : (uint16_t)(above + below), pair->below = above ? below : 0;
    }
    if (resize->filter != LINEAR) return 1;
    resize->reuses = 2 * y->from < 3 * y->to;
    Weights *w = &resize->weights;
    if (!(w->whole = allocate(plan, 4 * x->to)) || !(w->high = allocate(plan, 2 * x->to)) || !(w->low = allocate(plan, 2 * x->to)))
        return 0;
    for (int64_t i = 0; i < 2 * x->to; ++i) {
        const int weight = x->weights ? x->weights[i] : 2048 * (i % 2 == 0);
        w->whole[i] = (int16_t)weight;
        w->high[i] = (int8_t)(weight == 2048 ? 127 : weight >> 4), w->low[i] = (int8_t)(weight - 16 * w->high[i]);
    }
    return 1;
}

/* The weights of each channel of packed pixels. */
static int packed_weights(PicturePlan *plan) {
    const int64_t channels = plan->spec.components, n = plan->spec.x[0].to;
    Weights *w = &plan->resize[0].weights, all;
    if (plan->resize[0].filter != LINEAR) return 1;
    const int64_t bytes = 2 * channels * n;
    if (!(all.whole = allocate(plan, 2 * bytes))) return 0;
    if (!(all.high = allocate(plan, bytes)) || !(all.low = allocate(plan, bytes))) return 0;
    for (int64_t i = 0; i < bytes; ++i) {
        const int64_t from = i / 2 / channels * 2 + i % 2;
        all.whole[i] = w->whole[from], all.high[i] = w->high[from], all.low[i] = w->low[from];
    }
    *w = all;
    return 1;
}

/* The columns that a row needs: each one or, for a mean and for two weights, pairs of neighbours. */
static int64_t columns_of(const PictureAxis *x, Filter filter, int32_t *at) {
    int64_t n = 0;
    for (int64_t i = 0; i < x->to; ++i)
        if (one_column(filter)) at[n++] = (int32_t)element_at(x, i, 0);
        else
            for (int tap = 0; tap < 2; ++tap)
                at[n++] = (int32_t)(filter == MEAN ? x->begin + 2 * i + tap : inside(x->first[i] + tap, x));
    return n;
}

/* Gather the samples of a component at `n` columns of pixels, or pairs of both components of chroma. */
static int make_component(PicturePlan *plan, int k, const int32_t *columns, int64_t n, int64_t every, int wide) {
    const PictureSpec *spec = &plan->spec;
    const PictureComponent *c = spec->component + k;
    const int count = k && plan->together ? 2 : 1;
    const int64_t first = count == 2 ? at_most(c[0].start, c[1].start) : c->start;
    const int64_t samples = (spec->width + c->every_x - 1) / c->every_x;
    int64_t extent = 0;
    int32_t *at = malloc((size_t)(count * n) * sizeof *at);
    if (!at) return 0;
    for (int j = 0; j < count; ++j) {
        const int64_t start = c[j].start - first, end = start + (samples - 1) * c->step + 1;
        for (int64_t i = 0; i < n; ++i) at[count * i + j] = (int32_t)(start + columns[i] / every * c->step);
        if (end > extent) extent = end;
    }
    plan->start[k] = first;
    const int made = make_gather(plan, plan->component + k, at, count * n, extent, wide);
    free(at);
    return made;
}

static Way way_of(const PicturePlan *plan) {
    const PictureSpec *spec = &plan->spec;
    if (spec->packed) return picture_joins(spec) ? JOINED : PACKED_PIXELS;
    if (spec->source != COMPONENTS) return ROWS;
    const int halves = spec->component[1].every_x == 2 && spec->component[2].every_x == 2;
    const Filter filter = plan->resize[0].filter;
    if (spec->components == 1 || !spec->convert_first) return PLANES;
    const int64_t begin = spec->x[0].begin;
    if (filter == MEAN && halves && spec->component[1].every_y == 2 && !begin && spec->y[0].begin % 2 == 0) return MEANS;
    if (filter == ONE) {
        int same = 1;
        for (int64_t i = 0; same && i < spec->x[0].to; ++i) same = element_at(spec->x, i, 0) == begin + i;
        return !same || !halves ? POINTS : begin ? ROWS : SHARED;
    }
    return filter == MEAN || spec->x[0].end - begin < WHOLE_ROWS_BELOW * spec->x[0].to ? ROWS : PAIRS;
}

/* Of the pixels that a result needs, the first one: one before the last if both are the last one. */
static int64_t near_column(const PictureSpec *spec, const int32_t *columns, int taps) {
    return at_most(columns[0], spec->width - taps);
}

/* Whether each result comes out of its own load of 8 bytes, and the tables for that. */
static int make_far(PicturePlan *plan, const int32_t *columns) {
    const PictureSpec *spec = &plan->spec;
    const int64_t channels = spec->components, step = spec->component[0].step, n = spec->x[0].to, extent = spec->width * step;
    Gather *g = &plan->pairs;
    const Weights *from = &plan->resize[0].weights;
    Weights all;
    if (!plan->loops->packed_far || channels < 3 || extent < 8 || spec->width < 2) return 0;
    g->kind = LOADS_8, g->bytes = 8 * n;
    if (!(g->at = allocate(plan, (n + 16) * 4)) || !(g->order = allocate(plan, 8 * n)) || !(all.whole = allocate(plan, 16 * n)) ||
        !(all.high = allocate(plan, 8 * n)) || !(all.low = allocate(plan, 8 * n)))
        return -1;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t first = columns[2 * i] * step, next = (columns[2 * i + 1] - columns[2 * i]) * step;
        const int64_t at = at_most(first, extent - 8);
        g->at[i] = (int32_t)at;
        for (int64_t c = 0; c < channels; ++c)
            for (int t = 0; t < 2; ++t) {
                const int64_t k = 8 * i + 2 * c + t;
                g->order[k] = (uint8_t)(first - at + t * next + spec->component[c].start + 8 * (i % 2));
                all.whole[k] = from->whole[2 * i + t], all.high[k] = from->high[2 * i + t], all.low[k] = from->low[2 * i + t];
            }
    }
    plan->resize[0].weights = all;
    return 1;
}

/* Positions of the first sums of each box, two bytes each; those that follow are so many bytes further. */
static int make_boxes(PicturePlan *plan, int wide) {
    const PictureSpec *spec = &plan->spec;
    const int64_t channels = spec->components, step = spec->component[0].step, n = spec->x[0].to;
    int32_t *at = malloc((size_t)(2 * n * channels) * sizeof *at);
    plan->box_w = spec->x[0].from / n, plan->box_h = spec->y[0].from / spec->y[0].to, plan->pixel = step;
    for (int64_t i = 0; at && i < 2 * n * channels; ++i)
        at[i] = (int32_t)(2 * (i / 2 / channels * plan->box_w * step + spec->component[i / 2 % channels].start) + i % 2);
    const int made = at && make_gather(plan, &plan->pairs, at, 2 * n * channels, 2 * spec->width * step, wide);
    free(at);
    return made;
}

/* Positions of each channel of each result, one or a pair; `columns` has room for those of pixels. If no windows reach so far, the
 * two pixels that each result needs come to neighbours first. */
static int make_packed(PicturePlan *plan, int wide, int32_t *columns) {
    const PictureSpec *spec = &plan->spec;
    if (plan->resize[0].filter == BOX) return make_boxes(plan, wide);
    const int taps = one_column(plan->resize[0].filter) ? 1 : 2;
    const int64_t channels = spec->components, n = columns_of(spec->x, plan->resize[0].filter, columns) / taps;
    const int64_t step = spec->component[0].step, extent = spec->width * step;
    int32_t *at = malloc((size_t)(n * channels * taps) * sizeof *at);
    int made = !!at;
    plan->pixel = step;
    for (int pass = 0; made && pass < 2; ++pass) {
        for (int64_t i = 0; i < n; ++i)
            for (int64_t c = 0; c < channels; ++c)
                for (int t = 0; t < taps; ++t)
                    at[(i * channels + c) * taps + t] =
                        (int32_t)((pass ? i * taps + columns[i * taps + t] - near_column(spec, columns + i * taps, taps)
                                        : columns[i * taps + t]) * step + spec->component[c].start);
        made = make_gather(plan, &plan->pairs, at, n * channels * taps, pass ? n * taps * step : extent, wide);
        if (plan->pairs.kind != EACH || pass || !made || spec->width < 2 || !plan->loops->windows) break;
        const int far = plan->resize[0].filter == LINEAR && !plan->resize[0].reuses ? make_far(plan, columns) : 0;
        if (far) {
            free(at);
            return far > 0;
        }
        if (!(plan->near = allocate(plan, n * (int64_t)sizeof *plan->near))) made = 0;
        for (int64_t i = 0; made && i < n; ++i) {
            plan->near[i] = (int32_t)(near_column(spec, columns + i * taps, taps) * step);
            if (plan->near_safe == i && plan->near[i] + 8 <= extent) plan->near_safe = i + 1;
        }
    }
    free(at);
    return made && packed_weights(plan);
}

/* Whether U and V are neighbours in one plane, at the same pixels. */
static int neighbours(const PictureSpec *spec) {
    const PictureComponent *u = spec->component + 1, *v = spec->component + 2;
    return spec->components == 3 && u->plane == v->plane && u->step == v->step &&
           u->every_x == v->every_x && u->every_y == v->every_y &&
           magnitude(u->start - v->start) < u->step;
}

/* Gather the pixels of a mosaic's row; `at` has room for them. */
static int make_ungrouped(PicturePlan *plan, int wide, int32_t *at) {
    const PictureSpec *spec = &plan->spec;
    for (int64_t x = 0; x < spec->width; ++x) at[x] = (int32_t)grouped_at(x, spec->group_pixels, spec->group_bytes);
    return make_gather(plan, plan->component, at, spec->width, at[spec->width - 1] + 1, wide);
}

static int make_tables(PicturePlan *plan, int wide, int32_t *columns, int32_t *every) {
    const PictureSpec *spec = &plan->spec;
    const Filter filter = plan->resize[0].filter;
    if (plan->way == PACKED_PIXELS) return make_packed(plan, wide, columns);
    if (plan->way == PLANES || plan->way == JOINED) {
        plan->together = neighbours(spec) && plan->resize[1].filter == ONE;
        for (int k = 0; k < (plan->together ? 2 : spec->components); ++k) {
            const int64_t n = columns_of(spec->x + (plan->way == JOINED ? 0 : k), plan->resize[k].filter, columns);
            if (!make_component(plan, k, columns, n, 1, wide)) return 0;
        }
        return 1;
    }
    if (plan->grouped && !make_ungrouped(plan, wide, columns)) return 0;
    if (spec->source != COMPONENTS)
        return filter == MEAN || make_gather(plan, &plan->pairs, columns, columns_of(spec->x, filter, columns), spec->width, wide);
    const int whole = plan->way == ROWS || plan->way == MEANS || plan->way == SHARED;
    const int64_t n = whole ? spec->width : columns_of(spec->x, filter, columns);
    if (whole) memcpy(columns, every, (size_t)n * sizeof *columns);
    plan->together = neighbours(spec);
    if (!make_component(plan, 0, columns, n, 1, wide)) return 0;
    plan->shared = (whole || plan->way == PAIRS) && spec->component[1].every_x == 2 && spec->component[2].every_x == 2;
    for (int64_t i = 0; i < n; i += 2) plan->shared &= columns[i] % 2 == 0;
    plan->samples = plan->shared ? (n + 1) / 2 : n;
    for (int64_t i = 0; plan->shared && i < plan->samples; ++i) columns[i] = columns[2 * i];
    for (int k = 1; k < (plan->together ? 2 : 3); ++k)
        if (!make_component(plan, k, columns, plan->samples, spec->component[k].every_x, wide)) return 0;
    if (plan->way != ROWS || filter == MEAN) return 1;
    return make_gather(plan, &plan->pairs, columns, columns_of(spec->x, filter, columns), spec->width, wide);
}

/* Which rows of components are prefetched. */
static void fill_fetched(PicturePlan *plan) {
    const PictureSpec *spec = &plan->spec;
    const int apart = !spec->packed || picture_joins(spec);
    const int64_t row = spec->width * spec->component[0].step;
    plan->ahead = row < MEANWHILE ? (MEANWHILE + row - 1) / row : 1;
    for (int k = 0; apart && !plan->tiled && spec->source == COMPONENTS && k < spec->components; ++k) {
        const PictureComponent *c = spec->component + k;
        const int64_t bytes = spec->width / c->every_x * c->step;
        if (bytes >= FETCHED && !(k && c->plane == c[-1].plane)) plan->fetched[k] = bytes;
    }
}

PicturePlan *picture_make(const PictureLoops *loops, int wide, const PictureSpec *spec) {
    PicturePlan *plan = calloc(1, sizeof *plan);
    if (!plan) return NULL;
    plan->spec = *spec, plan->loops = loops;
    plan->n = spec->x[0].to * (spec->packed && !picture_joins(spec) ? spec->components : 1);
    plan->samples = plan->n;
    plan->grouped = spec->source == MOSAIC && spec->group_bytes != spec->group_pixels;
    plan->has_luma = spec->color.luma != 1 << 20 || spec->color.offset;
    int made = 1;
    for (int k = 0; made && k < (spec->packed || spec->convert_first ? 1 : spec->components); ++k)
        made = make_scale(plan, plan->resize + k, spec->x + k, spec->y + k, spec->mean[k]);
    if (picture_joins(spec)) plan->resize[1] = plan->resize[0];
    const int64_t step = spec->component[0].step, pixel = !spec->packed ? 1 : step > spec->components ? step : spec->components;
    const int64_t needed = 2 * spec->x[0].to * pixel;
    const int64_t row = spec->width * (spec->mean[0] == 2 ? step : 1);
    int64_t most = row > needed ? row : needed;
    for (int k = 0; k < spec->components; ++k) {
        const PlaneTiles *tile = spec->tile + spec->component[k].plane;
        plan->tiled |= tile->bytes > 0;
        if (tile->bytes && plane_bytes(spec, k) + tile->bytes > most) most = plane_bytes(spec, k) + tile->bytes;
    }
    plan->reach = (most + PADDING + 63) / 64 * 64;
    fill_fetched(plan);
    int32_t *columns = malloc((size_t)most * 2 * sizeof *columns);
    for (int64_t i = 0; columns && i < most; ++i) columns[most + i] = (int32_t)i;
    if (made && columns) plan->way = way_of(plan);
    made = made && columns && make_tables(plan, wide, columns, columns + most);
    free(columns);
    for (int k = 0; k < 3; ++k) {
        PictureAxis *const axes[] = {plan->spec.x + k, plan->spec.y + k};
        for (int i = 0; i < 2; ++i) axes[i]->first = NULL, axes[i]->weights = NULL;
    }
    if (made) return plan;
    picture_free(plan);
    return NULL;
}
