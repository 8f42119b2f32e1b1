// What compiled kernels may call.
#ifndef VTA_RUNTIME_SYMBOLS_H
#define VTA_RUNTIME_SYMBOLS_H

#include <string>

namespace vta {

// The address of a function of the C library or the compiler's, or nullptr.
void* runtime_symbol(const std::string& name);

}  // namespace vta

#endif
