#include "runtime/file/json.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "runtime/file/file_error.h"

namespace vta {

std::string shown(const std::string& name) {
  constexpr size_t kMost = 80;
  return "'" + printable(name.substr(0, kMost)) + (name.size() > kMost ? "...'" : "'");
}

std::string printable(std::string text) {
  for (char& c : text) c = static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return text;
}

class JsonReader {
 public:
  JsonReader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Json document() {
    Json value = this->value(where_, 0);
    skip_space();
    if (at_ != text_.size()) fail("something follows the value");
    return value;
  }

 private:
  static constexpr int kDeepest = 32;
  static constexpr size_t kMostValues = 4000000;

  [[noreturn]] void fail(const std::string& what) const {
    throw FileError(where_ + ": byte " + std::to_string(at_) + ": " + what);
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) ++at_;
  }

  char peek() {
    skip_space();
    if (at_ == text_.size()) fail("the text ends early");
    return text_[at_];
  }

  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }

  void require(char wanted) {
    if (!take(wanted)) fail(std::string("expected ") + wanted);
  }

  bool word(std::string_view wanted) {
    if (text_.substr(at_, wanted.size()) != wanted) return false;
    at_ += wanted.size();
    return true;
  }

  Json value(const std::string& place, int depth) {
    if (depth > kDeepest) fail("nested too deeply");
    if (++count_ > kMostValues) fail("too many values");
    Json made;
    made.place_ = place;
    const char first = peek();
    if (first == '{') {
      object(made, depth);
    } else if (first == '[') {
      list(made, depth);
    } else if (first == '"') {
      made.kind_ = Json::Kind::kText;
      made.text_ = string();
    } else if (word("true") || word("false")) {
      made.kind_ = Json::Kind::kBool;
      made.integer_ = text_[at_ - 2] == 'u';
    } else if (word("null")) {
      made.kind_ = Json::Kind::kNull;
    } else {
      number(made);
    }
    return made;
  }

  void object(Json& made, int depth) {
    made.kind_ = Json::Kind::kObject;
    require('{');
    if (take('}')) return;
    do {
      if (peek() != '"') fail("expected a name");
      std::string name = string();
      if (std::find(made.names_.begin(), made.names_.end(), name) != made.names_.end()) fail("name " + shown(name) + " is there twice");
      require(':');
      made.items_.push_back(value(made.place_ + "." + name.substr(0, 40), depth + 1));
      made.names_.push_back(std::move(name));
      if (made.names_.size() > 1000) fail("too many names in one object");
    } while (take(','));
    require('}');
  }

  void list(Json& made, int depth) {
    made.kind_ = Json::Kind::kList;
    require('[');
    if (take(']')) return;
    do {
      made.items_.push_back(value(made.place_ + "[" + std::to_string(made.items_.size()) + "]", depth + 1));
    } while (take(','));
    require(']');
  }

  std::string string() {
    require('"');
    std::string made;
    while (true) {
      if (at_ == text_.size()) fail("a string does not end");
      const char c = text_[at_++];
      if (c == '"') return made;
      if (static_cast<unsigned char>(c) < 0x20) fail("a control character in a string");
      made += c == '\\' ? escaped() : std::string(1, c);
    }
  }

  std::string escaped() {
    if (at_ == text_.size()) fail("a string does not end");
    const char c = text_[at_++];
    switch (c) {
      case '"': case '\\': case '/': return std::string(1, c);
      case 'b': return "\b";
      case 'f': return "\f";
      case 'n': return "\n";
      case 'r': return "\r";
      case 't': return "\t";
      case 'u': return code_point();
      default: fail("an unknown escape in a string");
    }
  }

  uint32_t four_digits() {
    uint32_t value = 0;
    for (int digit = 0; digit < 4; ++digit) {
      if (at_ == text_.size()) fail("a string does not end");
      const char c = text_[at_++];
      const int found = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
      if (found < 0) fail("expected four hexadecimal digits");
      value = value * 16 + static_cast<uint32_t>(found);
    }
    return value;
  }

  std::string code_point() {
    uint32_t code = four_digits();
    if (code >= 0xD800 && code < 0xDC00) {
      if (!word("\\u")) fail("half of a pair of surrogates");
      const uint32_t low = four_digits();
      if (low < 0xDC00 || low > 0xDFFF) fail("half of a pair of surrogates");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    std::string made;
    const auto add = [&](uint32_t byte) { made += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (code < 0x80) {
      add(code);
    } else if (code < 0x800) {
      add(0xC0 | code >> 6), add(0x80 | (code & 63));
    } else if (code < 0x10000) {
      add(0xE0 | code >> 12), add(0x80 | (code >> 6 & 63)), add(0x80 | (code & 63));
    } else {
      add(0xF0 | code >> 18), add(0x80 | (code >> 12 & 63)), add(0x80 | (code >> 6 & 63)), add(0x80 | (code & 63));
    }
    return made;
  }

  void number(Json& made) {
    const size_t start = at_;
    const auto is_digit = [&] { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; };
    if (at_ < text_.size() && text_[at_] == '-') ++at_;
    if (!is_digit()) fail("expected a value");
    while (is_digit()) ++at_;
    bool whole = true;
    if (at_ < text_.size() && text_[at_] == '.') {
      whole = false;
      for (++at_; is_digit();) ++at_;
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      whole = false;
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      while (is_digit()) ++at_;
    }
    const std::string digits(text_.substr(start, at_ - start));
    if (digits.size() > 40) fail("a number of too many digits");
    errno = 0;
    made.kind_ = whole ? Json::Kind::kInteger : Json::Kind::kReal;
    if (whole) {
      made.integer_ = std::strtoll(digits.c_str(), nullptr, 10);
      if (errno != 0) fail("an integer of more than 64 bits");
    }
    made.real_ = std::strtod(digits.c_str(), nullptr);
  }

  std::string_view text_;
  const std::string& where_;
  size_t at_ = 0;
  size_t count_ = 0;
};

Json Json::parse(std::string_view text, const std::string& where) { return JsonReader(text, where).document(); }

void Json::fail(const std::string& what) const { throw FileError(place_ + " " + what); }

void Json::expect(Kind kind, const char* name) const {
  if (kind_ != kind) fail(std::string("is not ") + name);
}

int64_t Json::integer() const {
  expect(Kind::kInteger, "an integer");
  return integer_;
}

int64_t Json::integer(int64_t low, int64_t high) const {
  const int64_t value = integer();
  if (value < low || value > high) {
    fail("= " + std::to_string(value) + "; allowed: " + std::to_string(low) + " to " + std::to_string(high));
  }
  return value;
}

double Json::number() const {
  if (kind_ != Kind::kReal) expect(Kind::kInteger, "a number");
  return real_;
}

bool Json::boolean() const {
  expect(Kind::kBool, "true or false");
  return integer_ != 0;
}

const std::string& Json::text() const {
  expect(Kind::kText, "a text");
  return text_;
}

const std::vector<Json>& Json::list() const {
  expect(Kind::kList, "a list");
  return items_;
}

const Json* Json::find(const char* name) const {
  expect(Kind::kObject, "an object");
  for (size_t at = 0; at < names_.size(); ++at) {
    if (names_[at] == name) return &items_[at];
  }
  return nullptr;
}

const Json& Json::operator[](const char* name) const {
  const Json* found = find(name);
  if (found == nullptr) fail(std::string("has no field ") + name);
  return *found;
}

}  // namespace vta
