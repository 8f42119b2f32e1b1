// Physical addresses have more bits than a 32-bit processor's.
#define _FILE_OFFSET_BITS 64
#include "runtime/device/mapped.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "runtime/file/file_error.h"

namespace vta {

namespace {

constexpr size_t kWord = 4;
constexpr int kMostMaps = 32;

std::string hexadecimal(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// Where the kernel says what devices are; tests have their own.
std::string system_folder() {
  const char* given = std::getenv("VTA_SYSFS");
  return given == nullptr ? "/sys" : given;
}

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

// A number in a file of the kernel's. Throws FileError if there is none.
uint64_t number_in(const std::string& path) {
  // These files say that they have a page, and have less.
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  char text[64] = "";
  const ssize_t got = file < 0 ? -1 : ::read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  if (got <= 0) throw FileError(path + ": cannot be read: is the driver loaded?");
  char* end = nullptr;
  const uint64_t value = std::strtoull(text, &end, 0);
  if (end == text) throw FileError(path + ": holds no number");
  return value;
}

bool is_file(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

}  // namespace

Mapped::Mapped(const std::string& path, uint64_t offset, size_t nbytes, bool past_caches) : start_(nullptr), nbytes_(nbytes) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | (past_caches ? O_SYNC : 0));
  if (file < 0) throw FileError(path + ": cannot be opened: " + std::strerror(errno) + "; it takes the rights of root");
  if (offset > static_cast<uint64_t>(std::numeric_limits<off_t>::max())) {
    close(file);
    throw FileError(path + ": " + hexadecimal(offset) + " is beyond what this machine maps");
  }
  start_ = mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset));
  const int reason = errno;
  const off_t end = lseek(file, 0, SEEK_END);
  close(file);
  if (start_ == MAP_FAILED) {
    throw FileError(path + ": " + std::to_string(nbytes) + " bytes at " + hexadecimal(offset) + " cannot be mapped: " + std::strerror(reason));
  }
  // A regular file that ends before is a stand-in that is too short; devices have no end.
  if (end > 0 && static_cast<uint64_t>(end) < offset + nbytes) {
    munmap(start_, nbytes);
    throw FileError(path + ": " + std::to_string(nbytes) + " bytes at " + hexadecimal(offset) + " cannot be mapped: it is too short");
  }
}

Mapped::~Mapped() {
  if (start_ != nullptr) munmap(start_, nbytes_);
}

Mapped::Mapped(Mapped&& other) noexcept : start_(other.start_), nbytes_(other.nbytes_) { other.start_ = nullptr; }

uint32_t Mapped::word(size_t offset) const { return static_cast<const volatile uint32_t*>(start_)[offset / kWord]; }

void Mapped::set_word(size_t offset, uint32_t value) { static_cast<volatile uint32_t*>(start_)[offset / kWord] = value; }

void Mapped::write(size_t offset, Span data) {
  for (size_t at = 0; at < data.size;) {
    const size_t place = (offset + at) / kWord * kWord, skipped = offset + at - place;
    const size_t count = std::min(kWord - skipped, data.size - at);
    uint32_t value = count < kWord ? word(place) : 0;
    std::memcpy(reinterpret_cast<uint8_t*>(&value) + skipped, data.data + at, count);
    set_word(place, value);
    at += count;
  }
}

void Mapped::read(size_t offset, uint8_t* data, size_t nbytes) const {
  for (size_t at = 0; at < nbytes;) {
    const size_t place = (offset + at) / kWord * kWord, skipped = offset + at - place;
    const size_t count = std::min(kWord - skipped, nbytes - at);
    const uint32_t value = word(place);
    std::memcpy(data + at, reinterpret_cast<const uint8_t*>(&value) + skipped, count);
    at += count;
  }
}

Mapped map_registers(const std::string& path, uint64_t address, size_t nbytes) {
  const std::string device = base_name(path);
  if (device.rfind("uio", 0) != 0) return Mapped(path, address, nbytes, true);
  const std::string maps = system_folder() + "/class/uio/" + device + "/maps/map";
  for (int index = 0; index < kMostMaps && is_file(maps + std::to_string(index) + "/addr"); ++index) {
    const std::string map = maps + std::to_string(index);
    if (number_in(map + "/addr") != address) continue;
    const uint64_t size = number_in(map + "/size");
    if (size < nbytes) throw FileError(path + ": its map " + std::to_string(index) + " has " + std::to_string(size) + " bytes of " + std::to_string(nbytes));
    return Mapped(path, static_cast<uint64_t>(index) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)), nbytes, true);
  }
  throw FileError(path + ": has no map at " + hexadecimal(address) + ", where the board's description has registers");
}

ContiguousMemory map_memory(const std::string& path, const Board& board) {
  const std::string device = base_name(path);
  if (device.rfind("udmabuf", 0) != 0) {
    return {Mapped(path, board.memory_start, static_cast<size_t>(board.memory_end - board.memory_start), true),
            board.memory_start + static_cast<uint64_t>(board.device_offset)};
  }
  std::string folder = system_folder() + "/class/u-dma-buf/" + device;
  if (!is_file(folder + "/size")) folder = system_folder() + "/class/udmabuf/" + device;
  const uint64_t start = number_in(folder + "/phys_addr"), size = number_in(folder + "/size");
  if (start < board.memory_start || size > board.memory_end - board.memory_start || start - board.memory_start > board.memory_end - board.memory_start - size) {
    throw FileError(path + ": its memory at " + hexadecimal(start) + " is outside of the window of board " + board.name);
  }
  return {Mapped(path, 0, static_cast<size_t>(size), !board.is_coherent), start + static_cast<uint64_t>(board.device_offset)};
}

void wait_for_memory() {
#if defined(__arm__) || defined(__aarch64__)
  __asm__ volatile("dsb sy" ::: "memory");
#else
  __sync_synchronize();
#endif
}

}  // namespace vta
