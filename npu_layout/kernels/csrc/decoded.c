#include "decoded.h"

static const Upcoming nothing = {0};

int64_t boxes_ahead(const Detector *d) {
    const Anchor *anchor = d->each->each;
    int64_t lines = lines_of_cell(&anchor->box.map);
    if (d->each->angle != UPRIGHT) lines += 1;
    if (anchor->offset.map.count) lines += lines_of_cell(&anchor->offset.map);
    if (d->suppression == NEIGHBOURS) lines += anchor->score.map.kind == PLANES ? 3 : 9;
    return cells_ahead(lines);
}

/* Fetch the scores of one class around a cell. */
static void fetch_neighbours(const DetectLevel *level, const FeatureMap *map, const uint8_t *data, const Candidate *c) {
    const int64_t width = level->columns, first = c->cell < width ? c->cell : c->cell - width;
    const int beside = map->kind != PLANES; /* else they are on the line of the one between them */
    const uint8_t *p = data + map->channel[c->class_id];
    for (int64_t cell = first; cell <= c->cell + width && cell < map->rows * map->columns; cell += width) {
        __builtin_prefetch(p + cell_at(map, cell));
        if (beside && cell) __builtin_prefetch(p + cell_at(map, cell - 1));
        if (beside && cell + 1 < map->rows * map->columns) __builtin_prefetch(p + cell_at(map, cell + 1));
    }
}

Upcoming fetch_box(const Detector *d, const uint8_t *const *buffers, const Candidate *c) {
    const DetectLevel *level = d->each + c->level;
    const Anchor *anchor = level->each + c->anchor;
    const Source *box = &anchor->box, *angle = &anchor->angle, *offset = &anchor->offset;
    if (level->angle != UPRIGHT) fetch_cell(&angle->map, buffers[angle->buffer], c->cell);
    if (offset->map.count) fetch_cell(&offset->map, buffers[offset->buffer], c->cell);
    if (d->suppression == NEIGHBOURS) fetch_neighbours(level, &anchor->score.map, buffers[anchor->score.buffer], c);
    if (level->rule.encoding == DFL && d->suppression != NEIGHBOURS) return fetch_or_defer(&box->map, buffers[box->buffer], c->cell);
    fetch_cell(&box->map, buffers[box->buffer], c->cell);
    return nothing;
}

/* Where a candidate is: its column and row, and its anchor's size; or its prior. */
static void cell_of(const DetectLevel *level, const Candidate *c, double at[4]) {
    if (level->priors) {
        memcpy(at, level->priors + 4 * ((int64_t)c->cell * level->anchors + c->anchor), 4 * sizeof *at);
        return;
    }
    const uint32_t cell = (uint32_t)c->cell, columns = (uint32_t)level->columns;
    at[0] = (double)(cell % columns), at[1] = (double)(cell / columns);
    at[2] = level->each[c->anchor].w, at[3] = level->each[c->anchor].h;
}

void decode_box(const Detector *d, const uint8_t *const *buffers, const Candidate *c, const Upcoming *next, double edges[4]) {
    const DetectLevel *level = d->each + c->level;
    const Anchor *anchor = level->each + c->anchor;
    const Source *box = &anchor->box, *offset = &anchor->offset;
    const uint8_t *data = buffers[box->buffer];
    const int center = box->map.count == 2 ? 2 : 0; /* numbers before those of `box` */
    double v[4], at[4];
    if (level->rule.encoding == DFL)
        mean_bins(d->level, box, data, c->cell, level->rule.bins, next, v);
    else {
        fetch_upcoming(next); /* of another level */
        for (int i = 0; i < center; ++i) v[i] = offset->map.count ? value_at(offset, buffers[offset->buffer], c->cell, i) : level->rule.center;
        const int64_t place = cell_at(&box->map, c->cell);
        for (int i = center; i < 4; ++i) v[i] = source_value(box, c->cell, i - center, code_at(box, data, place, i - center));
    }
    cell_of(level, c, at);
    box_edges(&level->rule, v, at[0], at[1], at[2], at[3], edges);
}

/* The first candidate from i on that is asked for, or n. */
static int64_t next_asked(const int32_t *rows, int64_t i, int64_t n) {
    while (i < n && rows[i] < 0) ++i;
    return i;
}

void decode_boxes(const Detector *d, const uint8_t *const *buffers, const Candidate *candidates, const int32_t *rows, int64_t n, double *edges) {
    const int64_t ahead = boxes_ahead(d);
    int64_t k = -1;
    for (int64_t i = 0; i < ahead && k < n; ++i) {
        k = next_asked(rows, k + 1, n);
        const Upcoming first = k < n ? fetch_box(d, buffers, candidates + k) : nothing;
        fetch_upcoming(&first);
    }
    for (int64_t i = next_asked(rows, 0, n); i < n; i = next_asked(rows, i + 1, n)) {
        k = next_asked(rows, k + 1, n);
        const Upcoming next = k < n ? fetch_box(d, buffers, candidates + k) : nothing;
        decode_box(d, buffers, candidates + i, &next, edges + 4 * i);
    }
}

