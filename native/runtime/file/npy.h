// Arrays in files of NumPy's: `.npy`, and `.npz` archives of them.
#ifndef VTA_RUNTIME_NPY_H
#define VTA_RUNTIME_NPY_H

#include <string>
#include <utility>
#include <vector>

#include "runtime/file/bytes.h"

namespace vta {

// A dense array, row by row, little endian. `dtype` is NumPy's name, such as int8.
struct Array {
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<uint8_t> data;
};

// Bytes of an element; 0 for a dtype that is not known.
size_t item_bytes(const std::string& dtype);

// "float32 (1, 3, 224, 224)".
std::string type_text(const std::string& dtype, const std::vector<int64_t>& shape);

// Throws FileError naming the file and what is wrong with it.
Array read_npy(const std::string& path);

std::vector<uint8_t> npy_bytes(const Array& array);

}  // namespace vta

#endif
