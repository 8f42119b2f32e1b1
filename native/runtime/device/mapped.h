// Registers and contiguous memory of a board, mapped into this process.
#ifndef VTA_RUNTIME_MAPPED_H
#define VTA_RUNTIME_MAPPED_H

#include <string>

#include "runtime/device/board.h"
#include "runtime/file/bytes.h"

namespace vta {

// A part of a device file. Accessed by whole, aligned words, which is all that memory past the caches takes.
class Mapped {
 public:
  // Throws FileError if it cannot be mapped.
  Mapped(const std::string& path, uint64_t offset, size_t nbytes, bool past_caches);
  ~Mapped();
  Mapped(Mapped&& other) noexcept;
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  uint32_t word(size_t offset) const;
  void set_word(size_t offset, uint32_t value);
  void write(size_t offset, Span data);
  void read(size_t offset, uint8_t* data, size_t nbytes) const;
  size_t size() const { return nbytes_; }

 private:
  void* start_;
  size_t nbytes_;
};

// The registers at a physical address, by way of /dev/mem, a file like it, or a UIO device, one of whose maps must be there.
Mapped map_registers(const std::string& path, uint64_t address, size_t nbytes);

// Contiguous memory, and its first byte address as the accelerator sees it.
struct ContiguousMemory {
  Mapped words;
  uint64_t address;
};

// By way of /dev/mem or a file like it, the board's whole window; or of a u-dma-buf, all of it.
ContiguousMemory map_memory(const std::string& path, const Board& board);

// Everything written before it is there for the accelerator, and everything that it wrote is read after it.
void wait_for_memory();

}  // namespace vta

#endif
