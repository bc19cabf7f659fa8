/* Rows of Y, U and V out of rows of B, G and R. */
#include "to_yuv.h"

#include "box.h"

enum { PIECE = 512 }; /* samples of U and V that are made before they are joined */

int yuv_is_joined(const ToYuv *made) {
    const YuvSamples *u = made->of + 1, *v = made->of + 2;
    return u->step == 2 && v->step == 2 && u->pitch == v->pitch && magnitude(u->out - v->out) == 1 && u->every_x == v->every_x &&
           u->every_y == v->every_y;
}

/* n samples of a component from sample x of a row on. */
static void make(const PictureLoops *loops, const ToYuv *made, int k, int64_t row, int64_t x, int64_t n, uint8_t *out) {
    const YuvSamples *s = made->of + k;
    const uint8_t *const first = made->pixels + row * made->row + x * s->every_x;
    const uint8_t *const bgr[3] = {first, first + made->plane, first + 2 * made->plane};
    loops->to_yuv(bgr, &s->weights, s->every_x, n, out);
}

static void make_joined(const PictureLoops *loops, const ToYuv *made, int64_t row) {
    const YuvSamples *u = made->of + 1, *v = made->of + 2;
    const int64_t count = (made->width + u->every_x - 1) / u->every_x, first = row / u->every_y * u->pitch;
    const int swapped = v->out < u->out;
    uint8_t *const out = (swapped ? v->out : u->out) + first;
    uint8_t both[2][PIECE];
    for (int64_t x = 0; x < count; x += PIECE) {
        const int64_t n = at_most(PIECE, count - x);
        for (int k = 0; k < 2; ++k) make(loops, made, 1 + k, row, x, n, both[k]);
        loops->join_bytes(both[swapped], both[!swapped], n, out + 2 * x);
    }
}

void yuv_rows(const PictureLoops *loops, const ToYuv *made, int64_t from, int64_t to) {
    const int joined = yuv_is_joined(made);
    for (int64_t row = from; row < to; ++row)
        for (int k = 0; k < 3; ++k) {
            const YuvSamples *s = made->of + k;
            if (row % s->every_y) continue;
            if (k && joined) {
                make_joined(loops, made, row);
                break;
            }
            make(loops, made, k, row, 0, (made->width + s->every_x - 1) / s->every_x, s->out + row / s->every_y * s->pitch);
        }
}
