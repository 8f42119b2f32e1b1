#include "runtime/code/symbols.h"

#include <cmath>
#include <cstring>

#if defined(__arm__)
// Functions of the compiler's own library for 32-bit ARM (Run-time ABI for the Arm Architecture). Only their addresses are taken.
extern "C" {
void __aeabi_idiv();
void __aeabi_idivmod();
void __aeabi_uidiv();
void __aeabi_uidivmod();
void __aeabi_ldivmod();
void __aeabi_uldivmod();
void __aeabi_lmul();
void __aeabi_llsl();
void __aeabi_llsr();
void __aeabi_lasr();
void __aeabi_l2f();
void __aeabi_l2d();
void __aeabi_ul2f();
void __aeabi_ul2d();
void __aeabi_f2lz();
void __aeabi_f2ulz();
void __aeabi_d2lz();
void __aeabi_d2ulz();
}
#endif

namespace vta {

namespace {

struct Symbol {
  const char* name;
  void* address;
};

template <typename Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

using Float = float (*)(float);
using Double = double (*)(double);

void* of(Float function) { return address(function); }
void* of(Double function) { return address(function); }

#if defined(__arm__)
// The run-time ABI's own order of arguments: place, bytes, value.
void aeabi_memset(void* place, size_t bytes, int value) { std::memset(place, value, bytes); }
void aeabi_memclr(void* place, size_t bytes) { std::memset(place, 0, bytes); }
#endif

const Symbol kSymbols[] = {
    {"memcpy", address(static_cast<void* (*)(void*, const void*, size_t)>(std::memcpy))},
    {"memmove", address(static_cast<void* (*)(void*, const void*, size_t)>(std::memmove))},
    {"memset", address(static_cast<void* (*)(void*, int, size_t)>(std::memset))},
    {"expf", of(static_cast<Float>(std::exp))},
    {"exp", of(static_cast<Double>(std::exp))},
    {"exp2f", of(static_cast<Float>(std::exp2))},
    {"exp2", of(static_cast<Double>(std::exp2))},
    {"logf", of(static_cast<Float>(std::log))},
    {"log", of(static_cast<Double>(std::log))},
    {"tanhf", of(static_cast<Float>(std::tanh))},
    {"tanh", of(static_cast<Double>(std::tanh))},
    {"sin", of(static_cast<Double>(std::sin))},
    {"cos", of(static_cast<Double>(std::cos))},
    {"sqrtf", of(static_cast<Float>(std::sqrt))},
    {"sqrt", of(static_cast<Double>(std::sqrt))},
    {"floorf", of(static_cast<Float>(std::floor))},
    {"floor", of(static_cast<Double>(std::floor))},
    {"ceilf", of(static_cast<Float>(std::ceil))},
    {"ceil", of(static_cast<Double>(std::ceil))},
    {"rintf", of(static_cast<Float>(std::rint))},
    {"rint", of(static_cast<Double>(std::rint))},
    {"nearbyintf", of(static_cast<Float>(std::nearbyint))},
    {"nearbyint", of(static_cast<Double>(std::nearbyint))},
    {"roundf", of(static_cast<Float>(std::round))},
    {"round", of(static_cast<Double>(std::round))},
    {"truncf", of(static_cast<Float>(std::trunc))},
    {"trunc", of(static_cast<Double>(std::trunc))},
    {"fabsf", of(static_cast<Float>(std::fabs))},
    {"fabs", of(static_cast<Double>(std::fabs))},
    {"fmaf", address(static_cast<float (*)(float, float, float)>(std::fma))},
    {"fma", address(static_cast<double (*)(double, double, double)>(std::fma))},
    {"powf", address(static_cast<float (*)(float, float)>(std::pow))},
    {"pow", address(static_cast<double (*)(double, double)>(std::pow))},
    {"fmodf", address(static_cast<float (*)(float, float)>(std::fmod))},
    {"fmod", address(static_cast<double (*)(double, double)>(std::fmod))},
#if defined(__arm__)
    {"__aeabi_memcpy", address(static_cast<void* (*)(void*, const void*, size_t)>(std::memcpy))},
    {"__aeabi_memcpy4", address(static_cast<void* (*)(void*, const void*, size_t)>(std::memcpy))},
    {"__aeabi_memcpy8", address(static_cast<void* (*)(void*, const void*, size_t)>(std::memcpy))},
    {"__aeabi_memmove", address(static_cast<void* (*)(void*, const void*, size_t)>(std::memmove))},
    {"__aeabi_memmove4", address(static_cast<void* (*)(void*, const void*, size_t)>(std::memmove))},
    {"__aeabi_memmove8", address(static_cast<void* (*)(void*, const void*, size_t)>(std::memmove))},
    {"__aeabi_memset", address(aeabi_memset)},
    {"__aeabi_memset4", address(aeabi_memset)},
    {"__aeabi_memset8", address(aeabi_memset)},
    {"__aeabi_memclr", address(aeabi_memclr)},
    {"__aeabi_memclr4", address(aeabi_memclr)},
    {"__aeabi_memclr8", address(aeabi_memclr)},
    {"__aeabi_idiv", address(__aeabi_idiv)},
    {"__aeabi_idivmod", address(__aeabi_idivmod)},
    {"__aeabi_uidiv", address(__aeabi_uidiv)},
    {"__aeabi_uidivmod", address(__aeabi_uidivmod)},
    {"__aeabi_ldivmod", address(__aeabi_ldivmod)},
    {"__aeabi_uldivmod", address(__aeabi_uldivmod)},
    {"__aeabi_lmul", address(__aeabi_lmul)},
    {"__aeabi_llsl", address(__aeabi_llsl)},
    {"__aeabi_llsr", address(__aeabi_llsr)},
    {"__aeabi_lasr", address(__aeabi_lasr)},
    {"__aeabi_l2f", address(__aeabi_l2f)},
    {"__aeabi_l2d", address(__aeabi_l2d)},
    {"__aeabi_ul2f", address(__aeabi_ul2f)},
    {"__aeabi_ul2d", address(__aeabi_ul2d)},
    {"__aeabi_f2lz", address(__aeabi_f2lz)},
    {"__aeabi_f2ulz", address(__aeabi_f2ulz)},
    {"__aeabi_d2lz", address(__aeabi_d2lz)},
    {"__aeabi_d2ulz", address(__aeabi_d2ulz)},
#endif
};

}  // namespace

void* runtime_symbol(const std::string& name) {
  for (const Symbol& symbol : kSymbols) {
    if (name == symbol.name) return symbol.address;
  }
  return nullptr;
}

}  // namespace vta
