//===- Reducing.h - reductions along axes -----------------------*- C++ -*-===//

#ifndef TLM_IMPORT_OPS_REDUCING_H
#define TLM_IMPORT_OPS_REDUCING_H

#include "import/ops/Expression.h"

#include <functional>

namespace tlm {

using TermFunction = std::function<Term(Term)>;

/// after(combine of before(x) over `axes`), whose dims become 1. Null functions
/// do nothing; without axes nothing is combined.
Result<ValueId> emitReduce(NodeImporter &node, ValueId x,
                           const std::vector<int64_t> &axes, Combine combine,
                           TermFunction before = nullptr,
                           TermFunction after = nullptr);

/// x without `axes`, which have the extent 1.
Result<ValueId> dropAxes(NodeImporter &node, ValueId x,
                         const std::vector<int64_t> &axes);

/// x minus the logarithm of the sum of exp(x) along an axis.
Result<ValueId> emitLogSoftmax(NodeImporter &node, ValueId x, int64_t axis);

} // namespace tlm

#endif // TLM_IMPORT_OPS_REDUCING_H
