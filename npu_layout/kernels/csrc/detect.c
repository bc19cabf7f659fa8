#include "detect.h"

#include <math.h>
#include <stdlib.h>

#include "shares.h"

/* The first of the hits of one cell with the largest value; `i` is at the first of them, and then at the last. */
static Hit best_of_hits(const Source *score, const Hits *hits, int64_t *i) {
    Hit best = hits->items[*i];
    float top = scaled_value(score, best.cell, best.channel, best.code);
    for (; *i + 1 < hits->count && hits->items[*i + 1].cell == best.cell; ++*i) {
        const Hit *hit = hits->items + *i + 1;
        const float real = scaled_value(score, hit->cell, hit->channel, hit->code);
        if (real > top) top = real, best = *hit;
    }
    return best;
}

/* The first channel of a cell that means what the best one does. Two codes of one scale may mean the same float32; if the next lower code
 * means less, no other channel means the same. */
static Hit first_that_means(const Source *score, const uint8_t *data, Hit best) {
    if (!score->scaling || !best.channel || best.code == INT32_MIN) return best;
    const float top = scaled_value(score, best.cell, best.channel, best.code);
    if (scaled_value(score, best.cell, best.channel, best.code - 1) < top) return best;
    const int64_t offset = cell_at(&score->map, best.cell);
    for (int32_t c = 0; c < best.channel; ++c) {
        const int32_t code = code_at(score, data, offset, c);
        if (scaled_value(score, best.cell, c, code) == top) return (Hit){best.cell, c, code};
    }
    return best;
}

/* The first channel with the largest value of one cell, whether or not each has a scale of its own. */
static Hit best_of_channels(const Level *level, const Source *score, const uint8_t *data, int64_t cell) {
    if (score->scaling != BY_CHANNEL) return first_that_means(score, data, best_of_cell(level, &score->map, data, cell));
    const int64_t offset = cell_at(&score->map, cell);
    Hit best = {(int32_t)cell, 0, code_at(score, data, offset, 0)};
    float top = scaled_value(score, cell, 0, best.code);
    for (int64_t c = 1; c < score->map.count; ++c) {
        const int32_t code = code_at(score, data, offset, c);
        const float real = scaled_value(score, cell, c, code);
        if (real > top) top = real, best.channel = (int32_t)c, best.code = code;
    }
    return best;
}

static int append(Workspace *work, Candidate candidate) {
    if (work->count == work->room) {
        const int64_t room = work->room ? 2 * work->room : 1024;
        Candidate *more = realloc(work->candidates, (size_t)room * sizeof *more);
        if (!more) return 0;
        work->candidates = more, work->room = room;
    }
    candidate.score += 0.0f; /* of -0.0, which has the code of 0.0: 0.0 */
    work->candidates[work->count++] = candidate;
    return 1;
}

enum { AHEAD = 2 }; /* candidates */

/* Fetch the lines of a part of a cell: of one whose channels are far apart there are many, and their latencies add up. */
static void fetch(const Source *source, const uint8_t *const *buffers, int64_t cell) {
    const FeatureMap *map = &source->map;
    const uint8_t *p = buffers[source->buffer] + cell_at(map, cell);
    const int64_t step = map->kind == BLOCKS ? map->block : map->kind == ROWS ? 64 / dtype_size[map->type] : 1;
    for (int64_t i = 0; i < map->count; i += step) __builtin_prefetch(p + map->channel[i]);
}

/* The class of a candidate whose cell has it as a number, of 64 bits two words; -1: it is none. */
static int32_t label_of(const Detector *d, const Source *label, const uint8_t *const *buffers, int64_t cell) {
    const double value = value_at(label, buffers[label->buffer], cell, 0);
    if (label->map.count == 2 && value_at(label, buffers[label->buffer], cell, 1) != 0) return -1;
    return value >= 0 && value < (double)d->classes && value == floor(value) ? (int32_t)value : -1;
}

/* Cells whose scores are shares of a softmax: only those are computed that can reach the threshold. A class has at most
 * e**(its value - the background's). */
