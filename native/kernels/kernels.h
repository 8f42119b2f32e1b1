// The inner loops of GEMM and ALU, in several versions for the vector units of different processors.
#ifndef VTA_KERNELS_H
#define VTA_KERNELS_H

#include <cstdint>

#include "isa/instruction.h"

namespace vta {

// A part of a loop nest: o in [out_first, out_last), i in [in_first, in_last), all micro-ops, in this order.
// All indices that it produces must be inside the buffers.
struct NestPart {
  const Uop* uops;
  int64_t uop_count;
  int64_t out_first;
  int64_t out_last;
  int64_t in_first;
  int64_t in_last;
  Factors dst;
  Factors src;
  Factors wgt;
};

struct GemmJob {
  NestPart part;
  const uint8_t* inp;  // rows in the kernel's own layout
  const uint8_t* wgt;
  int32_t* acc;  // rows of BATCH * BLOCK, sign-extended
  int8_t* out;   // or null: not wanted
  int batch;
};

struct AluJob {
  NestPart part;
  int32_t* acc;
  int8_t* out;
  int64_t lanes;
  AluOp op;
  bool use_imm;
  int32_t imm;
};

// What a chain does with a row, after what came before it. kShr is a shift by the lanes of another row.
enum class ChainOp : uint8_t { kFill, kMin, kMax, kAdd, kMul, kRight, kLeft, kShr };

struct ChainLink {
  ChainOp op;
  bool use_src;
  int32_t imm;  // the same for all lanes; of kRight and kLeft from 0 to 31
  int64_t src;  // the first row
  Factors factors;
};

// Several operations, one after the other on each row of two loops. Its rows are all different, and none is the source of a link, so
// that the order of the rows does not matter.
struct ChainJob {
  int64_t dst;
  Factors factors;
  int64_t iter_out;
  int64_t iter_in;
  const ChainLink* links;
  int64_t count;
  int32_t* acc;
  int8_t* out;  // or null: not wanted
  int64_t lanes;  // a multiple of kChainLanes
};

constexpr int64_t kChainLanes = 16;

// One version of the inner loops for one geometry. INP and WGT rows are kept in SRAM in the layout that gemm reads;
// pack_inp and pack_wgt make it from `rows` elements as they are in DRAM.
struct Kernels {
  const char* name;
  int64_t inp_row_bytes;
  int64_t wgt_row_bytes;
  void (*pack_inp)(const Geometry& geometry, const uint8_t* elements, int64_t rows, uint8_t* packed);
  void (*pack_wgt)(const Geometry& geometry, const uint8_t* elements, int64_t rows, uint8_t* packed);
  void (*gemm)(const GemmJob& job);
  void (*alu)(const AluJob& job);
  void (*chain)(const ChainJob& job);
};

Kernels portable_kernels(const Geometry& geometry);
bool has_avx2();
Kernels avx2_kernels(const Geometry& geometry);
bool has_avx512();
Kernels avx512_kernels(const Geometry& geometry);

// The kernels of a VTA_KERNEL_* level. Throws std::invalid_argument if the processor lacks it.
Kernels select_kernels(const Geometry& geometry, int level);

}  // namespace vta

#endif
