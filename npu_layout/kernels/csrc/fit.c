/* Run a fit: bands of rows, each resized, bordered and converted while it is in the caches. */
#define _POSIX_C_SOURCE 200809L
#include "fit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Memory of each thread, which stays until the thread ends. */
typedef struct {
    int64_t bytes;
    uint8_t *at;
} Bench;
static pthread_key_t bench_key;
static pthread_once_t bench_once = PTHREAD_ONCE_INIT;
static int has_key;
static void free_bench(void *bench) {
    free(((Bench *)bench)->at);
    free(bench);
}
static void make_key(void) { has_key = !pthread_key_create(&bench_key, free_bench); }

static uint8_t *bench_of(int64_t bytes) {
    pthread_once(&bench_once, make_key);
    if (!has_key) return NULL;
    Bench *bench = pthread_getspecific(bench_key);
    if (!bench) {
        if (!(bench = calloc(1, sizeof *bench))) return NULL;
        if (pthread_setspecific(bench_key, bench)) {
            free(bench);
            return NULL;
        }
    }
    if (bench->bytes < bytes) {
        void *grown = NULL;
        if (posix_memalign(&grown, 64, (size_t)bytes)) return NULL;
        memset(grown, 0, (size_t)bytes); /* vectors are read behind the last elements */
        free(bench->at);
        bench->at = grown, bench->bytes = bytes;
    }
    return bench->at;
}

/* Where rows go: `row` bytes between rows, `channel` bytes between planes (packed pixels have none). */
typedef struct {
    uint8_t *at;
    int64_t row, channel;
} Canvas;

static void fill_pixels(const Fit *fit, const Canvas *to, int64_t row, int64_t from, int64_t end) {
    uint8_t *const p = to->at + row * to->row;
    if (from >= end) return;
    if (!fit->packed || fit->channels == 1) {
        for (int c = 0; c < fit->channels; ++c) memset(p + c * to->channel + from, fit->border[c], (size_t)(end - from));
        return;
    }
    const int64_t size = fit->channels, bytes = (end - from) * size;
    uint8_t *const first = p + from * size;
    memcpy(first, fit->border, (size_t)size);
    for (int64_t done = size; done < bytes; done *= 2) memcpy(first + done, first, (size_t)at_most(done, bytes - done));
}

/* Rows from..to-1 of the result; `bordered`: how many rows of the canvas, from its first, have a border in every pixel. */
static void make_rows(const Fit *fit, const YuvPlane *planes, int64_t from, int64_t to, const Canvas *canvas, uint8_t *bench) {
    const int64_t first = from > fit->top ? from : fit->top, end = at_most(to, fit->top + fit->inner_h);
    for (int64_t y = from; y < to; ++y)
        if (y < first || y >= end) {
            fill_pixels(fit, canvas, y - from, 0, fit->width);
        } else {
            fill_pixels(fit, canvas, y - from, 0, fit->left);
            fill_pixels(fit, canvas, y - from, fit->left + fit->inner_w, fit->width);
        }
    if (first >= end) return;
    uint8_t *inner = canvas->at + (first - from) * canvas->row + fit->left * (fit->packed ? fit->channels : 1);
    yuv_rows(fit->plan, planes, first - fit->top, end - fit->top, inner, canvas->row, canvas->channel, bench);
}

int fit_run(const Fit *fit, const YuvPlane planes[FIT_PLANES], uint8_t *out, int64_t part, int64_t parts) {
    const int64_t bands = (fit->height + fit->rows - 1) / fit->rows, from = bands * part / parts, to = bands * (part + 1) / parts;
    const int64_t plane = fit->rows * fit->width, needed = (yuv_bench(fit->plan) + 63) / 64 * 64;
    uint8_t *bench = bench_of(needed + (fit->band ? plane * fit->channels : 0) + PADDING);
    if (!bench) return 0;
    Canvas canvas = {bench + needed, fit->width * (fit->packed ? fit->channels : 1), plane};
    for (int64_t i = from; i < to; ++i) {
        const int64_t y = i * fit->rows, end = at_most(y + fit->rows, fit->height);
        const Program *program = end - y == fit->rows ? fit->band : fit->tail;
        if (!fit->band) {
            const Canvas direct = {out + y * fit->pitch, fit->pitch, 0};
            make_rows(fit, planes, y, end, &direct, bench);
            continue;
        }
        canvas.channel = (end - y) * fit->width;
        make_rows(fit, planes, y, end, &canvas, bench);
        program_fill(program, out + y * fit->pitch, 0, 1);
        program_move(program, canvas.at, out + y * fit->pitch, 0, 1);
    }
    return 1;
}
