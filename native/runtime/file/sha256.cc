#include "runtime/file/sha256.h"

#include <array>
#include <cstring>

namespace vta {

namespace {

constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t turned(uint32_t value, int count) { return value >> count | value << (32 - count); }

void add_block(std::array<uint32_t, 8>& state, const uint8_t* block) {
  std::array<uint32_t, 64> w{};
  for (size_t at = 0; at < 16; ++at) {
    const uint8_t* word = block + 4 * at;
    w[at] = static_cast<uint32_t>(word[0]) << 24 | static_cast<uint32_t>(word[1]) << 16 | static_cast<uint32_t>(word[2]) << 8 | word[3];
  }
  for (size_t at = 16; at < 64; ++at) {
    const uint32_t a = w[at - 15], b = w[at - 2];
    w[at] = w[at - 16] + (turned(a, 7) ^ turned(a, 18) ^ a >> 3) + w[at - 7] + (turned(b, 17) ^ turned(b, 19) ^ b >> 10);
  }
  std::array<uint32_t, 8> s = state;
  for (size_t at = 0; at < 64; ++at) {
    const uint32_t e = s[4], a = s[0];
    const uint32_t one = s[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + kRound[at] + w[at];
    const uint32_t two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    s = {one + two, s[0], s[1], s[2], s[3] + one, s[4], s[5], s[6]};
  }
  for (size_t at = 0; at < 8; ++at) state[at] += s[at];
}

}  // namespace

std::string sha256(Span content) {
  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  size_t at = 0;
  for (; at + 64 <= content.size; at += 64) add_block(state, content.data + at);
  std::array<uint8_t, 128> tail{};
  const size_t rest = content.size - at;
  if (rest > 0) std::memcpy(tail.data(), content.data + at, rest);
  tail[rest] = 0x80;
  const size_t end = rest + 9 > 64 ? 128 : 64;
  const uint64_t bits = static_cast<uint64_t>(content.size) * 8;
  for (size_t byte = 0; byte < 8; ++byte) tail[end - 1 - byte] = static_cast<uint8_t>(bits >> 8 * byte);
  for (size_t block = 0; block < end; block += 64) add_block(state, tail.data() + block);
  std::string text;
  for (const uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 15];
  }
  return text;
}

}  // namespace vta