static int shared_candidates(const Detector *d, int level, int a, const uint8_t *const *buffers, double confidence, Workspace *work) {
    const Anchor *anchor = d->each[level].each + a;
    const Source *score = &anchor->score, *background = &anchor->background;
    const int64_t cells = score->map.rows * score->map.columns;
    const int bounded = background->map.count && confidence > 0 && !score->powers;
    const double bound = bounded ? log(confidence) - 1e-6 : 0;
    for (int64_t cell = 0; cell < cells && (double)cell < work->filled; ++cell) {
        if (bounded) {
            const Hit best = best_of_channels(d->level, score, buffers[score->buffer], cell);
            const double value = source_value(score, cell, best.channel, best.code);
            if (!(value - value_at(background, buffers[background->buffer], cell, 0) >= bound)) continue;
        }
        const Shared found = shares_of_cell(d->level, anchor, buffers, cell, confidence, work);
        if (found == NO_ROOM) return 0;
        if (found == NONE_REACHES) continue;
        const double *shares = work->shares;
        const int64_t best = d->all_labels ? 0 : largest_share(anchor, shares), end = d->all_labels ? score->map.count : best + 1;
        for (int64_t c = best; c < end; ++c) {
            const double value = shares[share_at(anchor, c)];
            if (value >= confidence && !append(work, (Candidate){(float)value, (int32_t)c, (int32_t)cell, (int16_t)level, (int16_t)a})) return 0;
        }
    }
    return 1;
}

static int class_candidates(const Detector *d, int level, int a, const uint8_t *const *buffers, double confidence, Workspace *work) {
    const Anchor *anchor = d->each[level].each + a;
    const Source *score = &anchor->score;
    const uint8_t *data = buffers[score->buffer];
    const int each = score->scaling == BY_CHANNEL;
    const Source *label = &anchor->label;
    work->hits.count = 0;
    if (score->activation == SOFTMAX_OF) return shared_candidates(d, level, a, buffers, confidence, work);
    if (!(d->all_labels || each ? scan_all(d->level, &score->map, data, anchor->threshold, &work->hits)
                                       : scan_best(d->level, &score->map, data, anchor->threshold, &work->hits)))
        return 0;
    for (int64_t i = 0; i < work->hits.count; ++i) {
        Hit hit = each && !d->all_labels ? best_of_hits(score, &work->hits, &i) : work->hits.items[i];
        const double value = source_value(score, hit.cell, hit.channel, hit.code);
        if (!(value >= confidence && hit.cell < work->filled)) continue;
        if (!each && !d->all_labels) hit = first_that_means(score, data, hit);
        const int32_t class_id = label->map.count ? label_of(d, label, buffers, hit.cell) : hit.channel;
        if (class_id < 0) return work->unnumbered = 1, 0;
        if (!append(work, (Candidate){(float)value, class_id, hit.cell, (int16_t)level, (int16_t)a})) return 0;
    }
    return 1;
}

static int product_candidates(const Detector *d, int level, int a, const uint8_t *const *buffers, double confidence, Workspace *work) {
    const Anchor *anchor = d->each[level].each + a;
    const Source *score = &anchor->score;
    const uint8_t *data = buffers[score->buffer];
    const int shared = score->activation == SOFTMAX_OF;
    work->hits.count = 0;
    if (!scan_best(d->level, &anchor->objectness.map, buffers[anchor->objectness.buffer], anchor->threshold, &work->hits)) return 0;
    for (int64_t i = 0; i < work->hits.count; ++i) {
        const Hit hit = work->hits.items[i];
        const double object = source_value(&anchor->objectness, hit.cell, 0, hit.code);
        if (i + AHEAD < work->hits.count) fetch(score, buffers, work->hits.items[i + AHEAD].cell);
        if (!(hit.cell < work->filled) || object < 0) continue; /* the threshold is that of the largest scale */
        const double least = shared && object > 0 && confidence > 0 ? least_share(d->score, object, confidence) : 0;
        const Shared found = shared ? shares_of_cell(d->level, anchor, buffers, hit.cell, least, work) : SHARES;
        if (found == NO_ROOM) return 0;
        if (found == NONE_REACHES) continue;
        const double *shares = work->shares;
        const Hit best = shared ? (Hit){0, (int32_t)largest_share(anchor, shares), 0} : best_of_channels(d->level, score, data, hit.cell);
        const int64_t from = d->all_labels ? 0 : best.channel, to = d->all_labels ? score->map.count : best.channel + 1;
        const int64_t offset = cell_at(&score->map, hit.cell);
        for (int64_t c = from; c < to; ++c) {
            const double share = shared ? shares[share_at(anchor, c)]
                                        : source_value(score, hit.cell, c, d->all_labels ? code_at(score, data, offset, c) : best.code);
            const double value = combined(d->score, object, share);
            if (value >= confidence && !append(work, (Candidate){(float)value, (int32_t)c, hit.cell, (int16_t)level, (int16_t)a})) return 0;
        }
    }
    return 1;
}

