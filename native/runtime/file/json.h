// A strict and bounded reader of JSON: one value, no key twice, integers of 64 bits.
#ifndef VTA_RUNTIME_JSON_H
#define VTA_RUNTIME_JSON_H

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vta {

class Json {
 public:
  enum class Kind { kNull, kBool, kInteger, kReal, kText, kList, kObject };

  // Throws FileError, whose text begins with `where`, unless `text` is one value.
  static Json parse(std::string_view text, const std::string& where);

  // Each throws FileError naming the place if the value is of another kind.
  int64_t integer() const;
  int64_t integer(int64_t low, int64_t high) const;
  double number() const;
  bool boolean() const;
  const std::string& text() const;
  const std::vector<Json>& list() const;

  // A field of an object; throws FileError if it is missing.
  const Json& operator[](const char* name) const;
  // The same, or nullptr.
  const Json* find(const char* name) const;

  // Where the value stands, for errors.
  const std::string& place() const { return place_; }
  [[noreturn]] void fail(const std::string& what) const;

 private:
  friend class JsonReader;

  void expect(Kind kind, const char* name) const;

  Kind kind_ = Kind::kNull;
  int64_t integer_ = 0;
  double real_ = 0;
  std::string text_;
  std::vector<Json> items_;
  std::vector<std::string> names_;
  std::string place_;
};

}  // namespace vta

#endif
