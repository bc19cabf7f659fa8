#include "detect.h"

#include <stdlib.h>

#include "exponential.h"

double source_value(const Source *source, int64_t channel, int32_t code) {
    if (source->values) return source->values[channel * source->step + code - lowest_code(source->map.type)];
    const double value = float_of_code(code);
    return source->activation == SIGMOID_OF ? sigmoid_of(value) : value;
}

void source_powers(Source *source) {
    for (int top = 0; top < 256; ++top)
        for (int code = 0; code < 256; ++code)
            source->powers[top * 256 + code] = exponential(source->values[code] - source->values[top]);
}

static int32_t code_at(const Source *source, const uint8_t *data, int64_t offset, int64_t c) {
    return sorted_code(source->map.type, data + offset + source->map.channel[c]);
}

/* What channels with tables of their own are compared by. */
static double real_value(const Source *source, int64_t channel, int32_t code) {
    return source->reals[channel * source->step + code - lowest_code(source->map.type)];
}

/* The first of the hits of one cell with the largest value; `i` is at the first of them, and then at the last. */
static Hit best_of_hits(const Source *score, const Hits *hits, int64_t *i) {
    Hit best = hits->items[*i];
    double top = real_value(score, best.channel, best.code);
    for (; *i + 1 < hits->count && hits->items[*i + 1].cell == best.cell; ++*i) {
        const Hit *hit = hits->items + *i + 1;
        const double real = real_value(score, hit->channel, hit->code);
        if (real > top) top = real, best = *hit;
    }
    return best;
}