/* Room for as many scores and candidates as there is for candidates; 0: there is no memory. */
static int sorting_room(Workspace *work) {
    if (work->count <= work->sorted) return 1;
    const size_t room = (size_t)work->room;
    float *scores = realloc(work->scores, room * sizeof *scores);
    if (!scores) return 0;
    work->scores = scores;
    uint32_t *order = realloc(work->order, 3 * room * sizeof *order);
    if (!order) return 0;
    work->order = order;
    Candidate *others = realloc(work->others, room * sizeof *others);
    if (!others) return 0;
    work->others = others, work->sorted = work->room;
    return 1;
}

/* Bring candidates that were found anchor by anchor into the order of cells; 0: there is no memory. */
static int order_by_cell(Workspace *work, int64_t from) {
    const int64_t n = work->count - from;
    if (n < 2) return 1;
    if (!sorting_room(work)) return 0;
    for (int64_t i = 0; i < n; ++i) work->scores[i] = -(float)work->candidates[from + i].cell;
    const uint32_t *order = order_of_scores(work->scores, n, work->order);
    for (int64_t i = 0; i < n; ++i) work->others[i] = work->candidates[from + order[i]];
    memcpy(work->candidates + from, work->others, (size_t)n * sizeof *work->others);
    return 1;
}

/* All candidates, in the order of levels, cells, anchors, classes. */
static int find_candidates(const Detector *d, const uint8_t *const *buffers, double confidence, Workspace *work) {
    work->count = 0;
    work->filled = d->filled.map.count ? value_at(&d->filled, buffers[d->filled.buffer], 0, 0) : INFINITY;
    for (int level = 0; level < d->levels; ++level) {
        const int64_t from = work->count;
        for (int a = 0; a < d->each[level].anchors; ++a)
            if (!(d->score == CLASS_ONLY ? class_candidates : product_candidates)(d, level, a, buffers, confidence, work)) return 0;
        if (d->each[level].anchors > 1 && !order_by_cell(work, from)) return 0;
    }
    return 1;
}

static uint32_t *sorted_candidates(Workspace *work) {
    if (!sorting_room(work)) return NULL;
    for (int64_t i = 0; i < work->count; ++i) work->scores[i] = work->candidates[i].score;
    return order_of_scores(work->scores, work->count, work->order);
}

/* Fetch the box of a candidate, its angle, the offset of its centre, and the scores above and below it, by which it is a peak. */
static void fetch_box(const Detector *d, const uint8_t *const *buffers, const Candidate *c) {
    const DetectLevel *level = d->each + c->level;
    const Anchor *anchor = level->each + c->anchor;
    const FeatureMap *map = &anchor->score.map;
    fetch(&anchor->box, buffers, c->cell);
    if (level->angle != UPRIGHT) fetch(&anchor->angle, buffers, c->cell);
    if (anchor->offset.map.count) fetch(&anchor->offset, buffers, c->cell);
    if (d->suppression != NEIGHBOURS) return;
    const int64_t width = level->columns, first = c->cell < width ? c->cell : c->cell - width;
    for (int64_t cell = first; cell <= c->cell + width && cell < map->rows * map->columns; cell += width)
        __builtin_prefetch(buffers[anchor->score.buffer] + cell_at(map, cell) + map->channel[c->class_id]);
}

/* Where a candidate is: its column and row, and its anchor's size; or its prior. */
static void cell_of(const DetectLevel *level, const Candidate *c, double at[4]) {
    if (level->priors) {
        memcpy(at, level->priors + 4 * ((int64_t)c->cell * level->anchors + c->anchor), 4 * sizeof *at);
        return;
    }
    at[0] = (double)(c->cell % level->columns), at[1] = (double)(c->cell / level->columns);
    at[2] = level->each[c->anchor].w, at[3] = level->each[c->anchor].h;
}

