//===- ElfObject.h - a small ELF64 relocatable object -----------*- C++ -*-===//
//
// Just enough of an object writer for data, a table of addresses and a jump:
// what the plan of an artifact needs. Little-endian x86-64.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_DRIVER_ELFOBJECT_H
#define TLM_DRIVER_ELFOBJECT_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tlm {

class ElfObject {
public:
  enum class SectionKind {
    ReadOnly,         ///< data
    ReadOnlyPointers, ///< data with addresses, read-only once they are filled
                      ///< in
    Code,
  };
  enum class SymbolKind {
    HiddenData,
    ExportedFunction,
    Undefined,
  };
  enum class RelocationKind : uint32_t {
    Absolute64 = 1, ///< R_X86_64_64
    Call32 = 4,     ///< R_X86_64_PLT32
  };

  /// Returns the section's index. `alignment` is a power of two.
  int addSection(std::string name, SectionKind kind, uint64_t alignment,
                 std::string_view bytes);
  /// A symbol for the start of that section (ignored for Undefined).
  int addSymbol(std::string name, SymbolKind kind, int section);
  void addRelocation(int section, uint64_t offset, RelocationKind kind,
                     int symbol, int64_t addend);

  std::vector<char> bytes() const;

private:
  struct Relocation {
    uint64_t offset;
    RelocationKind kind;
    int symbol;
    int64_t addend;
  };
  struct Section {
    std::string name;
    SectionKind kind;
    uint64_t alignment;
    std::string bytes;
    std::vector<Relocation> relocations;
  };
  struct Symbol {
    std::string name;
    SymbolKind kind;
    int section;
  };
  std::vector<Section> sections;
  std::vector<Symbol> symbols;
};

} // namespace tlm

#endif // TLM_DRIVER_ELFOBJECT_H
