// Files read whole, and numbers in them.
#ifndef VTA_RUNTIME_BYTES_H
#define VTA_RUNTIME_BYTES_H

#include <cstdint>
#include <string>
#include <vector>

namespace vta {

// Bytes of a file that somebody else keeps.
struct Span {
  const uint8_t* data = nullptr;
  size_t size = 0;
};

// The content of a regular file of at most `most` bytes. Throws FileError naming it.
std::vector<uint8_t> read_file(const std::string& path, uint64_t most);

// Writes a file whole or not at all. Throws FileError naming it.
void write_file(const std::string& path, const std::vector<uint8_t>& content);

// Little endian, at any address.
inline uint16_t read_u16(const uint8_t* at) { return static_cast<uint16_t>(at[0] | at[1] << 8); }
inline uint32_t read_u32(const uint8_t* at) { return read_u16(at) | static_cast<uint32_t>(read_u16(at + 2)) << 16; }
inline uint64_t read_u64(const uint8_t* at) { return read_u32(at) | static_cast<uint64_t>(read_u32(at + 4)) << 32; }

inline void write_u32(uint8_t* at, uint32_t value) {
  for (int byte = 0; byte < 4; ++byte) at[byte] = static_cast<uint8_t>(value >> 8 * byte);
}

inline void append(std::vector<uint8_t>& content, uint64_t value, int bytes) {
  for (int byte = 0; byte < bytes; ++byte) content.push_back(static_cast<uint8_t>(value >> 8 * byte));
}

}  // namespace vta

#endif