static void decode_points(const Detector *d, const uint8_t *const *buffers, const Candidate *c, float *points) {
    const DetectLevel *level = d->each + c->level;
    const Source *source = &level->each[c->anchor].points;
    const double *heats = level->each[c->anchor].heats;
    const uint8_t *data = buffers[source->buffer];
    const int64_t offset = cell_at(&source->map, c->cell);
    double at[4], v[2], place[2];
    cell_of(level, c, at);
    for (int64_t i = 0; i < d->points; i += level->point.values) {
        for (int k = 0; k < 2; ++k) v[k] = source_value(source, c->cell, i + k, code_at(source, data, offset, i + k));
        point_place(&level->point, &level->rule, v, at[0], at[1], at[2], at[3], place);
        points[i] = (float)place[0] + 0.0f, points[i + 1] = (float)place[1] + 0.0f;
        if (level->point.values < 3) continue;
        const int32_t code = code_at(source, data, offset, i + 2);
        const double value = heats ? heats[code - lowest_code(source->map.type)] : source_value(source, c->cell, i + 2, code);
        points[i + 2] = (float)(!heats && level->heat == SIGMOID_OF ? sigmoid_of(value) : value) + 0.0f;
    }
}

static void read_coefficients(const Detector *d, const uint8_t *const *buffers, const Candidate *c, double *values) {
    const Source *source = &d->each[c->level].each[c->anchor].coefficients;
    const uint8_t *data = buffers[source->buffer];
    const int64_t offset = cell_at(&source->map, c->cell);
    for (int64_t i = 0; i < d->coefficients; ++i) values[i] = source_value(source, c->cell, i, code_at(source, data, offset, i));
}

static void decode_box(const Detector *d, const uint8_t *const *buffers, const Candidate *c, double edges[4]) {
    const DetectLevel *level = d->each + c->level;
    const Anchor *anchor = level->each + c->anchor;
    const Source *box = &anchor->box, *offset = &anchor->offset;
    const uint8_t *data = buffers[box->buffer];
    const int center = box->map.count == 2 ? 2 : 0; /* numbers before those of `box` */
    double v[4], at[4];
    if (level->rule.encoding == DFL)
        mean_bins(d->level, box, data, c->cell, level->rule.bins, v);
    else {
        for (int i = 0; i < center; ++i) v[i] = offset->map.count ? value_at(offset, buffers[offset->buffer], c->cell, i) : level->rule.center;
        for (int i = center; i < 4; ++i) v[i] = value_at(box, data, c->cell, i - center);
    }
    cell_of(level, c, at);
    box_edges(&level->rule, v, at[0], at[1], at[2], at[3], edges);
}

/* Whether no neighbour of the eight has a larger score of the same class; NaN is larger than all. */
static int is_peak(const Detector *d, const uint8_t *const *buffers, const Candidate *c) {
    const DetectLevel *level = d->each + c->level;
    const Source *score = &level->each[c->anchor].score;
    const uint8_t *data = buffers[score->buffer];
    const int32_t rows = (int32_t)(score->map.rows * score->map.columns / level->columns), columns = (int32_t)level->columns;
    const int32_t y = c->cell / columns, x = c->cell % columns, own = code_at(score, data, cell_at(&score->map, c->cell), c->class_id);
    for (int32_t v = y ? y - 1 : 0; v <= y + 1 && v < rows; ++v)
        for (int32_t u = x ? x - 1 : 0; u <= x + 1 && u < columns; ++u) {
            const int64_t cell = (int64_t)v * columns + u;
            const int32_t code = code_at(score, data, cell_at(&score->map, cell), c->class_id);
            if (score->scaling != ONE_SCALE) {
                if (scaled_value(score, cell, c->class_id, code) > scaled_value(score, c->cell, c->class_id, own)) return 0;
            } else if (code > own)
                return 0;
        }
    return 1;
}

