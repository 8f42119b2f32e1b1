#include "runtime/file/bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/file/file_error.h"

namespace vta {

namespace {

[[noreturn]] void fail(const std::string& path, const char* doing) {
  throw FileError(path + ": cannot be " + doing + ": " + std::strerror(errno));
}

// Closes a file at the end of a scope.
struct Handle {
  int number;
  ~Handle() {
    if (number >= 0) close(number);
  }
};

}  // namespace

std::vector<uint8_t> read_file(const std::string& path, uint64_t most) {
  // Without O_NONBLOCK a pipe would be waited for.
  const Handle file{open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  struct stat found {};
  if (file.number < 0 || fstat(file.number, &found) != 0) fail(path, "read");
  if (!S_ISREG(found.st_mode)) throw FileError(path + ": cannot be read: it is no regular file");
  const auto size = static_cast<uint64_t>(found.st_size);
  if (size > most) {
    throw FileError(path + ": cannot be read: it has " + std::to_string(size) + " bytes; the limit is " + std::to_string(most));
  }
  std::vector<uint8_t> content(static_cast<size_t>(size));
  for (size_t at = 0; at < content.size();) {
    const ssize_t got = ::read(file.number, content.data() + at, content.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path, "read");
    if (got == 0) throw FileError(path + ": cannot be read: it has become shorter");
    at += static_cast<size_t>(got);
  }
  return content;
}

void write_file(const std::string& path, const std::vector<uint8_t>& content) {
  // Of the name only so much that the other one is not too long for the system.
  const size_t slash = path.rfind('/'), start = slash == std::string::npos ? 0 : slash + 1;
  const std::string beside = path.substr(0, start + 40) + ".part" + std::to_string(getpid());
  {
    const Handle file{open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
    if (file.number < 0) fail(path, "written");
    for (size_t at = 0; at < content.size();) {
      const ssize_t put = ::write(file.number, content.data() + at, content.size() - at);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) {
        const int reason = errno;
        unlink(beside.c_str());
        errno = reason;
        fail(path, "written");
      }
      at += static_cast<size_t>(put);
    }
  }
  if (rename(beside.c_str(), path.c_str()) != 0) {
    const int reason = errno;
    unlink(beside.c_str());
    errno = reason;
    fail(path, "written");
  }
}

}  // namespace vta
