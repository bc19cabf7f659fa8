#include "detect.h"

#include <math.h>
#include <stdlib.h>

#include "decoded.h"
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
    if (!best.channel || best.code == INT32_MIN) return best;
    const float top = scaled_value(score, best.cell, best.channel, best.code);
    if (scaled_value(score, best.cell, best.channel, best.code - 1) < top) return best;
    const int64_t offset = cell_at(&score->map, best.cell);
    for (int32_t c = 0; c < best.channel; ++c) {
        const int32_t code = code_at(score, data, offset, c);
        if (scaled_value(score, best.cell, c, code) == top) return (Hit){best.cell, c, code};
    }
    return best;
}

/* The first channel with the largest value of one cell, whether or not each has a scale of its own; meanwhile the next one is fetched. */
static Hit best_of_channels(const Level *level, const Source *score, const uint8_t *data, int64_t cell, const Upcoming *next) {
    if (score->scaling != BY_CHANNEL) {
        const Hit best = best_of_cell(level, &score->map, data, cell, next);
        return score->scaling ? first_that_means(score, data, best) : best;
    }
    fetch_upcoming(next);
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

enum { UNNUMBERED = -1, OF_BACKGROUND = -2 };

/* The class of a candidate whose cell has it as a number, of 64 bits two words; UNNUMBERED: it is none. */
static int32_t label_of(const Detector *d, const Anchor *anchor, const uint8_t *const *buffers, int64_t cell) {
    const Source *label = &anchor->label;
    const int64_t aside = anchor->aside, stored = d->classes + (aside >= 0);
    const double value = value_at(label, buffers[label->buffer], cell, 0);
    if (label->map.count == 2 && value_at(label, buffers[label->buffer], cell, 1) != 0) return UNNUMBERED;
    if (!(value >= 0 && value < (double)stored && value == floor(value))) return UNNUMBERED;
    const int64_t number = (int64_t)value;
    return number == aside ? OF_BACKGROUND : (int32_t)(number - (aside >= 0 && number > aside));
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
            const Hit best = best_of_channels(d->level, score, buffers[score->buffer], cell, &(Upcoming){0});
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
        if (!each && score->scaling && !d->all_labels) hit = first_that_means(score, data, hit);
        const int32_t class_id = label->map.count ? label_of(d, anchor, buffers, hit.cell) : hit.channel;
        if (class_id == OF_BACKGROUND) continue;
        if (class_id == UNNUMBERED) return work->unnumbered = 1, 0;
        if (!append(work, (Candidate){(float)value, class_id, hit.cell, (int16_t)level, (int16_t)a})) return 0;
    }
    return 1;
}

/* A code below which none reaches the threshold beside this objectness, of a score with a table of values; above all codes: none does. Values
 * grow with their codes, and so do their products and roots, but for the rounding of these. */
static int32_t least_of_scores(ScoreRule rule, const Source *score, double object, double confidence) {
    const int32_t low = lowest_code(score->map.type);
    const double nearly = confidence - fabs(confidence) * 1e-12;
    int32_t from = low, to = -low;
    while (from < to) {
        const int32_t middle = from + (to - from) / 2;
        if (combined(rule, object, score->values[middle - low]) >= nearly) to = middle;
        else from = middle + 1;
    }
    return from;
}

/* Every class of a cell that reaches the threshold beside the objectness, of scores with a table; meanwhile the next cell is fetched. 0: there is
 * no memory. */
static int classes_of_cell(const Detector *d, const Source *score, Candidate one, double object, const uint8_t *data, double confidence,
                           const Upcoming *next, Workspace *work) {
    const FeatureMap *map = &score->map;
    const int32_t low = lowest_code(map->type), least = least_of_scores(d->score, score, object, confidence);
    const uint8_t flip = byte_flip(map->type), *cell = data + cell_at(map, one.cell);
    int32_t code;
    int good = 1;
#define ADD_CLASS(read)                                                                          \
    if ((code = (read)) >= least) {                                                              \
        const double value = combined(d->score, object, score->values[code - low]);              \
        one.score = (float)value, one.class_id = (int32_t)i;                                     \
        good &= !(value >= confidence) || append(work, one);                                     \
    }
    if (map->type <= U8) READ_AND_FETCH(map, cell, next, ADD_CLASS((int8_t)(*at ^ flip)));
    else READ_AND_FETCH(map, cell, next, ADD_CLASS(sorted_code(map->type, at)));
    return good;
}

