#include "turned.h"

#include <math.h>
#include <stdlib.h>

#include "exponential.h"
#include "sines.h"

/* By the operations of decode/results/turned.py, probiou, in their order: equal bits. */
static double nearness(const Gaussian *p, const Gaussian *q, double own, double area, double exponent) {
    double near = exponential(-exponent) * sqrt(4.0 * sqrt(own) / area);
    if (isnan(near)) near = p->x == q->x && p->y == q->y && p->a == q->a && p->b == q->b && p->c == q->c; /* no area */
    double left = 1.0 - near;
    left = left < 0 ? 0 : left > 1 ? 1 : left;
    return 1.0 - sqrt(left);
}

static int overlap(const TurnedBox *kept, const TurnedBox *other, const TurnedRule *rule) {
    const Gaussian *p = &kept->shape, *q = &other->shape;
    const double x = p->x - q->x, y = p->y - q->y, a = p->a + q->a, b = p->b + q->b, c = p->c + q->c;
    const double area = a * b - c * c, away = (a * (y * y) + b * (x * x)) / 4.0 - c * x * y / 2.0;
    /* Most pairs: the exponential alone is too small, and its factor is at most 1. */
    if (area > 0 && 4.0 * (kept->root * other->root) <= area * (1.0 + 1e-9) && away > rule->far * area) return 0;
    const double near = nearness(p, q, kept->determinant * other->determinant, area, away / area);
    return rule->inclusive ? near >= rule->iou : near > rule->iou;
}

/* With a margin for rounding. */
static double far_of(double iou) {
    const double left = iou < 1 ? 1.0 - iou : 0.0;
    return iou > 0 ? -log(1.0 - left * left) * (1.0 + 1e-9) + 1e-6 : INFINITY;
}

TurnedRule turned_rule(double iou, int inclusive) { return (TurnedRule){iou, far_of(iou), inclusive}; }

Gaussian gaussian_of(const float box[5]) {
    const double w = (double)box[2] * box[2] / 12.0, h = (double)box[3] * box[3] / 12.0;
    double sine, cosine;
    sine_and_cosine(box[4], &sine, &cosine);
    const double cosines = cosine * cosine, sines = sine * sine;
    return (Gaussian){box[0], box[1], w * cosines + h * sines, w * sines + h * cosines, (w - h) * cosine * sine};
}

void turn_box(const double edges[4], double angle, double x, double y, double box[5], double around[4]) {
    double sine, cosine;
    sine_and_cosine(angle, &sine, &cosine);
    const double right = (edges[0] + edges[2]) / 2.0 - x, down = (edges[1] + edges[3]) / 2.0 - y;
    box[0] = x + (right * cosine - down * sine), box[1] = y + (right * sine + down * cosine);
    box[2] = edges[2] - edges[0], box[3] = edges[3] - edges[1], box[4] = angle;
    const double wide = fabs(cosine), high = fabs(sine), w = fabs(box[2]) / 2.0, h = fabs(box[3]) / 2.0;
    const double half_w = wide * w + high * h, half_h = high * w + wide * h;
    around[0] = box[0] - half_w, around[1] = box[1] - half_h, around[2] = box[0] + half_w, around[3] = box[1] + half_h;
}

int turned_add(TurnedKept *kept, const TurnedRule *rule, int64_t class_id, const Gaussian *shape) {
    const double determinant = shape->a * shape->b - shape->c * shape->c;
    const TurnedBox box = {*shape, determinant, sqrt(determinant), class_id};
    for (int64_t k = 0; k < kept->count; ++k)
        if (kept->boxes[k].class_id == class_id && overlap(kept->boxes + k, &box, rule)) return 0;
    if (kept->count == kept->room) {
        const int64_t room = kept->room ? 2 * kept->room : 64;
        TurnedBox *more = realloc(kept->boxes, (size_t)room * sizeof *more);
        if (!more) return -1;
        kept->boxes = more, kept->room = room;
    }
    kept->boxes[kept->count++] = box;
    return 1;
}

int64_t turned_kept(const Gaussian *boxes, const int64_t *class_id, int64_t n, double iou, int inclusive, int64_t limit, int64_t *kept) {
    const TurnedRule rule = turned_rule(iou, inclusive);
    TurnedKept stay = {0};
    int64_t found = 0;
    for (int64_t i = 0; i < n && found >= 0 && found < limit; ++i) {
        const int added = turned_add(&stay, &rule, class_id ? class_id[i] : 0, boxes + i);
        if (added < 0)
            found = -1;
        else if (added)
            kept[found++] = i;
    }
    free(stay.boxes);
    return found;
}
