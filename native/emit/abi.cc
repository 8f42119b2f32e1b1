// The C interface of streams. No exception leaves it.
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>

#include "emit/emit_error.h"
#include "emit/gemm/gemm_template.h"
#include "emit/planned.h"
#include "emit/stream.h"
#include "emit/window.h"
#include "vta_stream_gemm.h"
#include "vta_stream.h"

struct vta_stream {
  vta::Stream stream;
  vta::PlannedStream planned;
  std::string error;
};

namespace {

void keep(vta_stream* handle, const char* message) {
  try {
    handle->error = message;
  } catch (const std::exception&) {
    handle->error.clear();
  }
}

template <typename Body>
int32_t guarded(vta_stream* handle, const Body& body) {
  try {
    body(handle->stream);
    return VTA_DONE;
  } catch (const vta::UopsOverflow& overflow) {
    keep(handle, overflow.what());
    return VTA_UOPS_OVERFLOW;
  } catch (const std::exception& failure) {
    keep(handle, failure.what());
    return VTA_FAILED;
  }
}

vta::Dim dim_of(const vta_loop& loop) { return {loop.extent, {loop.step[0], loop.step[1], loop.step[2]}}; }

std::vector<vta::Dim> dims_of(const vta_loop* loops, int64_t count) {
  std::vector<vta::Dim> dims;
  for (int64_t i = 0; i < count; ++i) dims.push_back(dim_of(loops[i]));
  return dims;
}

vta::LoopedUops looped(vta::Stream& stream, const int64_t* uops, int64_t count, const vta_loop loops[2]) {
  if (count < 1) throw vta::EmitError("a micro-op sequence is empty");
  std::vector<vta::Rows> rows(static_cast<size_t>(count));
  std::memcpy(rows.data(), uops, rows.size() * sizeof(vta::Rows));
  return {stream.sequence(rows.data(), count), dim_of(loops[0]), dim_of(loops[1])};
}

void copy_rows(const vta::Stream& stream, const vta_stream_columns& to) {
  const auto& rows = stream.rows();
  for (size_t i = 0; i < rows.size(); ++i) {
    const vta::InstructionRow& row = rows[i];
    if (to.fields) row.write(to.fields + i * vta::kAllFields);
    if (to.units) to.units[i] = static_cast<int8_t>(row.unit);
    if (to.segments) to.segments[i] = static_cast<int8_t>(row.segment);
    if (to.operators) to.operators[i] = row.op;
    if (to.tiles) to.tiles[i] = row.tile;
    if (to.access_ends) to.access_ends[i] = row.access_end;
  }
}

bool copy_words(const vta::Stream& stream, uint64_t* words) {
  bool fits = true;
  for (const vta::InstructionRow& row : stream.rows()) {
    vta::Packed packed;
    fits &= vta::encode(row, 0, stream.geometry(), packed);
    words = std::copy(packed.begin(), packed.end(), words);
  }
  return fits;
}

void copy_uops(const vta::UopStore& uops, int64_t* ends, int64_t* rows) {
  int64_t end = 0;
  for (int64_t number : uops.in_dram()) {
    end += uops[number].count;
    if (ends) *ends++ = end;
    if (!rows) continue;
    const vta::Rows* first = uops.uops_of(number);
    for (const vta::Rows* uop = first; uop != first + uops[number].count; ++uop) rows = std::copy(uop->begin(), uop->end(), rows);
  }
}

}  // namespace

vta_stream* vta_stream_create(const vta_stream_target* target, char* error, size_t error_bytes) {
  try {
    return std::make_unique<vta_stream>(vta_stream{vta::Stream(*target), {}, {}}).release();
  } catch (const std::exception& failure) {
    std::snprintf(error, error_bytes, "%s", failure.what());
    return nullptr;
  }
}

void vta_stream_free(vta_stream* stream) { delete stream; }

const char* vta_stream_error(const vta_stream* stream) { return stream->error.c_str(); }

void vta_stream_begin_operator(vta_stream* stream, int32_t op, int32_t transfers) {
  stream->stream.begin_operator(op, transfers);
}

int32_t vta_stream_end_operator(vta_stream* handle) {
  return guarded(handle, [](vta::Stream& stream) { stream.end_operator(); });
}

void vta_stream_set_tile(vta_stream* stream, int32_t tile) { stream->stream.set_tile(tile); }

int32_t vta_stream_gather_uop_loads(vta_stream* handle, int32_t* gathered) {
  return guarded(handle, [=](vta::Stream& stream) { *gathered = stream.gather_uop_loads(); });
}

void vta_stream_select(vta_stream* handle, const int64_t* order, int64_t count) { handle->stream.select(order, count); }

int64_t vta_stream_trim_resets(vta_stream* handle, int64_t* needless) {
  std::vector<int64_t> found;
  handle->stream.trim_resets(found);
  std::copy(found.begin(), found.end(), needless);
  std::vector<int64_t> kept;
  auto next = found.begin();
  for (int64_t i = 0; i < static_cast<int64_t>(handle->stream.rows().size()); ++i) {
    if (next != found.end() && *next == i) {
      ++next;
    } else {
      kept.push_back(i);
    }
  }
  handle->stream.select(kept.data(), static_cast<int64_t>(kept.size()));
  return static_cast<int64_t>(found.size());
}

