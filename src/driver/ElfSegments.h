//===- ElfSegments.h - one more segment for a linked file -------*- C++ -*-===//

#ifndef TLM_DRIVER_ELFSEGMENTS_H
#define TLM_DRIVER_ELFSEGMENTS_H

#include "base/Result.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tlm {

/// First bytes of an appended segment that hold the file's program headers;
/// the `headBytes` before them are the caller's.
inline constexpr size_t kSegmentHeadBytes = 64;
inline constexpr size_t kSegmentDataOffset = 4096;

/// Makes room for a read-only segment of `segmentBytes` behind the shared
/// object `image`, page-aligned and last in memory. The table of program
/// headers, which needs one entry more, moves into the segment's first page
/// (so a file that was cut off before it does not even load). Returns the
/// segment's offset in the file; `image` then ends kSegmentDataOffset behind
/// it.
Result<uint64_t> appendSegment(std::vector<char> &image, uint64_t segmentBytes);

struct SectionRange {
  uint64_t offset = 0, bytes = 0;
};
/// Where a section lies in the file; an error when there is none.
Result<SectionRange> findSection(const std::vector<char> &image,
                                 std::string_view name);

} // namespace tlm

#endif // TLM_DRIVER_ELFSEGMENTS_H
