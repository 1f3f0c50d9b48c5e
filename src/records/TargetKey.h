//===- TargetKey.h - the machine that a record was made on ------*- C++ -*-===//
//
// What decides how fast a schedule is, and nothing measured, which jitters:
// processor, features that code may use, cache sizes, threads. One line:
//   x86_64-unknown-linux-gnu cpu=znver5 features=... l1d=49152 l2=1048576
//   l3=33554432 threads=2
// The key reads as processor, threads and hash: "znver5.2t.3f2a9c0d11e4b870".
//
//===----------------------------------------------------------------------===//

#ifndef TLM_RECORDS_TARGETKEY_H
#define TLM_RECORDS_TARGETKEY_H

#include "base/Result.h"
#include "target/Target.h"

#include <string>

namespace tlm {

std::string targetText(const Target &target);

/// The key of a text of that form; an error for any other text.
Result<std::string> targetKey(const std::string &text);
std::string targetKey(const Target &target);

} // namespace tlm

#endif // TLM_RECORDS_TARGETKEY_H