/* The candidates of one cell of an anchor, of which the code of the objectness is known; meanwhile the scores of the next cell are fetched. 0: there
 * is no memory. */
static int product_of_cell(const Detector *d, const Anchor *anchor, Candidate at, int32_t code, const uint8_t *const *buffers, double confidence,
                           const Upcoming *next, Workspace *work) {
    const Source *score = &anchor->score;
    const uint8_t *data = buffers[score->buffer];
    const int shared = score->activation == SOFTMAX_OF;
    const double object = source_value(&anchor->objectness, at.cell, 0, code);
    if (shared) fetch_upcoming(next);
    if (!(at.cell < work->filled) || object < 0) return 1; /* the threshold is that of the largest scale */
    const double least = shared && object > 0 && confidence > 0 ? least_share(d->score, object, confidence) : 0;
    const Shared found = shared ? shares_of_cell(d->level, anchor, buffers, at.cell, least, work) : SHARES;
    if (found == NO_ROOM) return 0;
    if (found == NONE_REACHES) return 1;
    if (d->all_labels && score->values && !shared) return classes_of_cell(d, score, at, object, data, confidence, next, work);
    const double *shares = work->shares;
    const Hit best = shared ? (Hit){0, (int32_t)largest_share(anchor, shares), 0} : best_of_channels(d->level, score, data, at.cell, next);
    const int64_t from = d->all_labels ? 0 : best.channel, to = d->all_labels ? score->map.count : best.channel + 1;
    const int64_t offset = cell_at(&score->map, at.cell);
    for (int64_t c = from; c < to; ++c) {
        const double share = shared ? shares[share_at(anchor, c)]
                                    : source_value(score, at.cell, c, d->all_labels ? code_at(score, data, offset, c) : best.code);
        const double value = combined(d->score, object, share);
        at.score = (float)value, at.class_id = (int32_t)c;
        if (value >= confidence && !append(work, at)) return 0;
    }
    return 1;
}

/* Fetch the scores of a hit, whose channel is the number of its anchor, or anchor `a`; return what is fetched while others are read. */
static Upcoming fetch_scores(const DetectLevel *level, int a, const Hit *hit, const uint8_t *const *buffers) {
    const Source *score = &level->each[a + hit->channel].score;
    return fetch_or_defer(&score->map, buffers[score->buffer], hit->cell);
}

/* The candidates of the hits of anchor `a`, or of those of all anchors in the order of cells: then `a` is 0, and the channel of a hit is the
 * number of its anchor. 0: there is no memory. */
static int product_candidates(const Detector *d, int level, int a, const FeatureMap *objects, int32_t least, const uint8_t *const *buffers,
                              double confidence, Workspace *work) {
    const DetectLevel *const at = d->each + level;
    const Anchor *anchor = at->each + a;
    work->hits.count = 0;
    if (!scan(d->level, objects, buffers[anchor->objectness.buffer], least, objects->count > 1, &work->hits)) return 0;
    const int64_t n = work->hits.count, ahead = cells_ahead(lines_of_cell(&anchor->score.map));
    const Hit *hits = work->hits.items;
    for (int64_t i = 0; i < ahead && i < n; ++i) {
        const Upcoming first = fetch_scores(at, a, hits + i, buffers);
        fetch_upcoming(&first);
    }
    for (int64_t i = 0; i < n; ++i) {
        const Upcoming next = i + ahead < n ? fetch_scores(at, a, hits + i + ahead, buffers) : (Upcoming){0};
        const int16_t number = (int16_t)(a + hits[i].channel);
        if (hits[i].code < at->each[number].threshold) continue;
        const Candidate candidate = {0, 0, hits[i].cell, (int16_t)level, number};
        if (!product_of_cell(d, at->each + number, candidate, hits[i].code, buffers, confidence, &next, work)) return 0;
    }
    return 1;
}

