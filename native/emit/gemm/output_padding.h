// Fills what lies around an operator's output: VTA pads with zero only, and zero is not always what padding stands for.
#ifndef VTA_EMIT_OUTPUT_PADDING_H
#define VTA_EMIT_OUTPUT_PADDING_H

#include "emit/stream.h"
#include "vta_stream_gemm.h"

namespace vta {

// Stores the value of the padding around the output in the stored tensor.
void store_output_padding(Stream& stream, const vta_gemm_operator& op, int64_t base);

}  // namespace vta

#endif
