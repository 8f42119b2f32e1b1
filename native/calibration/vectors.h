// A function for each kind of vector unit, and which of them suits this processor.
#ifndef VTA_CALIBRATION_VECTORS_H
#define VTA_CALIBRATION_VECTORS_H

// How a function is compiled for vectors of 32 and of 64 bytes; as all others where a processor has neither. What it calls is
// compiled for them, too, where that is forced inline.
#if defined(__x86_64__)
#define VTA_AVX2 __attribute__((target("avx2,fma")))
#if defined(__clang__)
#define VTA_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#else
#define VTA_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")))
#endif
#else
#define VTA_AVX2
#define VTA_AVX512
#endif

namespace vta::calibration {

// Of versions of a function, the one with the widest vectors that this processor has.
template <typename Function>
Function widest(Function plain, [[maybe_unused]] Function avx2, [[maybe_unused]] Function avx512) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) return avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2;
#endif
  return plain;
}

}  // namespace vta::calibration

#endif
