#include "runtime/device/region.h"

#include "isa/engine_error.h"
#include "isa/instruction.h"
#include "runtime/file/file_error.h"
#include "runtime/plan/packing.h"

namespace vta {

namespace {

constexpr int kDramBaseBit = 26;

std::string member(const PlanRegion& region, const char* part) { return "regions/" + std::to_string(region.index) + "/" + part; }

bool moves(const Header& header, const Transfer& transfer) {
  const bool is_transfer = header.opcode == static_cast<uint8_t>(Opcode::kLoad) || header.opcode == static_cast<uint8_t>(Opcode::kStore);
  return is_transfer && transfer.x_size > 0;
}

[[noreturn]] void fail_at(const PlanRegion& region, uint64_t index, const std::string& what) {
  throw FileError("region " + shown(region.name) + ": instruction " + std::to_string(index) + " " + what);
}

void check_instruction(const Words& words, uint64_t index, const PlanRegion& region, const Geometry& geometry) {
  const Header header = decode_header(words);
  check_header(header, index, geometry);
  const Transfer transfer = decode_transfer(words);
  if (!moves(header, transfer)) return;
  if (transfer.memory_type >= kMemoryCount) fail_at(region, index, "has memory type " + std::to_string(transfer.memory_type));
  const int64_t size = geometry.elem_bytes(static_cast<Memory>(transfer.memory_type));
  if (transfer.y_size == 0) return;
  const int64_t end = (transfer.dram_base + (transfer.y_size - 1) * transfer.x_stride + transfer.x_size) * size;
  if (end > static_cast<int64_t>(region.image_bytes)) {
    fail_at(region, index, "transfers up to byte " + std::to_string(end) + "; the image has " + std::to_string(region.image_bytes));
  }
}

}  // namespace

void check_program(Span stream, const PlanRegion& region, const vta_geometry& geometry) {
  const Geometry sizes(geometry);
  const uint64_t count = stream.size / kInstructionBytes;
  if (stream.size % kInstructionBytes != 0 || count == 0) throw FileError("region " + shown(region.name) + ": its program is cut");
  for (uint64_t index = 0; index < count; ++index) {
    try {
      check_instruction(read_words(stream.data, index), index, region, sizes);
    } catch (const EngineError& problem) {
      throw FileError("region " + shown(region.name) + ": " + problem.what());
    }
  }
  if (decode_header(read_words(stream.data, count - 1)).opcode != static_cast<uint8_t>(Opcode::kFinish)) {
    fail_at(region, count - 1, "is the last one, and not FINISH");
  }
}

std::vector<uint8_t> placed_stream(Span stream, uint64_t base, const vta_geometry& geometry) {
  const Geometry sizes(geometry);
  std::vector<uint8_t> placed(stream.data, stream.data + stream.size);
  for (uint64_t index = 0; index < stream.size / kInstructionBytes; ++index) {
    const Words words = read_words(stream.data, index);
    const Transfer transfer = decode_transfer(words);
    if (!moves(decode_header(words), transfer)) continue;
    const int64_t size = sizes.elem_bytes(static_cast<Memory>(transfer.memory_type));
    const uint64_t moved = static_cast<uint64_t>(transfer.dram_base) + base / static_cast<uint64_t>(size);
    if (moved > UINT32_MAX) throw FileError("the memory of the device lies beyond the program's addresses");
    const uint64_t mask = uint64_t{UINT32_MAX} << kDramBaseBit, low = (words.low & ~mask) | moved << kDramBaseBit;
    for (int byte = 0; byte < 8; ++byte) placed[index * kInstructionBytes + static_cast<size_t>(byte)] = static_cast<uint8_t>(low >> 8 * byte);
  }
  return placed;
}

LoadedRegion::LoadedRegion(const PlanRegion& region, const Archive& archive, const vta_geometry& geometry, Device& device)
    : geometry_(geometry), device_(device), address_(0), stream_(0) {
  const Span stream = archive.member(member(region, "instructions")), image = archive.member(member(region, "image"));
  check_program(stream, region, geometry);
  if (image.size > region.image_bytes) throw FileError("region " + shown(region.name) + ": its constants do not fit its image");
  address_ = device.allocate(region.image_bytes);
  stream_ = device.load(placed_stream(stream, address_, geometry));
  device.write(address_, image);
}

void LoadedRegion::write(const PlanBinding& binding, const PlanValue& value, const uint8_t* data) {
  if (binding.lies_packed) return device_.write(address_ + binding.offset, {data, binding.nbytes});
  packed_.resize(binding.nbytes);
  pack(data, value.shape, geometry_, binding.planes, packed_.data());
  device_.write(address_ + binding.offset, {packed_.data(), packed_.size()});
}

void LoadedRegion::read(const PlanBinding& binding, const PlanValue& value, uint8_t* data) {
  if (binding.lies_packed) return device_.read(address_ + binding.offset, data, binding.nbytes);
  packed_.resize(binding.nbytes);
  device_.read(address_ + binding.offset, packed_.data(), packed_.size());
  unpack(packed_.data(), value.shape, geometry_, binding.planes, data);
}

}  // namespace vta
