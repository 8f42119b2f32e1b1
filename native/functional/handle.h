// What is behind a handle of the C interface.
#ifndef VTA_FUNCTIONAL_HANDLE_H
#define VTA_FUNCTIONAL_HANDLE_H

#include <string>

#include "functional/engine.h"

struct vta_functional {
  vta::FunctionalEngine engine;
  std::string error;
};

#endif
