//===- PlainRule.cpp - loops as written -----------------------------------===//

#include "space/rules/Rule.h"

namespace tlm {

Status plainExists(const RuleInput &) { return success(); }

void decidePlain(const RuleInput &, Asker &) {}

} // namespace tlm
