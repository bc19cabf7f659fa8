/* Detections from stored outputs: scan, order, suppress, and decode the boxes that suppression reaches. */
#ifndef NPU_LAYOUT_DETECT_H
#define NPU_LAYOUT_DETECT_H

#include "encodings.h"
#include "nms.h"
#include "scan.h"

enum { MOST_BINS = 64 };

typedef enum { AS_STORED, SIGMOID_OF, ACTIVATIONS } Activation;

/* One part of one anchor: which buffer, where, and what its codes mean. `values`: of every code of 8 or 16 bits, the lowest first,
 * activated; NULL for float32. `step`: 0, or each channel has a table of its own, this long; then `reals` are those of values that are
 * not activated, by which channels are compared. `powers`: of 8 bits, 256 rows of e**(value - value of the row), for DFL; else NULL. */
typedef struct {
    int buffer;
    FeatureMap map;
    Activation activation;
    const double *values, *reals;
    int64_t step;
    double *powers;
} Source;

/* One anchor of one level. `threshold`: no code of the scanned part below it can pass. `heats`: as `values` of `points`, for the third
 * channel of a point. */
typedef struct {
    Source score, objectness, box, points;
    const double *heats;
    int32_t threshold;
    double w, h;
} Anchor;

/* `priors`: centre x, y, width and height of each cell in place of its column, row and anchor; or NULL. */
typedef struct {
    BoxRule rule;
    PointRule point;
    Activation heat; /* of the third channel of a point, where there is no table of them */
    int64_t columns;
    int anchors;
    Anchor *each;
    const double *priors;
} DetectLevel;

typedef enum { CLASS_ONLY, TIMES_OBJECTNESS, ROOT_OF_PRODUCT, SCORES } ScoreRule;

typedef struct {
    const Level *level;
    int levels, all_labels, suppress, per_class, inclusive;
    ScoreRule score;
    int64_t classes, points; /* channels of the points beside a box */
    double extra, epsilon;
    DetectLevel *each;
} Detector;

typedef struct {
    float score;
    int32_t class_id, cell;
    int16_t level, anchor;
} Candidate;

/* What a call needs; kept for the next one. */
typedef struct {
    Hits hits;
    Candidate *candidates, *others;
    int64_t count, room;
    float *scores;
    uint32_t *order;
    int64_t sorted;
    Kept kept;
} Workspace;

typedef struct {
    double confidence, iou;
    int64_t limit;
} Thresholds;

typedef struct {
    float *xyxy, *confidence;
    int64_t *class_id, *level, *cell, *anchor;
    float *points; /* or NULL: not asked for */
    double *edges; /* of the boxes before they are rounded; or NULL */
} DetectionArrays;

/* Fill the rows of `powers` from `values`. */
void source_powers(Source *source);
double source_value(const Source *source, int64_t channel, int32_t code);
/* Write at most `limit` detections; return how many, or -1 if there is no memory. */
int64_t detect_run(const Detector *detector, const uint8_t *const *buffers, const Thresholds *thresholds, Workspace *work,
                   const DetectionArrays *out);
void workspace_free(Workspace *work);

#endif
