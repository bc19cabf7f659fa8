#include "turned.h"

#include <math.h>
#include <stdlib.h>

#include "exponential.h"

typedef struct {
    double determinant, root;
} Area;

/* By the operations of decode/turned.py, probiou, in their order: equal bits. */
static double nearness(double own, double area, double exponent) {
    double near = exponential(-exponent) * sqrt(4.0 * sqrt(own) / area);
    if (isnan(near)) near = 0;
    double left = 1.0 - near;
    left = left < 0 ? 0 : left > 1 ? 1 : left;
    return 1.0 - sqrt(left);
}

typedef struct {
    double iou, far;
    int inclusive;
} Rule;

static int overlap(const Gaussian *p, const Gaussian *q, Area of_p, Area of_q, const Rule *rule) {
    const double x = p->x - q->x, y = p->y - q->y, a = p->a + q->a, b = p->b + q->b, c = p->c + q->c;
    const double area = a * b - c * c, away = (a * (y * y) + b * (x * x)) / 4.0 - c * x * y / 2.0;
    /* Most pairs: the exponential alone is too small, and its factor is at most 1. */
    if (area > 0 && 4.0 * (of_p.root * of_q.root) <= area * (1.0 + 1e-9) && away > rule->far * area) return 0;
    const double near = nearness(of_p.determinant * of_q.determinant, area, away / area);
    return rule->inclusive ? near >= rule->iou : near > rule->iou;
}

/* The exponent beyond which no pair is as near as `iou`, with a margin for rounding. */
static double far_of(double iou) {
    const double left = iou < 1 ? 1.0 - iou : 0.0;
    return iou > 0 ? -log(1.0 - left * left) * (1.0 + 1e-9) + 1e-6 : INFINITY;
}

int64_t turned_kept(const Gaussian *boxes, const int64_t *class_id, int64_t n, double iou, int inclusive, int64_t limit, int64_t *kept) {
    const Rule rule = {iou, far_of(iou), inclusive};
    Area *areas = malloc((size_t)(n ? n : 1) * sizeof *areas);
    if (!areas) return -1;
    int64_t found = 0;
    for (int64_t i = 0; i < n && found < limit; ++i) {
        const double determinant = boxes[i].a * boxes[i].b - boxes[i].c * boxes[i].c;
        areas[i] = (Area){determinant, sqrt(determinant)};
        int stays = 1;
        for (int64_t k = 0; k < found && stays; ++k) {
            const int64_t j = kept[k];
            if (!class_id || class_id[j] == class_id[i]) stays = !overlap(boxes + j, boxes + i, areas[j], areas[i], &rule);
        }
        if (stays) kept[found++] = i;
    }
    free(areas);
    return found;
}
