// What is true of a term, and how its reduction is cut into steps.
#ifndef VTA_EMIT_TERM_H
#define VTA_EMIT_TERM_H

#include <algorithm>
#include <cstdint>

#include "vta_stream_gemm.h"

namespace vta {

using Term = vta_gemm_term;

// A box of the reduction: input channel blocks (of the tile, in a diagonal term) and kernel positions.
struct ReductionStep {
  int64_t block, blocks, kh, kh_count, kw, kw_count;
};

// The source has zeros between its rows or columns, as for a transposed convolution.
inline bool dilated(const Term& t) { return t.source_dilation[0] != 1 || t.source_dilation[1] != 1; }

// Output position (y, x) reads input position (y, x) and no other, or all read the only one.
inline bool pointwise(const Term& t) {
  const bool in_place = t.strides[0] == t.strides[1] && t.strides[0] <= 1 && t.padding[0] == 0 && t.padding[1] == 0;
  return in_place && t.kernel[0] == 1 && t.kernel[1] == 1 && t.taps == 1 && !dilated(t);
}

// Its weights stay in rows of their own while the channel tile stays the same.
inline bool fixed_weights(const Term& t) { return t.diagonal && pointwise(t); }

inline int64_t fixed_rows(const Term& t, int64_t tile_co) { return fixed_weights(t) ? std::min(t.weight_blocks, tile_co) : 0; }

// One block of weights serves all channel blocks.
inline bool shared_weights(const Term& t) { return t.weight_blocks == 1; }

// Only the weight blocks that are not zero are loaded and multiplied with.
inline bool keeps_blocks(const Term& t) { return t.nonzero && !fixed_weights(t) && !dilated(t); }

}  // namespace vta

#endif
