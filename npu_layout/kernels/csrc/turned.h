/* Turned boxes, and their suppression, each a Gaussian, by 1 less their Hellinger distance (ProbIoU). */
#ifndef NPU_LAYOUT_TURNED_H
#define NPU_LAYOUT_TURNED_H

#include <stdint.h>

/* x, y of the centre, the covariance's a, b (variances) and c. */
typedef struct {
    double x, y, a, b, c;
} Gaussian;

typedef struct {
    Gaussian shape;
    double determinant, root;
    int64_t class_id;
} TurnedBox;

/* The boxes that stay; `boxes` grows. */
typedef struct {
    TurnedBox *boxes;
    int64_t count, room;
} TurnedKept;

/* far: of an exponent beyond which no pair is as near as `iou`. */
typedef struct {
    double iou, far;
    int inclusive;
} TurnedRule;

TurnedRule turned_rule(double iou, int inclusive);
/* The Gaussian of a box: centre x, y, width, height, angle. */
Gaussian gaussian_of(const float box[5]);
/* Turn a box, given by its edges, by an angle around (x, y): centre, width, height and angle, and the edges around its corners. */
void turn_box(const double edges[4], double angle, double x, double y, double box[5], double around[4]);

/* Keep a box unless it is as near to a kept one of its class as the rule says; 1: kept, 0: not, -1: there is no memory. */
int turned_add(TurnedKept *kept, const TurnedRule *rule, int64_t class_id, const Gaussian *shape);
/* Write the rows that stay, of `n` in the order of their scores, at most `limit`; a row goes if it is as near to one that stays, of its
 * class, as `iou` (or nearer, if not `inclusive`). class_id: or NULL. Returns how many; -1: there is no memory. */
int64_t turned_kept(const Gaussian *boxes, const int64_t *class_id, int64_t n, double iou, int inclusive, int64_t limit, int64_t *kept);

#endif