/* The first channel with the largest value of one cell, whether or not each has a table of its own. */
static Hit best_of_channels(const Level *level, const Source *score, const uint8_t *data, int64_t cell) {
    if (!score->step) return best_of_cell(level, &score->map, data, cell);
    const int64_t offset = cell_at(&score->map, cell);
    Hit best = {(int32_t)cell, 0, code_at(score, data, offset, 0)};
    double top = real_value(score, 0, best.code);
    for (int64_t c = 1; c < score->map.count; ++c) {
        const int32_t code = code_at(score, data, offset, c);
        const double real = real_value(score, c, code);
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
    work->candidates[work->count++] = candidate;
    return 1;
}

static int class_candidates(const Detector *d, int level, int a, const uint8_t *const *buffers, double confidence, Workspace *work) {
    const Anchor *anchor = d->each[level].each + a;
    const Source *score = &anchor->score;
    const uint8_t *data = buffers[score->buffer];
    work->hits.count = 0;
    if (!(d->all_labels || score->step ? scan_all(d->level, &score->map, data, anchor->threshold, &work->hits)
                                       : scan_best(d->level, &score->map, data, anchor->threshold, &work->hits)))
        return 0;
    for (int64_t i = 0; i < work->hits.count; ++i) {
        const Hit hit = score->step && !d->all_labels ? best_of_hits(score, &work->hits, &i) : work->hits.items[i];
        const double value = source_value(score, hit.channel, hit.code);
        if (value >= confidence && !append(work, (Candidate){(float)value, hit.channel, hit.cell, (int16_t)level, (int16_t)a})) return 0;
    }
    return 1;
}

static int product_candidates(const Detector *d, int level, int a, const uint8_t *const *buffers, double confidence, Workspace *work) {
    const Anchor *anchor = d->each[level].each + a;
    const Source *score = &anchor->score;
    const uint8_t *data = buffers[score->buffer];
    work->hits.count = 0;
    if (!scan_best(d->level, &anchor->objectness.map, buffers[anchor->objectness.buffer], anchor->threshold, &work->hits)) return 0;
    for (int64_t i = 0; i < work->hits.count; ++i) {
        const Hit hit = work->hits.items[i];
        const double object = source_value(&anchor->objectness, 0, hit.code);
        const Hit best = best_of_channels(d->level, score, data, hit.cell);
        const int64_t from = d->all_labels ? 0 : best.channel, to = d->all_labels ? score->map.count : best.channel + 1;
        const int64_t offset = cell_at(&score->map, hit.cell);
        for (int64_t c = from; c < to; ++c) {
            double value = object * source_value(score, c, d->all_labels ? code_at(score, data, offset, c) : best.code);
            if (d->score == ROOT_OF_PRODUCT) value = sqrt(value);
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

/* As mean_bins, of channels with tables of their own. */
static void mean_values(const Source *box, const int32_t *codes, int bins, double sides[4]) {
    for (int k = 0; k < 4; ++k) {
        double values[MOST_BINS], most = -INFINITY, total = 0, moment = 0;
        for (int i = 0; i < bins; ++i) {
            values[i] = source_value(box, k * bins + i, codes[k * bins + i]);
            most = values[i] > most ? values[i] : most;
        }
        for (int i = 0; i < bins; ++i) {
            const double power = exponential(values[i] - most);
            total += power, moment += power * i;
        }
        sides[k] = moment / total;
    }
}

/* The means of the bins of four sides under softmaxes; the sides go on side by side, each in the order of its bins. */
static void mean_bins(const Source *box, const uint8_t *p, int bins, double sides[4]) {
    int32_t codes[4 * MOST_BINS], top[4];
    double total[4] = {0}, moment[4] = {0}, most[4];
    const double *row[4];
    codes_of_cell(&box->map, p, 0, 4 * bins, codes);
    if (box->step) {
        mean_values(box, codes, bins, sides);
        return;
    }
    for (int k = 0; k < 4; ++k) {
        const int32_t *mine = codes + k * bins;
        top[k] = mine[0];
        for (int i = 1; i < bins; ++i) top[k] = mine[i] > top[k] ? mine[i] : top[k];
        most[k] = box->powers ? 0 : source_value(box, 0, top[k]);
        row[k] = box->powers ? box->powers + (top[k] + 128) * 256 + 128 : NULL;
    }
    for (int i = 0; i < bins; ++i)
        for (int k = 0; k < 4; ++k) {
            const int32_t code = codes[k * bins + i];
            const double power = box->powers ? row[k][code] : exponential(source_value(box, 0, code) - most[k]);
            total[k] += power, moment[k] += power * i;
        }
    for (int k = 0; k < 4; ++k) sides[k] = moment[k] / total[k];
}

/* Where a candidate is: its column and row, and its anchor's size; or its prior. */
static void cell_of(const DetectLevel *level, const Candidate *c, double at[4]) {
    if (level->priors) {
        memcpy(at, level->priors + 4 * (int64_t)c->cell, 4 * sizeof *at);
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
        for (int k = 0; k < 2; ++k) v[k] = source_value(source, i + k, code_at(source, data, offset, i + k));
        point_place(&level->point, &level->rule, v, at[0], at[1], at[2], at[3], place);
        points[i] = (float)place[0], points[i + 1] = (float)place[1];
        if (level->point.values < 3) continue;
        const int32_t code = code_at(source, data, offset, i + 2);
        const double value = heats ? heats[(i + 2) * source->step + code - lowest_code(source->map.type)] : source_value(source, i + 2, code);
        points[i + 2] = (float)(!heats && level->heat == SIGMOID_OF ? sigmoid_of(value) : value);
    }
}

static void decode_box(const Detector *d, const uint8_t *const *buffers, const Candidate *c, double edges[4]) {
    const DetectLevel *level = d->each + c->level;
    const Anchor *anchor = level->each + c->anchor;
    const Source *source = &anchor->box;
    const uint8_t *data = buffers[source->buffer];
    const int64_t offset = cell_at(&source->map, c->cell);
    double v[4], at[4];
    if (level->rule.encoding == DFL)
        mean_bins(source, data + offset, level->rule.bins, v);
    else
        for (int i = 0; i < 4; ++i) v[i] = source_value(source, i, code_at(source, data, offset, i));
    cell_of(level, c, at);
    box_edges(&level->rule, v, at[0], at[1], at[2], at[3], edges);
}

int64_t detect_run(const Detector *d, const uint8_t *const *buffers, const Thresholds *t, Workspace *work, const DetectionArrays *out) {
    if (!find_candidates(d, buffers, t->confidence, work)) return -1;
    const uint32_t *order = work->count ? sorted_candidates(work) : NULL;
    if (work->count && !order) return -1;
    const NmsRule rule = nms_rule(t->iou, d->inclusive, d->extra, d->epsilon);
    if (d->suppress && !kept_clear(&work->kept, d->per_class ? d->classes : 1)) return -1;
    int64_t n = 0;
    for (int64_t i = 0; i < work->count && n < t->limit; ++i) {
        const Candidate *c = work->candidates + order[i];
        double edges[4];
        decode_box(d, buffers, c, edges);
        const float box[4] = {(float)edges[0], (float)edges[1], (float)edges[2], (float)edges[3]};
        if (d->suppress) {
            const int kept = kept_add(d->level, &work->kept, &rule, d->per_class ? c->class_id : 0, box);
            if (kept < 0) return -1;
            if (!kept) continue;
        }
        memcpy(out->xyxy + 4 * n, box, sizeof box);
        out->confidence[n] = c->score, out->class_id[n] = c->class_id, out->level[n] = c->level;
        out->cell[n] = c->cell, out->anchor[n] = c->anchor;
        if (out->edges) memcpy(out->edges + 4 * n, edges, sizeof edges);
        if (out->points) decode_points(d, buffers, c, out->points + n * d->points);
        ++n;
    }
    return n;
}

void workspace_free(Workspace *work) {
    free(work->hits.items);
    free(work->candidates);
    free(work->others);
    free(work->scores);
    free(work->order);
    kept_free(&work->kept);
}
