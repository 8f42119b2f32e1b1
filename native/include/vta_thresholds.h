/* Looks for the integers of thresholds: (((x * factor + term) >> shift) * second + outer) >> 24, and others of their kind. */
#ifndef VTA_THRESHOLDS_H
#define VTA_THRESHOLDS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Thresholds, one a row. Arrays have a value for each row. */
typedef struct {
  const int64_t *at;          /* rows * count: the smallest x of each level above `low`; rows never fall */
  int64_t count;
  int64_t low;
  const int64_t *begin;       /* the steps that some x goes up, from `begin` to before `end` */
  const int64_t *end;
  const int64_t *first;       /* x is clamped to first..last */
  const int64_t *last;
  const int64_t *least_start; /* the start that is added to x, from the least to the most */
  const int64_t *most_start;
  const double *slope;        /* levels for each x, about */
  const double *delay;         /* by how much of a level the product of an x below zero is less; null: of none */
} vta_thresholds;

/* How the steps are computed. */
enum {
  VTA_FORM_ONE = 0,    /* (x * factor + term) >> 24 */
  VTA_FORM_TWO = 1,    /* (((x * factor + term) >> shift) * second + outer) >> 24 */
  VTA_FORM_BRANCH = 2, /* (x * factor + term + ((((x + start) >> shift) * second) >> branch_shift)) >> 24 */
};

/* Candidates: `tries` of them for each of `count` rows, those of a row together. */
typedef struct {
  int64_t form;
  int64_t wraps; /* starts are looked for up to so many wraps of the product */
  const int64_t *row;
  int64_t count;
  int64_t tries;
  const int64_t *factor;
  const int64_t *second;
  const int64_t *shift;
  const int64_t *outer;
  const int64_t *branch_shift;
} vta_threshold_offer;

/* The best candidate of each row until now. */
typedef struct {
  int64_t *factor;
  int64_t *second;
  int64_t *shift;
  int64_t *outer;
  int64_t *branch_shift;
  int64_t *lowest;  /* the terms that put all steps right, or the one that comes nearest */
  int64_t *highest;
  int64_t *slack;   /* highest - lowest; below zero where no term does */
  int64_t *start;   /* that stands for such a term; -1 where there is none */
} vta_threshold_best;

/* Takes candidates one after the other until one is exact and, unless it is a branch, has a start; keeps the better ones: those
   with more slack until one is exact, then one with a start. */
void vta_threshold_consider(const vta_thresholds *thresholds, const vta_threshold_offer *offer, const vta_threshold_best *best);

/* Which factors are tried. */
typedef struct {
  int32_t least_shift;
  int32_t most_shift;
  int32_t pairs;  /* of second factor and shift, those that promise most first */
  int32_t parts;  /* outer terms between 0 and the second factor */
  int32_t wanted; /* proposals after which the search ends */
} vta_threshold_limits;

/* Looks for two factors for each row of an offer of form two, whose candidates are not read, and considers what it finds: what
   puts every step right, or else what promises most. Sets exact[i] where there is something of the first kind for the row. */
void vta_threshold_propose(const vta_thresholds *thresholds, const vta_threshold_limits *limits, const vta_threshold_offer *offer,
                           const vta_threshold_best *best, uint8_t *exact);

/* Gives each row without a start one that stands for its term, or for one off by less than half a factor. That moves steps by at
   most one x; where a row was exact, it may not be any more. */
void vta_threshold_settle(const vta_thresholds *thresholds, const vta_threshold_offer *offer, const vta_threshold_best *best);

/* The smallest start in least..most whose product with a positive factor, modulo 2^32, lies in lowest..highest; -1 where none is
   found within so many wraps of the product. */
int64_t vta_threshold_start(int64_t factor, int64_t lowest, int64_t highest, int64_t least, int64_t most, int64_t wraps);

/* Writes, for each of `rows` pairs of a multiplier in 0..2^31 - 1 and an exponent up to 31, the smallest x whose product with
   multiplier * 2^(exponent - 31) is at least each of `count` levels of up to 9 bits: rounded to a doubled high product, then
   shifted with halves going away from zero, as TFLite does. Where the multiplier is 0, +-2^40: beyond every int32. */
void vta_requantized_steps(const int64_t *levels, int64_t count, const int64_t *multiplier, const int64_t *exponent, int64_t rows,
                           int64_t *at);

/* Moves steps, `count` of each row, that no x meets to the ends of its range, least to most + 1; rows never fall. Sets how many
   of a row then lie at the least x, and how many no further than the most. */
void vta_threshold_ends(int64_t *at, int64_t count, const int64_t *least, const int64_t *most, int64_t rows, int64_t *begin,
                        int64_t *end);

#ifdef __cplusplus
}
#endif

#endif
