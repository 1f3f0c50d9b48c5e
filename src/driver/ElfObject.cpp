//===- ElfObject.cpp ------------------------------------------------------===//

#include "driver/ElfObject.h"

#include <cstring>
#include <elf.h>

namespace tlm {

int ElfObject::addSection(std::string name, SectionKind kind,
                          uint64_t alignment, std::string_view bytes) {
  sections.push_back(
      {std::move(name), kind, alignment, std::string(bytes), {}});
  return int(sections.size()) - 1;
}

int ElfObject::addSymbol(std::string name, SymbolKind kind, int section) {
  symbols.push_back({std::move(name), kind, section});
  return int(symbols.size()) - 1;
}

void ElfObject::addRelocation(int section, uint64_t offset, RelocationKind kind,
                              int symbol, int64_t addend) {
  sections[size_t(section)].relocations.push_back(
      {offset, kind, symbol, addend});
}

namespace {

/// Appends section contents and collects their headers.
class ObjectFile {
public:
  ObjectFile() {
    bytes.resize(sizeof(Elf64_Ehdr));
    headers.emplace_back();
    addName(headers[0], "");
  }

  uint32_t add(const std::string &name, Elf64_Shdr header,
               std::string_view content) {
    uint64_t alignment = header.sh_addralign;
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    header.sh_offset = bytes.size();
    header.sh_size = content.size();
    bytes.insert(bytes.end(), content.begin(), content.end());
    addName(header, name);
    headers.push_back(header);
    return uint32_t(headers.size() - 1);
  }

  std::vector<char> finish() {
    Elf64_Shdr header = {};
    header.sh_type = SHT_STRTAB;
    header.sh_addralign = 1;
    // Its own name must be in the table before the table is written.
    std::string table = names + ".shstrtab" + '\0';
    uint32_t index = add(".shstrtab", header, table);
    bytes.resize((bytes.size() + 7) / 8 * 8);
    Elf64_Ehdr file = {};
    std::memcpy(file.e_ident, ELFMAG, SELFMAG);
    file.e_ident[EI_CLASS] = ELFCLASS64;
    file.e_ident[EI_DATA] = ELFDATA2LSB;
    file.e_ident[EI_VERSION] = EV_CURRENT;
    file.e_type = ET_REL;
    file.e_machine = EM_X86_64;
    file.e_version = EV_CURRENT;
    file.e_ehsize = sizeof(Elf64_Ehdr);
    file.e_shoff = bytes.size();
    file.e_shentsize = sizeof(Elf64_Shdr);
    file.e_shnum = Elf64_Half(headers.size());
    file.e_shstrndx = Elf64_Half(index);
    std::memcpy(bytes.data(), &file, sizeof(file));
    auto *begin = reinterpret_cast<const char *>(headers.data());
    bytes.insert(bytes.end(), begin,
                 begin + headers.size() * sizeof(Elf64_Shdr));
    return std::move(bytes);
  }

private:
  void addName(Elf64_Shdr &header, const std::string &name) {
    header.sh_name = uint32_t(names.size());
    names.append(name).push_back('\0');
  }

  std::vector<char> bytes;
  std::vector<Elf64_Shdr> headers;
  std::string names;
};

template <typename T>
void append(std::string &bytes, const T &value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

} // namespace

std::vector<char> ElfObject::bytes() const {
  ObjectFile file;
  for (const Section &section : sections) {
    Elf64_Shdr header = {};
    header.sh_type = SHT_PROGBITS;
    header.sh_flags = SHF_ALLOC;
    if (section.kind == SectionKind::ReadOnlyPointers)
      header.sh_flags |= SHF_WRITE;
    if (section.kind == SectionKind::Code)
      header.sh_flags |= SHF_EXECINSTR;
    header.sh_addralign = section.alignment;
    file.add(section.name, header, section.bytes);
  }
  Elf64_Shdr note = {};
  note.sh_type = SHT_PROGBITS;
  note.sh_addralign = 1;
  file.add(".note.GNU-stack", note, "");

  std::string table, names(1, '\0');
  append(table, Elf64_Sym{});
  for (const Symbol &symbol : symbols) {
    bool isDefined = symbol.kind != SymbolKind::Undefined;
    bool isFunction = symbol.kind == SymbolKind::ExportedFunction;
    Elf64_Sym entry = {};
    entry.st_name = uint32_t(names.size());
    names.append(symbol.name).push_back('\0');
    entry.st_info = ELF64_ST_INFO(STB_GLOBAL, !isDefined   ? STT_NOTYPE
                                              : isFunction ? STT_FUNC
                                                           : STT_OBJECT);
    entry.st_other =
        symbol.kind == SymbolKind::HiddenData ? STV_HIDDEN : STV_DEFAULT;
    if (isDefined) {
      entry.st_shndx = Elf64_Section(symbol.section + 1);
      entry.st_size = sections[size_t(symbol.section)].bytes.size();
    }
    append(table, entry);
  }
  Elf64_Shdr strings = {};
  strings.sh_type = SHT_STRTAB;
  strings.sh_addralign = 1;
  uint32_t stringIndex = file.add(".strtab", strings, names);
  Elf64_Shdr symbolHeader = {};
  symbolHeader.sh_type = SHT_SYMTAB;
  symbolHeader.sh_addralign = 8;
  symbolHeader.sh_link = stringIndex;
  symbolHeader.sh_info = 1;
  symbolHeader.sh_entsize = sizeof(Elf64_Sym);
  uint32_t symbolIndex = file.add(".symtab", symbolHeader, table);

  for (size_t i = 0; i < sections.size(); ++i) {
    if (sections[i].relocations.empty())
      continue;
    std::string content;
    for (const Relocation &relocation : sections[i].relocations) {
      Elf64_Rela entry = {};
      entry.r_offset = relocation.offset;
      entry.r_info = ELF64_R_INFO(uint64_t(relocation.symbol + 1),
                                  uint32_t(relocation.kind));
      entry.r_addend = relocation.addend;
      append(content, entry);
    }
    Elf64_Shdr header = {};
    header.sh_type = SHT_RELA;
    header.sh_flags = SHF_INFO_LINK;
    header.sh_addralign = 8;
    header.sh_link = symbolIndex;
    header.sh_info = uint32_t(i + 1);
    header.sh_entsize = sizeof(Elf64_Rela);
    file.add(".rela" + sections[i].name, header, content);
  }
  return file.finish();
}

} // namespace tlm
