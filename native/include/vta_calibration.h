/* Computes layers on calibration data, and takes in what they meet: magnitudes of values, and how the values under a kernel vary
   together; and rounds weights by it.

   Results do not depend on the processor: products are added up one after the other, each rounded once. */
#ifndef VTA_CALIBRATION_H
#define VTA_CALIBRATION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A convolution of float data, (images, groups * channels, height, width), with weights of
   (groups * outputs, channels, kernel_height, kernel_width). */
typedef struct {
  int64_t images;
  int64_t groups;
  int64_t channels; /* of a group */
  int64_t outputs;  /* of a group */
  int64_t height;
  int64_t width;
  int64_t kernel_height;
  int64_t kernel_width;
  int64_t stride_height;
  int64_t stride_width;
  int64_t dilation_height;
  int64_t dilation_width;
  int64_t top; /* zeros around the data */
  int64_t left;
  int64_t bottom;
  int64_t right;
  int64_t out_height;
  int64_t out_width;
} vta_convolution;

/* What follows sums of products: a bias of each output channel, other values in the places of the outputs, and bounds, the larger of
   zero and a value among them. Without the first or the second it is NULL. */
typedef struct {
  const float *biases;
  const float *residual;
  int32_t rectifies; /* what is not above zero is zero; `least` and `most` are not looked at */
  float least;
  float most;
} vta_epilogue;

/* Convolves into `out`, (images, groups * outputs, out_height, out_width). The products of an output are added in the order of its
   weights; of more than 448 so many at a time, and what is left of at most 895 in two halves, the larger one first.
   With an `epilogue`, which may be NULL, what follows is done as well. Returns VTA_DONE, or VTA_FAILED without memory; VTA_MORE if
   what there is before the bounds is infinite or no number: then `out` is not to be looked at. */
int vta_convolve(const vta_convolution *convolution, const float *data, const float *weights, const vta_epilogue *epilogue,
                 float *out);

/* The same where each channel has one output of its own. Products are rounded before they are added, in the order of the weights. */
int vta_convolve_channels(const vta_convolution *convolution, const float *data, const float *weights,
                          const vta_epilogue *epilogue, float *out);

/* The sums of `count` values and others, with the bounds of what follows. Returns as vta_convolve does. */
int vta_add_tensors(const float *left, const float *right, int64_t count, const vta_epilogue *epilogue, float *out);

/* The largest of some magnitudes; NaN if one is of no number. */
float vta_largest(const float *values, int64_t count);

/* Adds the sum of the values of each channel to `sums`: of images, (images, channels, places), one after the other. */
void vta_channel_sums(const float *values, int64_t images, int64_t channels, int64_t places, double *sums);

/* Weights of a layer, what they became, whole numbers at the scale of each output, and the means of what they meet. */
typedef struct {
  const double *weights; /* groups * outputs * values */
  const int8_t *rounded; /* the same */
  const double *scales;  /* groups * outputs */
  const double *means;   /* groups * values */
  int64_t groups;
  int64_t outputs; /* of a group */
  int64_t values;
} vta_rounded_weights;

/* What each output loses on average because its weights are rounded. */
void vta_mean_losses(const vta_rounded_weights *weights, double *losses);

enum { VTA_HISTOGRAM_BINS = 2048 };

/* Counts of magnitudes in equal bins from 0 to `limit`. */
typedef struct {
  double limit;   /* 0 before the first value; doubled until it holds what comes */
  double largest; /* of what was counted */
  int64_t *counts;
  int64_t bins;   /* even, at most VTA_HISTOGRAM_BINS */
} vta_histogram;

/* Counts the magnitudes of values other than zero, `each` of them at a time; a part with one that is not finite is left out.
   Returns the largest magnitude of all parts: NaN if one is not a number. */
double vta_histogram_add(vta_histogram *histogram, const float *values, int64_t parts, int64_t each);

/* Where the patches of a convolution lie in its data, (rows, groups * channels, height, width) for each sample. */
typedef struct {
  int64_t rows;
  int64_t groups;
  int64_t channels; /* of a group */
  int64_t height;
  int64_t width;
  int64_t kernel_height;
  int64_t kernel_width;
  int64_t stride_height;
  int64_t stride_width;
  int64_t dilation_height;
  int64_t dilation_width;
  int64_t top;      /* zeros around the data */
  int64_t left;
  int64_t out_width;
  int64_t places;   /* that are looked at, of each row */
} vta_patches;

