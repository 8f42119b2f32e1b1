// Drives the network's cores: a cable of 1 Gb/s, a system of 50 MHz, and a memory that takes a while.
// Input: lines "frame HEX" (from the address on, with the checksum) and "run N" (clock edges).
// Output: lines "sent HEX" (from the preamble on) and "wrote ADDRESS WORD", as they happen.

#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "Vframes.h"

namespace {

constexpr int kCablePeriod = 8, kSystemPeriod = 20, kMemoryCycles = 8, kGapBytes = 12;
enum : uint8_t { kIdle, kByte, kLast };

struct Symbol {
  uint8_t data, kind;
};

Vframes top;
std::vector<Symbol> coming;
size_t next_symbol = 0;
std::map<uint32_t, uint32_t> memory;

void write_hex(const char* what, const std::vector<uint8_t>& bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  std::cout << what << ' ' << text << '\n';
}

void drive_cable() {
  const Symbol symbol = next_symbol < coming.size() ? coming[next_symbol++] : Symbol{0, kIdle};
  top.rx_valid = symbol.kind != kIdle;
  top.rx_payload_data = symbol.data;
  top.rx_last = symbol.kind == kLast;
  top.tx_ready = 1;
}

void take_from_cable() {
  static std::vector<uint8_t> sent;
  if (!top.tx_valid) return;
  sent.push_back(top.tx_payload_data);
  if (top.tx_last) {
    write_hex("sent", sent);
    sent.clear();
  }
}

void serve_memory() {
  static int waited = 0;
  top.bus_ack = 0;
  top.eval();
  if (!(top.bus_cyc && top.bus_stb) || ++waited <= kMemoryCycles) return;
  waited = 0;
  top.bus_ack = 1;
  if (top.bus_we) {
    memory[top.bus_adr] = top.bus_dat_w;
    std::cout << "wrote " << 4ULL * top.bus_adr << ' ' << top.bus_dat_w << '\n';
  } else {
    top.bus_dat_r = memory[top.bus_adr];
  }
}

void edge() {
  static uint64_t cable = 0, system = 0;
  const uint64_t now = cable < system ? cable : system;
  const bool of_cable = cable == now, of_system = system == now;
  if (of_cable) drive_cable();
  if (of_system) serve_memory();
  top.eval();
  if (of_cable) take_from_cable();
  if (of_cable) top.eth_rx_clk = top.eth_tx_clk = 1;
  if (of_system) top.sys_clk = 1;
  top.eval();
  top.eth_rx_clk = top.eth_tx_clk = top.sys_clk = 0;
  top.eval();
  if (of_cable) cable += kCablePeriod;
  if (of_system) system += kSystemPeriod;
}

void add_frame(const std::string& hex) {
  for (int index = 0; index < 8; ++index) coming.push_back({static_cast<uint8_t>(index < 7 ? 0x55 : 0xd5), kByte});
  for (size_t at = 0; at < hex.size(); at += 2) {
    const auto byte = static_cast<uint8_t>(std::stoi(hex.substr(at, 2), nullptr, 16));
    coming.push_back({byte, static_cast<uint8_t>(at + 2 == hex.size() ? kLast : kByte)});
  }
  for (int index = 0; index < kGapBytes; ++index) coming.push_back({0, kIdle});
}

}  // namespace

int main() {
  top.sys_rst = top.eth_rx_rst = top.eth_tx_rst = 1;
  for (int count = 0; count < 40; ++count) edge();
  top.sys_rst = top.eth_rx_rst = top.eth_tx_rst = 0;
  std::string command, value;
  while (std::cin >> command >> value) {
    if (command == "frame") add_frame(value);
    if (command == "run") {
      for (long left = std::stol(value); left > 0; --left) edge();
    }
  }
}