int32_t vta_stream_load(vta_stream* handle, const vta_stream_load_job* job) {
  return guarded(handle, [=](vta::Stream& stream) {
    const auto memory = static_cast<vta::Memory>(job->memory);
    const auto segment = static_cast<vta::Segment>(job->segment);
    stream.load({memory, job->sram, segment, job->dram, job->x_size, job->y_size, job->x_stride, job->top, job->left, job->bottom,
                 job->right});
  });
}

int32_t vta_stream_store(vta_stream* handle, int64_t sram, int64_t dram, int64_t x_size, int64_t y_size, int64_t x_stride) {
  return guarded(handle, [=](vta::Stream& stream) { stream.store(sram, dram, x_size, y_size, x_stride); });
}

int32_t vta_stream_gemm(vta_stream* handle, const int64_t* uops, int64_t uop_count, const vta_loop loops[2], int32_t reset,
                        int32_t is_transfer) {
  const auto kind = reset ? vta::GemmKind::kReset : is_transfer ? vta::GemmKind::kTransfer : vta::GemmKind::kMultiply;
  return guarded(handle, [=](vta::Stream& stream) { stream.gemm(looped(stream, uops, uop_count, loops), kind); });
}

int32_t vta_stream_alu(vta_stream* handle, int64_t op, const int64_t* uops, int64_t uop_count, const vta_loop loops[2],
                       int32_t use_imm, int64_t imm) {
  const auto immediate = use_imm ? std::optional<int64_t>(imm) : std::nullopt;
  return guarded(handle, [=](vta::Stream& stream) {
    const auto what = looped(stream, uops, uop_count, loops);
    if (op == static_cast<int64_t>(vta::AluOp::kRequantize)) {
      stream.requantize(what, imm);
    } else {
      stream.alu(static_cast<vta::AluOp>(op), what, immediate);
    }
  });
}

int32_t vta_stream_gemm_nest(vta_stream* handle, const vta_loop* loops, int64_t loop_count, const int64_t base[3],
                             int32_t is_transfer) {
  return guarded(handle, [=](vta::Stream& stream) {
    const auto kind = is_transfer ? vta::GemmKind::kTransfer : vta::GemmKind::kMultiply;
    stream.gemm_nest(dims_of(loops, loop_count), {base[0], base[1], base[2]}, kind);
  });
}

int32_t vta_stream_alu_nest(vta_stream* handle, int64_t op, const vta_loop* loops, int64_t loop_count, const int64_t base[3]) {
  return guarded(handle, [=](vta::Stream& stream) {
    stream.alu_nest(static_cast<vta::AluOp>(op), dims_of(loops, loop_count), {base[0], base[1], base[2]});
  });
}

int32_t vta_stream_load_window(vta_stream* handle, const vta_tensor* tensor, const vta_box* box, int64_t sram) {
  return guarded(handle, [=](vta::Stream& stream) { vta::load_window(stream, *tensor, *box, sram); });
}

int32_t vta_stream_store_tile(vta_stream* handle, const vta_tensor* tensor, const vta_box* box, int64_t sram) {
  return guarded(handle, [=](vta::Stream& stream) { vta::store_tile(stream, *tensor, *box, sram); });
}

int32_t vta_stream_gemm_operator(vta_stream* handle, const vta_gemm_operator* op, const vta_gemm_schedule* schedule) {
  return guarded(handle, [=](vta::Stream& stream) { vta::GemmTemplate(stream, *op, *schedule).run(); });
}

int64_t vta_stream_add_constant(vta_stream* stream, int32_t memory, int64_t nbytes) {
  vta_constant constant{};
  constant.kind = VTA_CONSTANT_GIVEN;
  constant.nbytes = nbytes;
  return stream->stream.add_constant(constant, static_cast<vta::Memory>(memory));
}

vta_stream_sizes vta_stream_get_sizes(const vta_stream* handle) {
  const vta::Stream& stream = handle->stream;
  const vta::Layout layout(stream);
  return {static_cast<int64_t>(stream.rows().size()),           static_cast<int64_t>(stream.accesses().size()),
          static_cast<int64_t>(stream.uops().in_dram().size()), stream.uops().count(),
          static_cast<int64_t>(stream.constants().size()),      stream.constants_bytes(),
          layout.constants_at,                                  layout.arena_at};
}

int32_t vta_stream_copy(const vta_stream* handle, const vta_stream_columns* columns) {
  const vta::Stream& stream = handle->stream;
  copy_rows(stream, *columns);
  const auto& accesses = stream.accesses();
  if (columns->accesses) std::memcpy(columns->accesses, accesses.data(), accesses.size() * sizeof accesses[0]);
  copy_uops(stream.uops(), columns->sequence_ends, columns->uops);
  return !columns->words || copy_words(stream, columns->words) ? VTA_DONE : VTA_FAILED;
}

void vta_stream_copy_constants(const vta_stream* stream, int64_t first, vta_constant* constants) {
  const auto& all = stream->stream.constants();
  std::copy(all.begin() + first, all.end(), constants);
}

int64_t vta_stream_plan(vta_stream* stream, int64_t arena, int32_t serial) {
  return stream->planned.plan(stream->stream, arena, serial != 0);
}

void vta_stream_copy_planned(const vta_stream* stream, int64_t base, int64_t* fields, int64_t* source) {
  stream->planned.copy(stream->stream, base, fields, source);
}

int32_t vta_stream_encode_planned(const vta_stream* stream, int64_t base, uint8_t* bytes) {
  return stream->planned.encode(stream->stream, base, bytes) ? VTA_DONE : VTA_FAILED;
}
