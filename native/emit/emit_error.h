// Something that an operator needs does not fit the hardware or its instructions; fit to show to a user.
#ifndef VTA_EMIT_ERROR_H
#define VTA_EMIT_ERROR_H

#include <stdexcept>

namespace vta {

class EmitError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace vta

#endif
