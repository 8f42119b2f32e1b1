// A shared library from memory, without the system's loader: it works in programs that are linked statically, and needs no file.
#ifndef VTA_RUNTIME_LIBRARY_H
#define VTA_RUNTIME_LIBRARY_H

#include <map>
#include <string>

#include "runtime/file/bytes.h"

namespace vta {

class Library {
 public:
  // Throws FileError if `file` is no library for this machine, damaged, or needs what the runtime does not have.
  explicit Library(Span file);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // The address of a function. Throws FileError if there is none of the name.
  void* function(const std::string& name) const;

 private:
  void map(Span file);
  void protect(Span file) const;

  uint8_t* memory_ = nullptr;
  size_t size_ = 0;
  std::map<std::string, void*> functions_;
};

}  // namespace vta

#endif
