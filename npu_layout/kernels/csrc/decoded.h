/* What belongs to a candidate, read from the stored outputs: its box, whether it is a peak, its points and its coefficients. */
#ifndef NPU_LAYOUT_DECODED_H
#define NPU_LAYOUT_DECODED_H

#include "detect.h"

enum { IN_FLIGHT = 256 }; /* lines that are fetched ahead, about: as many as memory brings while they are read */

/* Cells ahead of the one that is read whose lines are fetched: as many as have IN_FLIGHT of them. */
static inline int64_t cells_ahead(int64_t lines) { return lines >= IN_FLIGHT / 2 ? 2 : lines <= IN_FLIGHT / 32 ? 32 : IN_FLIGHT / lines; }
/* The same of candidates, of what fetch_box fetches. */
int64_t boxes_ahead(const Detector *d);

/* Fetch what belongs to the box of a candidate, and the scores by which it is a peak; return what is fetched while others are read. */
Upcoming fetch_box(const Detector *d, const uint8_t *const *buffers, const Candidate *c);
/* The edges of a box; meanwhile the lines of the next one are fetched. */
void decode_box(const Detector *d, const uint8_t *const *buffers, const Candidate *c, const Upcoming *next, double edges[4]);
/* The edges of the boxes of those of n candidates whose number in `rows` is not negative. They are read in the order of candidates, which is
 * that of memory: then more of their lines are neighbours, and some are the same. */
void decode_boxes(const Detector *d, const uint8_t *const *buffers, const Candidate *candidates, const int32_t *rows, int64_t n, double *edges);
/* Turn a box of which the edges are known; then they are those around it. */
void decode_turn(const Detector *d, const uint8_t *const *buffers, const Candidate *c, double edges[4], float xywha[5]);
/* Whether no neighbour of the eight has a larger score of the same class; NaN is larger than all. */
int is_peak(const Detector *d, const uint8_t *const *buffers, const Candidate *c);
/* Keep those of so many candidates that are peaks, in their order; return how many. */
int64_t keep_peaks(const Detector *d, const uint8_t *const *buffers, Candidate *candidates, int64_t n);
/* The points and coefficients of the candidates that are detections, in the order of candidates; rows: the number of a candidate's detection,
 * or -1. */
void decode_beside(const Detector *d, const uint8_t *const *buffers, const Candidate *candidates, const int32_t *rows, int64_t n,
                   const DetectionArrays *out);

#endif
