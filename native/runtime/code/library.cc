#include "runtime/code/library.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/code/symbols.h"
#include "runtime/file/file_error.h"

namespace vta {

namespace {

#if defined(__x86_64__)
constexpr int kMachine = EM_X86_64;
constexpr uint32_t kRelative = R_X86_64_RELATIVE, kAbsolute = R_X86_64_64, kData = R_X86_64_GLOB_DAT, kJump = R_X86_64_JUMP_SLOT;
#elif defined(__aarch64__)
constexpr int kMachine = EM_AARCH64;
constexpr uint32_t kRelative = 1027, kAbsolute = 257, kData = 1025, kJump = 1026;
#else
constexpr int kMachine = EM_ARM;
constexpr uint32_t kRelative = R_ARM_RELATIVE, kAbsolute = R_ARM_ABS32, kData = R_ARM_GLOB_DAT, kJump = R_ARM_JUMP_SLOT;
#endif

#if defined(__LP64__)
using Header = Elf64_Ehdr;
using Segment = Elf64_Phdr;
using Dynamic = Elf64_Dyn;
using Symbol = Elf64_Sym;
using Relocation = Elf64_Rela;
constexpr int kClass = ELFCLASS64;
constexpr bool kAddends = true;
uint32_t type_of(const Relocation& entry) { return static_cast<uint32_t>(ELF64_R_TYPE(entry.r_info)); }
size_t symbol_of(const Relocation& entry) { return ELF64_R_SYM(entry.r_info); }
uintptr_t addend_of(const Relocation& entry, uintptr_t) { return static_cast<uintptr_t>(entry.r_addend); }
#else
using Header = Elf32_Ehdr;
using Segment = Elf32_Phdr;
using Dynamic = Elf32_Dyn;
using Symbol = Elf32_Sym;
using Relocation = Elf32_Rel;
constexpr int kClass = ELFCLASS32;
constexpr bool kAddends = false;
uint32_t type_of(const Relocation& entry) { return ELF32_R_TYPE(entry.r_info); }
size_t symbol_of(const Relocation& entry) { return ELF32_R_SYM(entry.r_info); }
uintptr_t addend_of(const Relocation&, uintptr_t there) { return there; }
#endif

constexpr uint64_t kMostBytes = uint64_t{1} << 30;

[[noreturn]] void fail(const std::string& what) { throw FileError("host library: " + what); }

// A value at a place of the file or of memory, which need not be aligned.
template <typename Value>
Value at(const uint8_t* start, uint64_t size, uint64_t offset) {
  if (offset > size || sizeof(Value) > size - offset) fail("damaged: something lies outside of it");
  Value value;
  std::memcpy(&value, start + offset, sizeof value);
  return value;
}

std::vector<Segment> segments_of(Span file) {
  const auto header = at<Header>(file.data, file.size, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_DYN) fail("no shared library");
  if (header.e_ident[EI_CLASS] != kClass || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != kMachine) {
    fail("for another processor (ELF machine " + std::to_string(header.e_machine) + ")");
  }
  if (header.e_phentsize != sizeof(Segment)) fail("damaged: its header is of another form");
  std::vector<Segment> segments;
  for (int index = 0; index < header.e_phnum; ++index) {
    segments.push_back(at<Segment>(file.data, file.size, header.e_phoff + static_cast<uint64_t>(index) * sizeof(Segment)));
  }
  return segments;
}

uint64_t page_bytes() { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

uint64_t rounded_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

// What the dynamic section says, with addresses as offsets into memory.
struct Tables {
  uint64_t symbols = 0, symbol_count = 0, names = 0, name_bytes = 0;
  uint64_t relocations = 0, relocation_bytes = 0, jumps = 0, jump_bytes = 0;
};

Tables tables_of(const uint8_t* memory, uint64_t size, const Segment& dynamic) {
  Tables found;
  uint64_t hash = 0;
  for (uint64_t offset = 0; offset + sizeof(Dynamic) <= dynamic.p_memsz; offset += sizeof(Dynamic)) {
    const auto entry = at<Dynamic>(memory, size, dynamic.p_vaddr + offset);
    const auto value = static_cast<uint64_t>(entry.d_un.d_val);
    switch (entry.d_tag) {
      case DT_NULL: offset = dynamic.p_memsz; break;
      case DT_HASH: hash = value; break;
      case DT_SYMTAB: found.symbols = value; break;
      case DT_STRTAB: found.names = value; break;
      case DT_STRSZ: found.name_bytes = value; break;
      case DT_RELA: case DT_REL:
        if ((entry.d_tag == DT_RELA) != kAddends) fail("damaged: its relocations are of another form");
        found.relocations = value;
        break;
      case DT_RELASZ: case DT_RELSZ: found.relocation_bytes = value; break;
      case DT_JMPREL: found.jumps = value; break;
      case DT_PLTRELSZ: found.jump_bytes = value; break;
      case DT_NEEDED: fail("it needs other libraries");
      case DT_INIT: case DT_INIT_ARRAY: case DT_TEXTREL: fail("it is of a form that the runtime does not load");
      default: break;
    }
  }
  if (hash == 0) fail("damaged: it has no table of its functions");
  found.symbol_count = at<uint32_t>(memory, size, hash + 4);
  if (found.names > size || found.name_bytes > size - found.names) fail("damaged: its names lie outside of it");
  return found;
}

// The names and addresses of the symbols.
class Symbols {
 public:
  Symbols(uint8_t* memory, uint64_t size, const Tables& tables) : memory_(memory), size_(size), tables_(tables) {
    if (tables.symbol_count > size / sizeof(Symbol)) fail("damaged: more functions than it has bytes");
  }

  Symbol symbol(uint64_t index) const {
    if (index >= tables_.symbol_count) fail("damaged: it names a function that it does not have");
    return at<Symbol>(memory_, size_, tables_.symbols + index * sizeof(Symbol));
  }

  std::string name(const Symbol& symbol) const {
    if (symbol.st_name >= tables_.name_bytes) fail("damaged: a name lies outside of it");
    const char* start = reinterpret_cast<const char*>(memory_ + tables_.names) + symbol.st_name;
    return std::string(start, strnlen(start, tables_.name_bytes - symbol.st_name));
  }

  void* place(const Symbol& symbol) const {
    if (symbol.st_shndx == SHN_UNDEF) {
      const std::string wanted = name(symbol);
      void* found = runtime_symbol(wanted);
      if (found == nullptr) fail("it calls " + shown(wanted) + ", which the runtime does not have");
      return found;
    }
    if (symbol.st_value >= size_) fail("damaged: a function lies outside of it");
    return memory_ + symbol.st_value;
  }

 private:
  uint8_t* memory_;
  uint64_t size_;
  const Tables& tables_;
};

void relocate(uint8_t* memory, uint64_t size, const Symbols& symbols, uint64_t start, uint64_t nbytes) {
  for (uint64_t offset = 0; offset + sizeof(Relocation) <= nbytes; offset += sizeof(Relocation)) {
    const auto entry = at<Relocation>(memory, size, start + offset);
    const auto there = at<uintptr_t>(memory, size, entry.r_offset);
    const uint32_t type = type_of(entry);
    uintptr_t value = 0;
    if (type == kRelative) {
      value = reinterpret_cast<uintptr_t>(memory) + addend_of(entry, there);
    } else if (type == kAbsolute || type == kData || type == kJump) {
      value = reinterpret_cast<uintptr_t>(symbols.place(symbols.symbol(symbol_of(entry))));
      // What stands in a slot of a function before it is bound is no addend.
      if (type == kAbsolute) value += addend_of(entry, there);
    } else {
      fail("a relocation of kind " + std::to_string(type) + " is not known");
    }
    std::memcpy(memory + entry.r_offset, &value, sizeof value);
  }
}

}  // namespace

Library::Library(Span file) {
  try {
    map(file);
  } catch (...) {
    if (memory_ != nullptr) munmap(memory_, size_);
    throw;
  }
}

Library::~Library() {
  if (memory_ != nullptr) munmap(memory_, size_);
}

void* Library::function(const std::string& name) const {
  const auto found = functions_.find(name);
  if (found == functions_.end()) fail("there is no function " + shown(name));
  return found->second;
}

void Library::map(Span file) {
  const std::vector<Segment> segments = segments_of(file);
  uint64_t end = 0;
  const Segment* dynamic = nullptr;
  for (const Segment& segment : segments) {
    if (segment.p_vaddr > kMostBytes || segment.p_memsz > kMostBytes) fail("damaged: a segment is too large");
    if (segment.p_type == PT_DYNAMIC) dynamic = &segment;
    if (segment.p_type == PT_TLS) fail("it is of a form that the runtime does not load");
    if (segment.p_type == PT_LOAD) end = std::max<uint64_t>(end, segment.p_vaddr + segment.p_memsz);
  }
  if (dynamic == nullptr || end == 0) fail("damaged: nothing of it is to be loaded");
  size_ = static_cast<size_t>(rounded_up(end, page_bytes()));
  void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("no memory for its " + std::to_string(size_) + " bytes");
  memory_ = static_cast<uint8_t*>(memory);
  for (const Segment& segment : segments) {
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_filesz > segment.p_memsz || segment.p_offset > file.size || segment.p_filesz > file.size - segment.p_offset) {
      fail("damaged: a segment ends beyond the file");
    }
    std::memcpy(memory_ + segment.p_vaddr, file.data + segment.p_offset, segment.p_filesz);
  }
  const Tables tables = tables_of(memory_, size_, *dynamic);
  const Symbols symbols(memory_, size_, tables);
  relocate(memory_, size_, symbols, tables.relocations, tables.relocation_bytes);
  relocate(memory_, size_, symbols, tables.jumps, tables.jump_bytes);
  for (uint64_t index = 1; index < tables.symbol_count; ++index) {
    const Symbol symbol = symbols.symbol(index);
    if (symbol.st_shndx != SHN_UNDEF) functions_.emplace(symbols.name(symbol), symbols.place(symbol));
  }
  protect(file);
}

void Library::protect(Span file) const {
  for (const Segment& segment : segments_of(file)) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const uint64_t start = segment.p_vaddr / page_bytes() * page_bytes();
    const uint64_t end = rounded_up(segment.p_vaddr + segment.p_memsz, page_bytes());
    const int rights = PROT_READ | ((segment.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
    if (mprotect(memory_ + start, static_cast<size_t>(end - start), rights) != 0) fail("its code cannot be made executable");
  }
  __builtin___clear_cache(reinterpret_cast<char*>(memory_), reinterpret_cast<char*>(memory_) + size_);
}

}  // namespace vta