/* Turn a box of which the edges are known; then they are those around it. */
static void turn(const Detector *d, const uint8_t *const *buffers, const Candidate *c, double edges[4], float xywha[5]) {
    const DetectLevel *level = d->each + c->level;
    const Source *source = &level->each[c->anchor].angle;
    const double value = value_at(source, buffers[source->buffer], c->cell, 0);
    double x = (edges[0] + edges[2]) / 2.0, y = (edges[1] + edges[3]) / 2.0, box[5], upright[4];
    if (level->rule.encoding == DFL || level->rule.encoding == DISTANCES) {
        x = ((double)(c->cell % level->columns) + level->rule.center) * level->rule.stride;
        y = ((double)(c->cell / level->columns) + level->rule.center) * level->rule.stride;
    }
    memcpy(upright, edges, sizeof upright);
    turn_box(upright, level->angle == SHIFTED ? (value - 0.25) * 3.141592653589793 : value, x, y, box, edges);
    for (int i = 0; i < 5; ++i) xywha[i] = (float)box[i] + 0.0f;
}

/* What suppression compares by. */
typedef struct {
    NmsRule greedy;
    TurnedRule turned;
} Rules;

/* 1: a candidate stays, 0: it goes, -1: there is no memory. */
static int stays(const Detector *d, const Rules *rules, Workspace *work, const Candidate *c, const float box[4], const float xywha[5]) {
    const int64_t class_id = d->per_class ? c->class_id : 0;
    if (d->suppression == GREEDY) return kept_add(d->level, &work->kept, &rules->greedy, class_id, box);
    if (d->suppression != PROBIOU) return 1;
    const Gaussian shape = gaussian_of(xywha);
    return turned_add(&work->turned, &rules->turned, class_id, &shape);
}

int64_t detect_run(const Detector *d, const uint8_t *const *buffers, const Thresholds *t, Workspace *work, const DetectionArrays *out) {
    work->unnumbered = 0;
    if (!find_candidates(d, buffers, t->confidence, work)) return work->unnumbered ? NO_CLASS : NO_MEMORY;
    const uint32_t *order = work->count ? sorted_candidates(work) : NULL;
    if (work->count && !order) return -1;
    const Rules rules = {nms_rule(t->iou, d->inclusive, d->extra, d->epsilon), turned_rule(t->iou, d->inclusive)};
    work->turned.count = 0;
    if (d->suppression == GREEDY && !kept_clear(&work->kept, d->per_class ? d->classes : 1)) return -1;
    int64_t n = 0;
    for (int64_t i = 0; i < work->count && n < t->limit; ++i) {
        const Candidate *c = work->candidates + order[i];
        double edges[4];
        float xywha[5] = {0};
        if (i + AHEAD < work->count) fetch_box(d, buffers, work->candidates + order[i + AHEAD]);
        if (d->suppression == NEIGHBOURS && !is_peak(d, buffers, c)) continue;
        if (out->points) fetch(&d->each[c->level].each[c->anchor].points, buffers, c->cell);
        if (out->coefficients) fetch(&d->each[c->level].each[c->anchor].coefficients, buffers, c->cell);
        decode_box(d, buffers, c, edges);
        if (out->edges) memcpy(out->edges + 4 * n, edges, sizeof edges);
        if (d->each[c->level].angle != UPRIGHT) turn(d, buffers, c, edges, xywha);
        float box[4];
        for (int k = 0; k < 4; ++k) box[k] = (float)edges[k] + 0.0f; /* of -0.0, which has the code of 0.0: 0.0 */
        const int kept = stays(d, &rules, work, c, box, xywha);
        if (kept < 0) return -1;
        if (!kept) continue;
        memcpy(out->xyxy + 4 * n, box, sizeof box);
        out->confidence[n] = c->score, out->class_id[n] = c->class_id, out->level[n] = c->level;
        out->cell[n] = c->cell, out->anchor[n] = c->anchor;
        if (out->xywha) memcpy(out->xywha + 5 * n, xywha, sizeof xywha);
        if (out->points) decode_points(d, buffers, c, out->points + n * d->points);
        if (out->coefficients) read_coefficients(d, buffers, c, out->coefficients + n * d->coefficients);
        ++n;
    }
    return n;
}

void workspace_free(Workspace *work) {
    free(work->hits.items);
    free(work->shares);
    free(work->candidates);
    free(work->others);
    free(work->scores);
    free(work->order);
    kept_free(&work->kept);
    free(work->turned.boxes);
}