/* Sums over patches, less the middle of each value, of which 8 significant bits are kept. A patch has
   channels * kernel_height * kernel_width values, in a row of `stride` ones, a multiple of VTA_MOMENTS_STRIDE. Sums do not depend on
   how many samples come together: products are added up in single precision, those of VTA_MOMENTS_BLOCK patches at a time, and
   after every 4,096th patch in double precision. All start as zeros. */
typedef struct {
  const float *middles; /* groups * stride */
  float *waiting;       /* groups * VTA_MOMENTS_BLOCK * stride: the patches that do not fill a block yet */
  float *products;      /* groups * stride * stride */
  double *totals;       /* groups * stride */
  double *squares;      /* groups * stride * stride; above the diagonal alone */
  int64_t stride;
  int64_t met;          /* patches until now */
  int32_t vectors;      /* 1: the matrix tiles of the processor are not used; results are the same */
} vta_moments;

enum { VTA_MOMENTS_STRIDE = 32, VTA_MOMENTS_BLOCK = 32 };

/* Draws `places[layer]` different ones of `positions[layer]` places of each layer, for each sample, by `count` random numbers.
   `out` has those of the layers of the first sample, then those of the next. Returns how many numbers that took; -1 if there are
   too few, or no memory. */
int64_t vta_draw_places(const uint32_t *numbers, int64_t count, const int64_t *positions, const int64_t *places, int64_t layers,
                        int64_t samples, int64_t *out);

/* The first patches, as they are: groups * rows * places rows of `stride` values. */
void vta_moments_patches(const vta_patches *patches, const float *data, const int64_t *places, int64_t stride, float *out);

/* Whether this processor has matrix tiles (AMX) that this process may use. */
int vta_moments_has_tiles(void);

/* Takes in `samples` samples; `places` has those of each. Returns VTA_DONE, or VTA_FAILED without memory. */
int vta_moments_add(vta_moments *moments, const vta_patches *patches, const float *data, const int64_t *places, int64_t samples);

/* Takes in what waits; totals and squares are whole then. Returns VTA_DONE, or VTA_FAILED without memory. */
int vta_moments_end(const vta_moments *moments, const vta_patches *patches);

/* Puts the covariance of what one group has met into the place of its squares: of `count` patches whose values have `means`. */
void vta_moments_covariance(const vta_moments *moments, const double *means, int64_t values, int64_t count);

enum { VTA_FACTOR_ROWS = 8 };

/* L, with L L^T a covariance of `values` values in another order of them: row and column i are those of value order[i]. What is
   off its diagonal comes times `share`, and on it stands `own` (of each value, in the old order). Products are taken off one after
   the other, each rounded once.
   `lower` has blocks of VTA_FACTOR_ROWS rows and as many columns as all blocks have rows, column by column; what is right of the
   diagonal block is left as it is. Returns VTA_DONE, or VTA_MORE if the covariance is not positive definite, and has no L. */
int vta_factor_covariance(const double *covariance, const double *own, const int64_t *order, int64_t values, double share,
                          double *lower);

/* The squared error of each of `rows` rows of `values` weights, were they rounded to whole numbers within +-127 of its scale, halves
   to even. Of a weight it is found in float, and added up in double. */
void vta_weight_errors(const float *weights, const float *scales, int64_t rows, int64_t values, double *errors);

/* Rounds rows of weights to the nearest whole numbers within +-127 of the scale of each, halves up. */
void vta_round_floats(const float *weights, const double *scales, int64_t rows, int64_t values, int8_t *rounded);
void vta_round_doubles(const double *weights, const double *scales, int64_t rows, int64_t values, int8_t *rounded);

/* The sum of the magnitudes of each of `rows` rows of `values` weights. */
void vta_magnitude_sums(const int8_t *weights, int64_t rows, int64_t values, int64_t *sums);

/* Weights of layers in steps, and what they are rounded by. */
typedef struct {
  const double *levels; /* groups * outputs * values */
  const double *lower;  /* of each group as vta_factor_covariance gives it: L, with L L^T the covariance of values in `order` */
  const int64_t *order; /* groups * values; the last one is rounded first */
  double *rounded;      /* as `levels`: whole numbers within +-127 */
  int64_t groups;
  int64_t outputs;
  int64_t values;
} vta_roundings;

/* Rounds the weights of each output one after the other, each to the nearest of what makes up best for the errors of those before
   it; or each to the nearest, where results differ less then. Returns VTA_DONE, or VTA_FAILED without memory. */
int vta_compensate(const vta_roundings *roundings);

#ifdef __cplusplus
}
#endif

#endif
