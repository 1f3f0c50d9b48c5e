#include "space/CodeSize.h"

namespace tlm {

int64_t vectorOperations(Op op) {
  switch (op) {
  case Op::Exp:
  case Op::Elu:
  case Op::Sigmoid:
  case Op::Swish:
  case Op::Tanh:
  case Op::Erf:
  case Op::Gelu:
  case Op::GeluTanh:
    return 25; // a polynomial
  case Op::HardSigmoid:
  case Op::HardSwish:
  case Op::Clip:
  case Op::LeakyRelu:
    return 4;
  default:
    return 2;
  }
}

int64_t epilogueOperations(const Task &task) {
  int64_t operations = 1;
  for (const PointOp &point : task.points)
    operations += vectorOperations(point.op) * int64_t(point.inputs.size());
  return operations;
}

} // namespace tlm
