/* Looks for the factors of thresholds: (((x * factor + term) >> shift) * second + outer) >> 24. */
#ifndef VTA_THRESHOLDS_H
#define VTA_THRESHOLDS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The thresholds of one channel. */
typedef struct {
  const int64_t *at;    /* the smallest x of each level, rising */
  const int64_t *level; /* these levels */
  int64_t count;
  int64_t width;        /* of the clamped x */
  double slope;         /* levels for each x, about */
  double delay;          /* by how much of a level the product of an x below zero is less */
} vta_thresholds;

/* Which factors are tried. */
typedef struct {
  int32_t least_shift;
  int32_t most_shift;
  int32_t pairs;  /* of second factor and shift, those that promise most first */
  int32_t parts;  /* outer terms between 0 and the second factor */
  int32_t wanted; /* results after which the search ends */
} vta_threshold_limits;

typedef struct {
  int64_t factor;
  int64_t second;
  int64_t shift;
  int64_t outer;
} vta_threshold_factors;

/* Fills `found` with `wanted` entries: factors for which some term puts every step right, then the most promising others.
   Returns how many of the first kind there are. Ends and starts are the caller's to check. */
int32_t vta_threshold_search(const vta_thresholds *thresholds, const vta_threshold_limits *limits, vta_threshold_factors *found);

/* For each of `count` channels the smallest start in least..most whose product with the factor, modulo 2^32, lies in
   lowest..highest; -1 where none is found within so many wraps of the product. Factors are positive. */
typedef struct {
  const int64_t *factor;
  const int64_t *lowest;
  const int64_t *highest;
  const int64_t *least;
  const int64_t *most;
  int64_t *start;
  int64_t count;
  int64_t wraps;
} vta_threshold_starts_job;

void vta_threshold_starts(const vta_threshold_starts_job *job);

#ifdef __cplusplus
}
#endif

#endif
