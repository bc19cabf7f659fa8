/* Detections from stored outputs: scan, order, suppress, and decode the boxes that suppression reaches. */
#ifndef NPU_LAYOUT_DETECT_H
#define NPU_LAYOUT_DETECT_H

#include "encodings.h"
#include "nms.h"
#include "scan.h"
#include "source.h"
#include "turned.h"

/* What an angle means: nothing, boxes are upright; (value - 0.25) pi; radians. As decode/heads/head.py lists them. */
typedef enum { UPRIGHT, SHIFTED, RADIANS, ANGLES } Angle;

/* Which candidates go beside a better one: none; by their IoU; by the ProbIoU of turned boxes; by the scores of their neighbours. */
typedef enum { ALL_STAY, GREEDY, PROBIOU, NEIGHBOURS, SUPPRESSIONS } Suppression;

/* One anchor of one level. `threshold`: no code of the scanned part below it can pass. `heats`: as `values` of `points`, for the third
 * channel of a point. `angle`: unless boxes are upright. `offset`: of CENTER_SIZE, `label`: the class as a number, of cells that have one
 * score, `background`: of SOFTMAX_OF, the score that is no class and is number `aside` of all, `coefficients`: of masks; each if its map has
 * channels. `aside` of a `label`: the number that is no class, -1 for none. */
typedef struct {
    Source score, objectness, box, points, angle, offset, label, background, coefficients;
    const double *heats;
    int64_t aside;
    int32_t threshold;
    double w, h;
} Anchor;

/* `priors`: centre x, y, width and height of each cell in place of its column, row and anchor; or NULL. */
typedef struct {
    BoxRule rule;
    PointRule point;
    Angle angle;
    Activation heat; /* of the third channel of a point, where there is no table of them */
    int64_t columns;
    int anchors;
    Anchor *each;
    const double *priors;
    FeatureMap objects; /* the objectness of each anchor as a channel, if one pass over the cells finds them all; else without channels */
} DetectLevel;

enum { MOST_BESIDE = 1 << 12 }; /* channels of points, and of coefficients, beside a box */

/* As decode/heads/head.py lists them. */
typedef enum { CLASS_ONLY, TIMES_OBJECTNESS, ROOT_OF_PRODUCT, WEIGHTED, SCORES } ScoreRule;

typedef struct {
    const Level *level;
    int levels, all_labels, per_class, inclusive;
    ScoreRule score;
    Suppression suppression;
    int64_t classes, points, coefficients; /* channels of the points and of the coefficients beside a box */
    double extra, epsilon;
    DetectLevel *each;
    Source filled; /* one element: how many cells of each level count, from the first on; if its map has channels */
} Detector;

typedef struct {
    float score;
    int32_t class_id, cell;
    int16_t level, anchor;
} Candidate;

/* What a call needs; kept for the next one. */
typedef struct {
    Hits hits;
    double *shares; /* of SOFTMAX_OF */
    int64_t shared;
    int unnumbered; /* a label is no class */
    double filled;  /* how many cells of each level count */
    Candidate *candidates, *others;
    int64_t count, room;
    float *scores;
    uint32_t *order;
    double *edges; /* of the boxes that are read in the order of memory */
    int32_t *rows; /* which place in the order a candidate has, and then which detection it is; -1: another one, or none */
    int64_t sorted;
    Kept kept;
    TurnedKept turned;
} Workspace;

typedef struct {
    double confidence, iou;
    int64_t limit;
} Thresholds;

typedef struct {
    float *xyxy, *confidence;
    int64_t *class_id, *level, *cell, *anchor;
    float *points; /* or NULL: not asked for */
    float *xywha;  /* of turned boxes: centre, size and angle; or NULL */
    double *edges; /* of the boxes before they are rounded or turned; or NULL */
    double *coefficients; /* or NULL: not asked for */
} DetectionArrays;

enum { NO_MEMORY = -1, NO_CLASS = -2 };
/* Write at most `limit` detections; return how many, or NO_MEMORY, or NO_CLASS: the label of a candidate is no class. */
int64_t detect_run(const Detector *detector, const uint8_t *const *buffers, const Thresholds *thresholds, Workspace *work,
                   const DetectionArrays *out);
void workspace_free(Workspace *work);

#endif
