#include "runtime/file/archive.h"

#include <algorithm>
#include <string_view>

#include "runtime/file/file_error.h"
#include "runtime/file/sha256.h"

namespace vta {

namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 31;
constexpr uint32_t kLocal = 0x04034b50, kEntry = 0x02014b50, kEnd = 0x06054b50;
constexpr size_t kLocalBytes = 30, kEntryBytes = 46, kEndBytes = 22, kMostComment = 65535;

uint32_t crc32(const std::vector<uint8_t>& content) {
  uint32_t sum = ~uint32_t{0};
  for (const uint8_t byte : content) {
    sum ^= byte;
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (0xEDB88320 & (0 - (sum & 1)));
  }
  return ~sum;
}

// What local headers and entries of the directory share, from the version needed to the length of the extra field.
void append_common(std::vector<uint8_t>& content, const std::string& name, const std::vector<uint8_t>& data) {
  append(content, 20, 2);  // version
  append(content, 0, 2);   // flags
  append(content, 0, 2);   // stored
  append(content, 0x00210000, 4);  // the first of January 1980
  append(content, crc32(data), 4);
  append(content, data.size(), 4);
  append(content, data.size(), 4);
  append(content, name.size(), 2);
  append(content, 0, 2);
}

}  // namespace

Archive::Archive(const std::string& path) : path_(path), content_(read_file(path, kMostBytes)) {
  read_directory();
  read_sums();
}

void Archive::fail(const std::string& what) const { throw FileError(path_ + ": " + what); }

Span Archive::member(const std::string& name) const {
  const auto found = members_.find(name);
  if (found == members_.end()) fail("member " + shown(name) + " is missing");
  const auto sum = sums_.find(name);
  if (sum == sums_.end()) fail("member " + shown(name) + " has no checksum");
  if (sha256(found->second) != sum->second) fail("member " + shown(name) + " is damaged: its checksum does not match");
  return found->second;
}

void Archive::read_directory() {
  const size_t size = content_.size();
  if (size < kEndBytes) fail("not a .vta file, or damaged: too short");
  size_t end = size - kEndBytes;
  const size_t least = end > kMostComment ? end - kMostComment : 0;
  while (read_u32(&content_[end]) != kEnd) {
    if (end == least) fail("not a .vta file, or damaged: it is no zip archive");
    --end;
  }
  const size_t count = read_u16(&content_[end + 10]), bytes = read_u32(&content_[end + 12]), start = read_u32(&content_[end + 16]);
  if (start > end || bytes > end - start) fail("not a .vta file, or damaged: its directory lies outside");
  size_t at = start;
  for (size_t index = 0; index < count; ++index) read_entry(at, start + bytes);
}

void Archive::read_entry(size_t& at, size_t end) {
  if (end - at < kEntryBytes || read_u32(&content_[at]) != kEntry) fail("damaged: its directory has a bad entry");
  const uint8_t* entry = &content_[at];
  const size_t name_bytes = read_u16(entry + 28), skipped = name_bytes + read_u16(entry + 30) + read_u16(entry + 32);
  if (end - at - kEntryBytes < skipped) fail("damaged: its directory has a bad entry");
  const std::string name(reinterpret_cast<const char*>(entry) + kEntryBytes, name_bytes);
  const size_t size = read_u32(entry + 24), local = read_u32(entry + 42);
  if (read_u16(entry + 10) != 0 || read_u32(entry + 20) != size) fail("member " + shown(name) + " is compressed; members are stored");
  if ((read_u16(entry + 8) & 1) != 0) fail("member " + shown(name) + " is encrypted");
  if (content_.size() < kLocalBytes || local > content_.size() - kLocalBytes || read_u32(&content_[local]) != kLocal) {
    fail("member " + shown(name) + " is damaged: it has no header");
  }
  const size_t start = local + kLocalBytes + read_u16(&content_[local + 26]) + read_u16(&content_[local + 28]);
  if (start > content_.size() || size > content_.size() - start) fail("member " + shown(name) + " is damaged: it ends beyond the file");
  if (!members_.emplace(name, Span{content_.data() + start, size}).second) fail("member " + shown(name) + " is there twice");
  at += kEntryBytes + skipped;
}

void Archive::read_sums() {
  const auto found = members_.find("sha256");
  if (found == members_.end()) fail("not a .vta file: its list of checksums is missing");
  std::string_view text(reinterpret_cast<const char*>(found->second.data), found->second.size);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.size() < 67 || line.substr(64, 2) != "  ") fail("damaged: its list of checksums is unreadable");
    sums_[std::string(line.substr(66))] = std::string(line.substr(0, 64));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void write_archive(std::vector<uint8_t>& content, const std::vector<std::pair<std::string, std::vector<uint8_t>>>& members) {
  std::vector<uint8_t> directory;
  for (const auto& [name, data] : members) {
    const size_t local = content.size();
    append(content, kLocal, 4);
    append_common(content, name, data);
    content.insert(content.end(), name.begin(), name.end());
    content.insert(content.end(), data.begin(), data.end());
    append(directory, kEntry, 4);
    append(directory, 20, 2);
    append_common(directory, name, data);
    append(directory, 0, 2);  // comment
    append(directory, 0, 2);  // disk
    append(directory, 0, 2);
    append(directory, uint64_t{0600} << 16, 4);
    append(directory, local, 4);
    directory.insert(directory.end(), name.begin(), name.end());
  }
  const size_t start = content.size();
  content.insert(content.end(), directory.begin(), directory.end());
  append(content, kEnd, 4);
  append(content, 0, 4);
  append(content, members.size(), 2);
  append(content, members.size(), 2);
  append(content, directory.size(), 4);
  append(content, start, 4);
  append(content, 0, 2);
}

}  // namespace vta
