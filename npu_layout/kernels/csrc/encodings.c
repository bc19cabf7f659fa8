#include "encodings.h"

#include "exponential.h"

/* x and y. Edges are stored as such pairs, since they are read as such: a load that spans two stores waits for both. */
typedef double Pair __attribute__((vector_size(16)));

static void put_edges(Pair first, Pair last, double e[4]) { memcpy(e, &first, sizeof first), memcpy(e + 2, &last, sizeof last); }

static void corners(double cx, double cy, double w, double h, double e[4]) {
    const Pair center = {cx, cy}, half = (Pair){w, h} / 2.0;
    put_edges(center - half, center + half, e);
}

static void distances(const BoxRule *r, const double v[4], double x, double y, double w, double h, double e[4]) {
    (void)w, (void)h;
    const Pair center = {x + r->center, y + r->center}, first = {v[0], v[1]}, last = {v[2], v[3]};
    if (r->strides) {
        put_edges((center - first) * r->stride, (center + last) * r->stride, e);
        return;
    }
    const Pair middle = center * r->stride, unit = {r->unit_x, r->unit_y};
    put_edges(middle - first * unit, middle + last * unit, e);
}

static void center_power(const BoxRule *r, const double v[4], double x, double y, double w, double h, double e[4]) {
    const double double_w = 2.0 * v[2], double_h = 2.0 * v[3];
    corners((2.0 * v[0] - 0.5 + x) * r->stride, (2.0 * v[1] - 0.5 + y) * r->stride, double_w * double_w * w, double_h * double_h * h, e);
}

static double spread(const BoxRule *r, double share) { return share * r->spread - (r->spread - 1.0) / 2.0; }

static void center_exp(const BoxRule *r, const double v[4], double x, double y, double w, double h, double e[4]) {
    const double of_w = r->strides ? r->stride : w, of_h = r->strides ? r->stride : h;
    corners((spread(r, v[0]) + x + r->center) * r->stride, (spread(r, v[1]) + y + r->center) * r->stride, exponential(v[2]) * of_w,
            exponential(v[3]) * of_h, e);
}

static void sigmoid_exp(const BoxRule *r, const double v[4], double x, double y, double w, double h, double e[4]) {
    corners((spread(r, sigmoid_of(v[0])) + x + r->center) * r->stride, (spread(r, sigmoid_of(v[1])) + y + r->center) * r->stride,
            exponential(v[2]) * w, exponential(v[3]) * h, e);
}

static void variances(const BoxRule *r, const double v[4], double x, double y, double w, double h, double e[4]) {
    const double cx = (x + r->center) * r->stride + v[0] * r->of_center * w, cy = (y + r->center) * r->stride + v[1] * r->of_center * h;
    corners(cx, cy, exponential(v[2] * r->of_size) * w, exponential(v[3] * r->of_size) * h, e);
}

static void linear(const BoxRule *r, const double v[4], double x, double y, double w, double h, double e[4]) {
    const double cx = (x + r->center) * r->stride + v[0] * r->of_center * w, cy = (y + r->center) * r->stride + v[1] * r->of_center * h;
    corners(cx, cy, v[2] * r->of_size * w, v[3] * r->of_size * h, e);
}

static void xywh(const BoxRule *r, const double v[4], double x, double y, double w, double h, double e[4]) {
    (void)x, (void)y, (void)w, (void)h;
    corners(v[0] * r->unit_x, v[1] * r->unit_y, v[2] * r->unit_x, v[3] * r->unit_y, e);
}

static void xyxy(const BoxRule *r, const double v[4], double x, double y, double w, double h, double e[4]) {
    (void)x, (void)y, (void)w, (void)h;
    const Pair unit = {r->unit_x, r->unit_y};
    put_edges((Pair){v[0], v[1]} * unit, (Pair){v[2], v[3]} * unit, e);
}

static void center_size(const BoxRule *r, const double v[4], double x, double y, double w, double h, double e[4]) {
    (void)w, (void)h;
    corners((v[0] + x) * r->stride, (v[1] + y) * r->stride, v[2] * r->unit_x, v[3] * r->unit_y, e);
}

static void tanh_sigmoid(const BoxRule *r, const double v[4], double x, double y, double w, double h, double e[4]) {
    (void)w, (void)h;
    const double over = 2.0 * sigmoid_of(2.0 * v[0]) - 1.0, down = 2.0 * sigmoid_of(2.0 * v[1]) - 1.0;
    corners((over + x + r->center) * r->stride, (down + y + r->center) * r->stride, sigmoid_of(v[2]) * r->unit_x, sigmoid_of(v[3]) * r->unit_y, e);
}

static void (*const encodings[ENCODINGS])(const BoxRule *, const double[4], double, double, double, double, double[4]) = {
    [DFL] = distances, [DISTANCES] = distances, [CENTER_POWER] = center_power, [CENTER_EXP] = center_exp,
    [VARIANCES] = variances, [XYWH] = xywh, [XYXY] = xyxy, [CENTER_SIZE] = center_size,
    [SIGMOID_EXP] = sigmoid_exp, [LINEAR] = linear, [TANH_SIGMOID] = tanh_sigmoid,
};

void box_edges(const BoxRule *rule, const double v[4], double x, double y, double w, double h, double edges[4]) {
    encodings[rule->encoding](rule, v, x, y, w, h, edges);
}
