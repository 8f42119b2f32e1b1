#include "runtime/code/processor.h"

#include "runtime/file/file_error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

namespace vta {

namespace {

#if defined(__x86_64__)

constexpr const char* kMachine = "x86_64";

struct Feature {
  const char* name;
  uint32_t leaf;
  uint32_t subleaf;
  int word;  // eax, ebx, ecx, edx
  int bit;
};

constexpr Feature kFeatures[] = {
    {"sse3", 1, 0, 2, 0},          {"ssse3", 1, 0, 2, 9},        {"fma", 1, 0, 2, 12},          {"sse4.1", 1, 0, 2, 19},
    {"sse4.2", 1, 0, 2, 20},       {"movbe", 1, 0, 2, 22},       {"popcnt", 1, 0, 2, 23},       {"avx", 1, 0, 2, 28},
    {"f16c", 1, 0, 2, 29},         {"bmi", 7, 0, 1, 3},          {"avx2", 7, 0, 1, 5},          {"bmi2", 7, 0, 1, 8},
    {"avx512f", 7, 0, 1, 16},      {"avx512dq", 7, 0, 1, 17},    {"avx512ifma", 7, 0, 1, 21},   {"avx512cd", 7, 0, 1, 28},
    {"avx512bw", 7, 0, 1, 30},     {"avx512vl", 7, 0, 1, 31},    {"avx512vbmi", 7, 0, 2, 1},    {"avx512vbmi2", 7, 0, 2, 6},
    {"gfni", 7, 0, 2, 8},          {"avx512vnni", 7, 0, 2, 11},  {"avx512bitalg", 7, 0, 2, 12}, {"avx512vpopcntdq", 7, 0, 2, 14},
    {"avx512fp16", 7, 0, 3, 23},   {"avxvnni", 7, 1, 0, 4},      {"avx512bf16", 7, 1, 0, 5},    {"lzcnt", 0x80000001, 0, 2, 5},
};

// The bits of XCR0 that the operating system sets for the registers that it keeps.
uint64_t kept_registers() {
  uint32_t low = 0, high = 0, unused = 0, features = 0;
  if (__get_cpuid(1, &unused, &unused, &features, &unused) == 0 || (features >> 27 & 1) == 0) return 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

bool has(const std::string& name) {
  for (const Feature& feature : kFeatures) {
    if (name != feature.name) continue;
    uint32_t words[4] = {};
    if (__get_cpuid_count(feature.leaf, feature.subleaf, &words[0], &words[1], &words[2], &words[3]) == 0) return false;
    const bool is_wide = name.rfind("avx512", 0) == 0, is_vector = is_wide || name.rfind("avx", 0) == 0 || name == "fma" || name == "f16c";
    const uint64_t kept = is_wide ? 0xE6 : is_vector ? 0x6 : 0;
    return (words[feature.word] >> feature.bit & 1) != 0 && (kept_registers() & kept) == kept;
  }
  return false;
}

#elif defined(__aarch64__)

constexpr const char* kMachine = "aarch64";

bool has(const std::string& name) {
  const unsigned long bits = getauxval(AT_HWCAP);
  if (name == "crc") return (bits >> 7 & 1) != 0;
  if (name == "lse") return (bits >> 8 & 1) != 0;
  if (name == "fullfp16") return (bits >> 10 & 1) != 0;
  if (name == "rdm") return (bits >> 12 & 1) != 0;
  if (name == "dotprod") return (bits >> 20 & 1) != 0;
  return false;
}

#elif defined(__arm__)

constexpr const char* kMachine = "armv7l";

bool has(const std::string& name) {
  const unsigned long bits = getauxval(AT_HWCAP);
  if (name == "neon") return (bits >> 12 & 1) != 0;
  if (name == "vfp4") return (bits >> 16 & 1) != 0;
  if (name == "hwdiv-arm") return (bits >> 17 & 1) != 0;
  return false;
}

#else

constexpr const char* kMachine = "another";

bool has(const std::string&) { return false; }

#endif

}  // namespace

void check_processor(const PlanProcessor& processor) {
  if (processor.machine != kMachine) {
    throw FileError("its host part was compiled for " + shown(processor.machine) + " (" + shown(processor.triple) + "); this machine is " +
                    kMachine);
  }
  std::string missing;
  for (const std::string& name : processor.required) {
    if (!has(name)) missing += (missing.empty() ? "" : ", ") + name;
  }
  if (!missing.empty()) {
    throw FileError("its host part was compiled for " + shown(processor.cpu) + "; the processor of this machine lacks " + missing);
  }
}

}  // namespace vta