/* Room for as many scores, boxes and candidates as there is for candidates; 0: there is no memory. */
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
    work->others = others;
    int32_t *rows = realloc(work->rows, room * sizeof *rows);
    if (!rows) return 0;
    work->rows = rows;
    double *edges = realloc(work->edges, 4 * room * sizeof *edges);
    if (!edges) return 0;
    work->edges = edges, work->sorted = work->room;
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

/* The candidates of a level, in the order of cells and anchors. 0: there is no memory, or a label is no class. */
static int level_candidates(const Detector *d, int level, const uint8_t *const *buffers, double confidence, Workspace *work) {
    const DetectLevel *const at = d->each + level;
    const int64_t from = work->count;
    if (at->objects.count) {
        int32_t least = at->each->threshold;
        for (int a = 1; a < at->anchors; ++a) least = at->each[a].threshold < least ? at->each[a].threshold : least;
        return product_candidates(d, level, 0, &at->objects, least, buffers, confidence, work);
    }
    for (int a = 0; a < at->anchors; ++a) {
        const Anchor *anchor = at->each + a;
        if (!(d->score == CLASS_ONLY ? class_candidates(d, level, a, buffers, confidence, work)
                                     : product_candidates(d, level, a, &anchor->objectness.map, anchor->threshold, buffers, confidence, work)))
            return 0;
    }
    return at->anchors == 1 || order_by_cell(work, from);
}

/* All candidates, in the order of levels, cells, anchors, classes. */
static int find_candidates(const Detector *d, const uint8_t *const *buffers, double confidence, Workspace *work) {
    work->count = 0;
    work->filled = d->filled.map.count ? value_at(&d->filled, buffers[d->filled.buffer], 0, 0) : INFINITY;
    for (int level = 0; level < d->levels; ++level)
        if (!level_candidates(d, level, buffers, confidence, work)) return 0;
    return 1;
}

