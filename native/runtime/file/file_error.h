// What is wrong with a file or with what a user asks for, fit to show.
#ifndef VTA_RUNTIME_FILE_ERROR_H
#define VTA_RUNTIME_FILE_ERROR_H

#include <stdexcept>
#include <string>

namespace vta {

class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Text on one line, without characters that command a terminal.
std::string printable(std::string text);

// A name from a file, of bounded length, in quotes.
std::string shown(const std::string& name);

}  // namespace vta

#endif
