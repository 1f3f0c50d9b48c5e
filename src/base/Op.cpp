#include "base/Op.h"

using namespace tlm;

std::string_view tlm::nameOf(Op op) {
  switch (op) {
#define TLM_OP(id, name, text, pointwise)                                      \
  case Op::name:                                                               \
    return text;
#include "base/Ops.def"
  }
  return "?";
}

bool tlm::isPointwise(Op op) {
  switch (op) {
#define TLM_OP(id, name, text, pointwise)                                      \
  case Op::name:                                                               \
    return pointwise;
#include "base/Ops.def"
  }
  return false;
}