void decode_turn(const Detector *d, const uint8_t *const *buffers, const Candidate *c, double edges[4], float xywha[5]) {
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

/* is_peak of bytes that sort: a cell beyond the border counts as the one at it. */
static int is_peak_of_bytes(const FeatureMap *map, const uint8_t *p, int32_t y, int32_t x, int32_t rows, int32_t columns) {
    const uint8_t flip = byte_flip(map->type);
    const int32_t beside[3] = {x, x ? x - 1 : 0, x + 1 < columns ? x + 1 : x}, lines[3] = {y, y ? y - 1 : 0, y + 1 < rows ? y + 1 : y};
    int most = -128, own = 0;
    for (int v = 0; v < 3; ++v) {
        const uint8_t *const line = p + cell_at(map, (int64_t)lines[v] * columns);
        for (int u = 0; u < 3; ++u) {
            const int code = (int8_t)(line[beside[u] * map->cell] ^ flip);
            if (!u && !v) own = code;
            most = code > most ? code : most;
        }
    }
    return own == most;
}

int is_peak(const Detector *d, const uint8_t *const *buffers, const Candidate *c) {
    const DetectLevel *level = d->each + c->level;
    const Source *score = &level->each[c->anchor].score;
    const uint8_t *data = buffers[score->buffer];
    const int32_t rows = (int32_t)(score->map.rows * score->map.columns / level->columns), columns = (int32_t)level->columns;
    const int32_t y = c->cell / columns, x = c->cell % columns;
    if (score->scaling == ONE_SCALE && score->map.type <= U8 && score->map.lines && score->map.pieces <= 1 && columns == score->map.columns)
        return is_peak_of_bytes(&score->map, data + score->map.channel[c->class_id], y, x, rows, columns);
    const int32_t own = code_at(score, data, cell_at(&score->map, c->cell), c->class_id);
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

int64_t keep_peaks(const Detector *d, const uint8_t *const *buffers, Candidate *candidates, int64_t n) {
    const int64_t ahead = boxes_ahead(d);
    int64_t kept = 0;
    for (int64_t i = -ahead; i < n; ++i) {
        const Candidate *next = candidates + (i + ahead < n ? i + ahead : n - 1);
        const DetectLevel *level = d->each + next->level;
        const Source *score = &level->each[next->anchor].score;
        if (i + ahead < n) fetch_neighbours(level, &score->map, buffers[score->buffer], next);
        if (i >= 0 && is_peak(d, buffers, candidates + i)) candidates[kept++] = candidates[i];
    }
    return kept;
}

static void decode_points(const Detector *d, const uint8_t *const *buffers, const Candidate *c, const Upcoming *next, float *points) {
    const DetectLevel *level = d->each + c->level;
    const Source *source = &level->each[c->anchor].points;
    const double *heats = level->each[c->anchor].heats;
    const int32_t low = lowest_code(source->map.type);
    int32_t codes[MOST_BESIDE];
    double at[4], v[2], place[2];
    codes_of_cell(&source->map, buffers[source->buffer] + cell_at(&source->map, c->cell), next, codes);
    cell_of(level, c, at);
    for (int64_t i = 0; i < d->points; i += level->point.values) {
        for (int k = 0; k < 2; ++k) v[k] = source_value(source, c->cell, i + k, codes[i + k]);
        point_place(&level->point, &level->rule, v, at[0], at[1], at[2], at[3], place);
        points[i] = (float)place[0] + 0.0f, points[i + 1] = (float)place[1] + 0.0f;
        if (level->point.values < 3) continue;
        const double value = heats ? heats[codes[i + 2] - low] : source_value(source, c->cell, i + 2, codes[i + 2]);
        points[i + 2] = (float)(!heats && level->heat == SIGMOID_OF ? sigmoid_of(value) : value) + 0.0f;
    }
}

static void read_coefficients(const Detector *d, const uint8_t *const *buffers, const Candidate *c, const Upcoming *next, double *values) {
    const Source *source = &d->each[c->level].each[c->anchor].coefficients;
    int32_t codes[MOST_BESIDE];
    codes_of_cell(&source->map, buffers[source->buffer] + cell_at(&source->map, c->cell), next, codes);
    for (int64_t i = 0; i < d->coefficients; ++i) values[i] = source_value(source, c->cell, i, codes[i]);
}

/* Fetch a part of a detection, if it is asked for and its lines are few; return what is fetched while others are read. */
static Upcoming fetch_beside(const Source *source, int asked, const uint8_t *const *buffers, const Candidate *c) {
    return c && asked ? fetch_or_defer(&source->map, buffers[source->buffer], c->cell) : nothing;
}

/* Fetch the points and coefficients of a candidate, or of none. */
typedef struct {
    Upcoming points, coefficients;
} Beside;
static Beside fetch_rest(const Detector *d, const uint8_t *const *buffers, const Candidate *c, const DetectionArrays *out) {
    const Anchor *anchor = c ? d->each[c->level].each + c->anchor : d->each->each;
    return (Beside){fetch_beside(&anchor->points, out->points != NULL, buffers, c),
                    fetch_beside(&anchor->coefficients, out->coefficients != NULL, buffers, c)};
}

void decode_beside(const Detector *d, const uint8_t *const *buffers, const Candidate *candidates, const int32_t *rows, int64_t n,
                   const DetectionArrays *out) {
    const Anchor *const first = d->each->each;
    int64_t lines = out->points ? lines_of_cell(&first->points.map) : 0, k = -1;
    if (out->coefficients) lines += lines_of_cell(&first->coefficients.map);
    const int64_t ahead = cells_ahead(lines);
    for (int64_t i = 0; i < ahead && k < n; ++i) {
        k = next_asked(rows, k + 1, n);
        const Beside some = fetch_rest(d, buffers, k < n ? candidates + k : NULL, out);
        fetch_upcoming(&some.points), fetch_upcoming(&some.coefficients);
    }
    for (int64_t i = next_asked(rows, 0, n); i < n; i = next_asked(rows, i + 1, n)) {
        k = next_asked(rows, k + 1, n);
        const Beside next = fetch_rest(d, buffers, k < n ? candidates + k : NULL, out);
        if (out->points) decode_points(d, buffers, candidates + i, &next.points, out->points + rows[i] * d->points);
        if (out->coefficients) read_coefficients(d, buffers, candidates + i, &next.coefficients, out->coefficients + rows[i] * d->coefficients);
    }
}
