/* Greedy suppression of boxes that come in the order of their scores. */
#ifndef NPU_LAYOUT_NMS_H
#define NPU_LAYOUT_NMS_H

#include "levels.h"

/* The boxes that stay, by class. `rows` grows; `heads` has a row, or -1, for each class. */
typedef struct {
    KeptBoxes *rows;
    int32_t count, room;
    int32_t *heads;
    int64_t classes;
} Kept;

typedef struct {
    float least; /* of an IoU that suppresses: the first float above the threshold, or not below it */
    float extra, epsilon;
} NmsRule;

NmsRule nms_rule(double iou, int inclusive, double extra, double epsilon);
/* Forget all boxes; 0: there is no memory. */
int kept_clear(Kept *kept, int64_t classes);
/* Keep a box unless it overlaps one of its class that is kept; 1: kept, 0: not, -1: there is no memory. */
int kept_add(const Level *level, Kept *kept, const NmsRule *rule, int64_t class_id, const float box[4]);
void kept_free(Kept *kept);

/* Indices of floats from the greatest on, equal ones in their order; NaN is refused by whoever calls. `work` has room for 3 n.
 * Return where in `work` the n indices are. */
uint32_t *order_of_scores(const float *scores, int64_t n, uint32_t *work);

#endif