static uint32_t *sorted_candidates(Workspace *work) {
    if (!sorting_room(work)) return NULL;
    for (int64_t i = 0; i < work->count; ++i) work->scores[i] = work->candidates[i].score;
    return order_of_scores(work->scores, work->count, work->order);
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

/* Read the boxes of the first `many` candidates in `order`, and fetch those that come next. */
static void read_boxes(const Detector *d, const uint8_t *const *buffers, Workspace *work, const uint32_t *order, int64_t many) {
    for (int64_t i = 0; i < work->count; ++i) work->rows[i] = -1;
    for (int64_t i = 0; i < many; ++i) work->rows[order[i]] = (int32_t)i;
    if (many) decode_boxes(d, buffers, work->candidates, work->rows, work->count, work->edges);
    for (int64_t i = 0; i < many; ++i) work->rows[order[i]] = -1;
    for (int64_t i = many; i < many + boxes_ahead(d) && i < work->count; ++i) {
        const Upcoming first = fetch_box(d, buffers, work->candidates + order[i]);
        fetch_upcoming(&first);
    }
}

/* Write the detections in `order`, but for what is beside boxes; return how many, or NO_MEMORY. As many candidates as there may be detections are
 * reached in any case: their boxes are read first, in the order of memory, and others when it is their turn. `peaks`: all are. */
static int64_t suppress(const Detector *d, const uint8_t *const *buffers, const Thresholds *t, Workspace *work, const uint32_t *order, int peaks,
                        const DetectionArrays *out) {
    const Rules rules = {nms_rule(t->iou, d->inclusive, d->extra, d->epsilon), turned_rule(t->iou, d->inclusive)};
    const int64_t ahead = boxes_ahead(d), many = !peaks ? 0 : work->count < t->limit ? work->count : t->limit;
    int64_t n = 0;
    read_boxes(d, buffers, work, order, many);
    for (int64_t i = 0; i < work->count && n < t->limit; ++i) {
        const Candidate *c = work->candidates + order[i];
        double edges[4];
        float box[4], xywha[5] = {0};
        if (i < many) {
            memcpy(edges, work->edges + 4 * (int64_t)order[i], sizeof edges);
        } else {
            const Upcoming next = i + ahead < work->count ? fetch_box(d, buffers, work->candidates + order[i + ahead]) : (Upcoming){0};
            if (!peaks && !is_peak(d, buffers, c)) continue;
            decode_box(d, buffers, c, &next, edges);
        }
        if (out->edges) memcpy(out->edges + 4 * n, edges, sizeof edges);
        if (d->each[c->level].angle != UPRIGHT) decode_turn(d, buffers, c, edges, xywha);
        for (int k = 0; k < 4; ++k) box[k] = (float)edges[k] + 0.0f; /* of -0.0, which has the code of 0.0: 0.0 */
        const int kept = stays(d, &rules, work, c, box, xywha);
        if (kept < 0) return NO_MEMORY;
        if (!kept) continue;
        memcpy(out->xyxy + 4 * n, box, sizeof box);
        out->confidence[n] = c->score, out->class_id[n] = c->class_id, out->level[n] = c->level;
        out->cell[n] = c->cell, out->anchor[n] = c->anchor;
        if (out->xywha) memcpy(out->xywha + 5 * n, xywha, sizeof xywha);
        work->rows[order[i]] = (int32_t)n++;
    }
    return n;
}

/* Fetch the rows that n detections will be written to, as far as every detector has them; nobody may have read them lately. */
static void fetch_results(const DetectionArrays *out, int64_t n) {
    const struct {
        const void *rows;
        int64_t bytes;
    } columns[] = {{out->xyxy, 16}, {out->confidence, 4}, {out->class_id, 8}, {out->level, 8}, {out->cell, 8}, {out->anchor, 8}};
    for (size_t k = 0; k < sizeof columns / sizeof *columns; ++k)
        for (int64_t i = 0; i < n * columns[k].bytes; i += 64) __builtin_prefetch((const uint8_t *)columns[k].rows + i, 1);
}

/* Candidates for each detection there may be, up to which neighbours are asked of all of them before they are sorted. */
enum { FEW_PEAKS = 2 };

int64_t detect_run(const Detector *d, const uint8_t *const *buffers, const Thresholds *t, Workspace *work, const DetectionArrays *out) {
    work->unnumbered = 0;
    if (!find_candidates(d, buffers, t->confidence, work)) return work->unnumbered ? NO_CLASS : NO_MEMORY;
    const int few = d->suppression == NEIGHBOURS && work->count <= FEW_PEAKS * t->limit;
    if (few) work->count = keep_peaks(d, buffers, work->candidates, work->count);
    if (!work->count) return 0;
    fetch_results(out, work->count < t->limit ? work->count : t->limit);
    const uint32_t *order = sorted_candidates(work);
    work->turned.count = 0;
    if (!order || (d->suppression == GREEDY && !kept_clear(&work->kept, d->per_class ? d->classes : 1))) return NO_MEMORY;
    const int64_t n = suppress(d, buffers, t, work, order, few || d->suppression != NEIGHBOURS, out);
    if (n > 0 && (out->points || out->coefficients)) decode_beside(d, buffers, work->candidates, work->rows, work->count, out);
    return n;
}

void workspace_free(Workspace *work) {
    free(work->hits.items);
    free(work->shares);
    free(work->candidates);
    free(work->others);
    free(work->scores);
    free(work->order);
    free(work->edges);
    free(work->rows);
    kept_free(&work->kept);
    free(work->turned.boxes);
}
