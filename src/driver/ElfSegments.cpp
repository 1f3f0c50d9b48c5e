//===- ElfSegments.cpp ----------------------------------------------------===//

#include "driver/ElfSegments.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <string>

namespace tlm {

namespace {

constexpr uint64_t kPage = 4096;

uint64_t pageUp(uint64_t value) { return (value + kPage - 1) / kPage * kPage; }

Error notElf() { return makeError("the linker's output is no ELF64 file"); }

Result<Elf64_Ehdr> readHeader(const std::vector<char> &image) {
  Elf64_Ehdr header;
  if (image.size() < sizeof(header))
    return notElf();
  std::memcpy(&header, image.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) ||
      header.e_ident[EI_CLASS] != ELFCLASS64)
    return notElf();
  return header;
}

/// `count` records at `offset`; an error when they are not all in the file.
template <typename T>
Result<std::vector<T>> readTable(const std::vector<char> &image,
                                 uint64_t offset, size_t count) {
  if (offset > image.size() || (image.size() - offset) / sizeof(T) < count)
    return notElf();
  std::vector<T> table(count);
  if (count)
    std::memcpy(table.data(), image.data() + offset, count * sizeof(T));
  return table;
}

} // namespace

Result<uint64_t> appendSegment(std::vector<char> &image,
                               uint64_t segmentBytes) {
  TLM_TRY(Elf64_Ehdr header, readHeader(image));
  TLM_TRY(std::vector<Elf64_Phdr> segments,
          readTable<Elf64_Phdr>(image, header.e_phoff, header.e_phnum));
  uint64_t offset = pageUp(image.size()), address = 0;
  auto last = segments.begin();
  for (auto it = segments.begin(); it != segments.end(); ++it)
    if (it->p_type == PT_LOAD) {
      address = std::max(address, pageUp(it->p_vaddr + it->p_memsz));
      last = it;
    }
  if (!address)
    return notElf();

  Elf64_Phdr added = {};
  added.p_type = PT_LOAD;
  added.p_flags = PF_R;
  added.p_offset = offset;
  added.p_vaddr = added.p_paddr = address;
  added.p_filesz = added.p_memsz = segmentBytes;
  added.p_align = kPage;
  segments.insert(last + 1, added); // in the order of addresses
  uint64_t tableBytes = segments.size() * sizeof(Elf64_Phdr);
  TLM_CHECK(kSegmentHeadBytes + tableBytes <= kSegmentDataOffset)
      << segments.size() << " program headers";
  for (Elf64_Phdr &segment : segments)
    if (segment.p_type == PT_PHDR) {
      segment.p_offset = offset + kSegmentHeadBytes;
      segment.p_vaddr = segment.p_paddr = address + kSegmentHeadBytes;
      segment.p_filesz = segment.p_memsz = tableBytes;
    }

  header.e_phoff = offset + kSegmentHeadBytes;
  header.e_phnum = Elf64_Half(segments.size());
  image.resize(offset + kSegmentDataOffset);
  std::memcpy(image.data(), &header, sizeof(header));
  std::memcpy(image.data() + header.e_phoff, segments.data(), tableBytes);
  return offset;
}

Result<SectionRange> findSection(const std::vector<char> &image,
                                 std::string_view name) {
  TLM_TRY(Elf64_Ehdr header, readHeader(image));
  TLM_TRY(std::vector<Elf64_Shdr> sections,
          readTable<Elf64_Shdr>(image, header.e_shoff, header.e_shnum));
  if (header.e_shstrndx >= sections.size())
    return notElf();
  const Elf64_Shdr &names = sections[header.e_shstrndx];
  TLM_TRY(std::vector<char> text,
          readTable<char>(image, names.sh_offset, names.sh_size));
  for (const Elf64_Shdr &section : sections) {
    if (section.sh_name >= text.size())
      continue;
    std::string_view rest(text.data() + section.sh_name,
                          text.size() - section.sh_name);
    if (rest.substr(0, rest.find('\0')) != name)
      continue;
    if (section.sh_offset > image.size() ||
        section.sh_size > image.size() - section.sh_offset)
      return notElf();
    return SectionRange{section.sh_offset, section.sh_size};
  }
  return makeError("the linker's output has no section " + std::string(name));
}

} // namespace tlm
