// Checksums of the members of a file.
#ifndef VTA_RUNTIME_SHA256_H
#define VTA_RUNTIME_SHA256_H

#include <string>

#include "runtime/file/bytes.h"

namespace vta {

// The SHA-256 sum (FIPS 180-4) as 64 hexadecimal digits.
std::string sha256(Span content);

}  // namespace vta

#endif
