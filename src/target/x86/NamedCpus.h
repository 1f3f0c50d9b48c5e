//===- NamedCpus.h - processors that --mcpu knows ---------------*- C++ -*-===//

#ifndef TLM_TARGET_X86_NAMEDCPUS_H
#define TLM_TARGET_X86_NAMEDCPUS_H

#include "target/Target.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tlm::x86 {

/// The target of that name, threads not set; nothing when the table lacks it.
std::optional<Target> namedCpu(std::string_view name);

/// All names, in the order of the table.
std::vector<std::string> namedCpus();

/// Sets vectorBits and vectorRegisters from the features.
void deriveVectorShape(Target &target);

} // namespace tlm::x86

#endif // TLM_TARGET_X86_NAMEDCPUS_H
