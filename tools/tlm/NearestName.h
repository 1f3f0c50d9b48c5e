//===- NearestName.h - "did you mean" ---------------------------*- C++ -*-===//

#ifndef TLM_TOOLS_NEARESTNAME_H
#define TLM_TOOLS_NEARESTNAME_H

#include <string>
#include <vector>

namespace tlm {

/// The candidate with the smallest edit distance to `name`, or "" when even
/// that one differs in more than half of its letters.
std::string nearestName(const std::string &name,
                        const std::vector<std::string> &candidates);

} // namespace tlm

#endif // TLM_TOOLS_NEARESTNAME_H
