// A `.vta` file: a zip archive of members that are stored as they are, with a list of their SHA-256 sums.
#ifndef VTA_RUNTIME_ARCHIVE_H
#define VTA_RUNTIME_ARCHIVE_H

#include <map>
#include <string>
#include <vector>

#include "runtime/file/bytes.h"

namespace vta {

class Archive {
 public:
  // Throws FileError naming the file if it cannot be read, or is none.
  explicit Archive(const std::string& path);

  // The content of a member, whose sum is right. Throws FileError if it is missing or damaged.
  Span member(const std::string& name) const;
  bool has(const std::string& name) const { return members_.count(name) != 0; }

 private:
  [[noreturn]] void fail(const std::string& what) const;
  void read_directory();
  void read_entry(size_t& at, size_t end);
  void read_sums();

  std::string path_;
  std::vector<uint8_t> content_;
  std::map<std::string, Span> members_;
  std::map<std::string, std::string> sums_;
};

// Appends an archive of stored members to an empty `content`.
void write_archive(std::vector<uint8_t>& content, const std::vector<std::pair<std::string, std::vector<uint8_t>>>& members);

}  // namespace vta

#endif
