/* Run a fit: bands of rows, each resized, bordered and converted while it is in the caches. */
#include "fit.h"

#include <string.h>

/* Where rows go: `row` bytes between rows, `channel` bytes between planes, which packed pixels do not have. */
typedef struct {
    uint8_t *at;
    int64_t row, channel;
} Canvas;

static int64_t pixel_bytes(const Fit *fit) { return fit->packed ? fit->channels : 1; }

static void fill_pixels(const Fit *fit, const Canvas *to, int64_t row, int64_t from, int64_t end) {
    uint8_t *const p = to->at + row * to->row;
    if (from >= end) return;
    if (pixel_bytes(fit) == 1) {
        for (int c = 0; c < fit->channels; ++c) memset(p + c * to->channel + from, fit->border[c], (size_t)(end - from));
        return;
    }
    const int64_t size = fit->channels, bytes = (end - from) * size;
    uint8_t *const first = p + from * size;
    memcpy(first, fit->border, (size_t)size);
    for (int64_t done = size; done < bytes; done *= 2) memcpy(first + done, first, (size_t)at_most(done, bytes - done));
}

/* A row of border, as the one before it if that is another. */
static void fill_row(const Fit *fit, const Canvas *to, int64_t row, int repeats) {
    uint8_t *const p = to->at + row * to->row;
    if (repeats && pixel_bytes(fit) > 1) memcpy(p, p - to->row, (size_t)(fit->width * pixel_bytes(fit)));
    else fill_pixels(fit, to, row, 0, fit->width);
}

/* Whether rows from..to-1 of the result are border alone. */
static int is_border(const Fit *fit, int64_t from, int64_t to) { return to <= fit->top || from >= fit->top + fit->inner_h; }

/* Whether rows of border are bytes of one value, without gaps. */
static int is_dense(const Fit *fit, const Canvas *canvas) {
    int same = pixel_bytes(fit) == fit->channels && canvas->row == fit->width * fit->channels;
    for (int c = 1; c < fit->channels; ++c) same &= fit->border[c] == fit->border[0];
    return same;
}

/* Rows from..to-1 of the result, border and picture. */
static void make_rows(const Fit *fit, const PicturePlane *planes, int64_t from, int64_t to, const Canvas *canvas, uint8_t *bench) {
    const int64_t first = from > fit->top ? from : fit->top, end = at_most(to, fit->top + fit->inner_h);
    const int dense = is_dense(fit, canvas);
    for (int64_t y = from; y < to; ++y) {
        if (dense && is_border(fit, y, y + 1)) {
            const int64_t end = y < fit->top ? at_most(to, fit->top) : to;
            memset(canvas->at + (y - from) * canvas->row, fit->border[0], (size_t)((end - y) * canvas->row));
            y = end - 1;
            continue;
        }
        if (is_border(fit, y, y + 1)) {
            fill_row(fit, canvas, y - from, y > from && is_border(fit, y - 1, y));
            continue;
        }
        fill_pixels(fit, canvas, y - from, 0, fit->left);
        fill_pixels(fit, canvas, y - from, fit->left + fit->inner_w, fit->width);
    }
    if (first >= end) return;
    uint8_t *inner = canvas->at + (first - from) * canvas->row + fit->left * pixel_bytes(fit);
    picture_rows(fit->plan, planes, first - fit->top, end - fit->top, inner, canvas->row, canvas->channel, bench);
    if (!fit->flipped) return;
    const int64_t bytes = fit->inner_w * pixel_bytes(fit), whole = bytes == canvas->row ? end - first : 1; /* rows without gaps */
    for (int64_t y = first; y < end; y += whole, inner += whole * canvas->row)
        for (int c = 0; c < fit->channels / pixel_bytes(fit); ++c) picture_flip(fit->plan, inner + c * canvas->channel, whole * bytes);
}

static int64_t rows_bench(const Fit *fit) { return (picture_bench(fit->plan) + 63) / 64 * 64; }

int64_t fit_bench(const Fit *fit) {
    return rows_bench(fit) + (fit->band ? fit->rows * fit->width * fit->channels : 0) + PADDING;
}

void fit_run(const Fit *fit, const PicturePlane planes[FIT_PLANES], uint8_t *out, int past, int64_t part, int64_t parts, uint8_t *bench) {
    const int64_t bands = (fit->height + fit->rows - 1) / fit->rows, from = bands * part / parts, to = bands * (part + 1) / parts;
    if (!fit->band) {
        for (int64_t y = from * fit->rows, end; y < at_most(to * fit->rows, fit->height); y = end) {
            end = at_most(y + fit->rows, fit->height);
            make_rows(fit, planes, y, end, &(Canvas){out + y * fit->pitch, fit->pitch, 0}, bench);
        }
        return;
    }
    for (int64_t i = from, border = 0; i < to; ++i) { /* border: rows that the canvas has of it, if these are all */
        const int64_t y = i * fit->rows, end = at_most(y + fit->rows, fit->height);
        const Program *program = end - y == fit->rows ? fit->band : fit->tail;
        const Canvas canvas = {bench + rows_bench(fit), fit->width * pixel_bytes(fit), (end - y) * fit->width};
        const int outside = is_border(fit, y, end);
        if (!outside || end - y != border) make_rows(fit, planes, y, end, &canvas, bench);
        border = outside ? end - y : 0;
        program_fill(program, out + y * fit->pitch, 0, 1);
        program_move(program, canvas.at, out + y * fit->pitch, 0, 1, (Whereabouts){past && program->gains_past, 0, 0});
    }
}

int fit_looks(const Fit *fit) { return fit->band && fit->band->gains_past && !fit->band->arithmetic.past; }
