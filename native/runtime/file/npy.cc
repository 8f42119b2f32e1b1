#include "runtime/file/npy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "runtime/file/file_error.h"

namespace vta {

namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 31;
constexpr size_t kMagicBytes = 6;
constexpr char kMagic[] = "\x93NUMPY";

struct Type {
  const char* name;
  const char* code;
  size_t bytes;
};

constexpr std::array<Type, 12> kTypes = {{{"bool", "|b1", 1},
                                          {"int8", "|i1", 1},
                                          {"uint8", "|u1", 1},
                                          {"int16", "<i2", 2},
                                          {"uint16", "<u2", 2},
                                          {"int32", "<i4", 4},
                                          {"uint32", "<u4", 4},
                                          {"int64", "<i8", 8},
                                          {"uint64", "<u8", 8},
                                          {"float16", "<f2", 2},
                                          {"float32", "<f4", 4},
                                          {"float64", "<f8", 8}}};

// Reads the header, a dict of Python with the fields descr, fortran_order and shape in any order.
class Header {
 public:
  Header(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  void read(Array& array) {
    bool has_type = false, has_order = false, has_shape = false;
    require('{');
    while (!take('}')) {
      const std::string name = quoted();
      require(':');
      if (name == "descr") {
        array.dtype = dtype(quoted());
        has_type = true;
      } else if (name == "fortran_order") {
        if (word("True")) fail("its elements lie column by column; they must lie row by row");
        if (!word("False")) fail("its header is damaged");
        has_order = true;
      } else if (name == "shape") {
        array.shape = shape();
        has_shape = true;
      } else {
        fail("its header has a field " + shown(name));
      }
      if (!take(',') && peek() != '}') fail("its header is damaged");
    }
    if (!has_type || !has_order || !has_shape) fail("its header is damaged");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw FileError(path_ + ": " + what); }

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    if (at_ == text_.size()) fail("its header is damaged");
    return text_[at_];
  }

  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }

  void require(char wanted) {
    if (!take(wanted)) fail("its header is damaged");
  }

  bool word(std::string_view wanted) {
    peek();
    if (text_.substr(at_, wanted.size()) != wanted) return false;
    at_ += wanted.size();
    return true;
  }

  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("its header is damaged");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("its header is damaged");
    std::string text(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return text;
  }

  std::vector<int64_t> shape() {
    std::vector<int64_t> dims;
    require('(');
    while (!take(')')) {
      peek();
      const size_t start = at_;
      int64_t value = 0;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && at_ - start < 12; ++at_) value = value * 10 + (text_[at_] - '0');
      if (at_ == start || dims.size() == 32) fail("its header is damaged");
      dims.push_back(value);
      if (!take(',') && peek() != ')') fail("its header is damaged");
    }
    return dims;
  }

  std::string dtype(const std::string& code) const {
    for (const Type& type : kTypes) {
      if (code == type.code) return type.name;
    }
    fail("its elements are of type " + shown(code) + ", which is no number that networks take");
  }

  std::string_view text_;
  const std::string& path_;
  size_t at_ = 0;
};

const Type* type_of(const std::string& dtype) {
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& type) { return dtype == type.name; });
  return found == kTypes.end() ? nullptr : found;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "(";
  for (size_t at = 0; at < shape.size(); ++at) text += (at > 0 ? ", " : "") + std::to_string(shape[at]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

size_t item_bytes(const std::string& dtype) {
  const Type* type = type_of(dtype);
  return type == nullptr ? 0 : type->bytes;
}

std::string type_text(const std::string& dtype, const std::vector<int64_t>& shape) { return dtype + " " + shape_text(shape); }

Array read_npy(const std::string& path) {
  const std::vector<uint8_t> content = read_file(path, kMostBytes);
  if (content.size() < 12 || std::memcmp(content.data(), kMagic, kMagicBytes) != 0) throw FileError(path + ": not a .npy file");
  const bool is_short = content[6] == 1;
  if (content[6] < 1 || content[6] > 3) throw FileError(path + ": version " + std::to_string(content[6]) + " of .npy is not known");
  const size_t length = is_short ? read_u16(&content[8]) : read_u32(&content[8]), start = is_short ? 10 : 12;
  if (length > content.size() - start) throw FileError(path + ": damaged: its header ends beyond the file");
  Array array;
  Header(std::string_view(reinterpret_cast<const char*>(content.data()) + start, length), path).read(array);
  uint64_t wanted = item_bytes(array.dtype);
  for (const int64_t dim : array.shape) {
    if (dim != 0 && wanted > kMostBytes / static_cast<uint64_t>(dim)) throw FileError(path + ": damaged: its shape is too large");
    wanted *= static_cast<uint64_t>(dim);
  }
  const size_t have = content.size() - start - length;
  if (have != wanted) {
    throw FileError(path + ": damaged: " + type_text(array.dtype, array.shape) + " has " + std::to_string(wanted) + " bytes, the file " +
                    std::to_string(have));
  }
  array.data.assign(content.end() - static_cast<std::ptrdiff_t>(have), content.end());
  return array;
}

std::vector<uint8_t> npy_bytes(const Array& array) {
  const Type* type = type_of(array.dtype);
  std::string header = std::string("{'descr': '") + (type == nullptr ? "|V1" : type->code) + "', 'fortran_order': False, 'shape': " +
                       shape_text(array.shape) + ", }";
  header += std::string(63 - (header.size() + 10) % 64, ' ') + "\n";
  std::vector<uint8_t> content(kMagic, kMagic + kMagicBytes);
  append(content, 1, 2);
  append(content, header.size(), 2);
  content.insert(content.end(), header.begin(), header.end());
  content.insert(content.end(), array.data.begin(), array.data.end());
  return content;
}

}  // namespace vta
