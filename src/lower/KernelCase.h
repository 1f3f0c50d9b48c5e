//===- KernelCase.h - one kernel with inputs --------------------*- C++ -*-===//
//
// Task builders for tests and benchmarks, and a kernel together with filled
// operands.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LOWER_KERNELCASE_H
#define TLM_LOWER_KERNELCASE_H

#include "lower/LoadedKernel.h"
#include "lower/OperandData.h"

namespace tlm {

struct ConvCase {
  int64_t n = 1, c = 1, f = 1, h = 1, w = 1, k = 1, stride = 1, pad = 0,
          dilation = 1, groups = 1;
  bool depthwise = false, nchwInput = false;
  int64_t outBorder = 0, residualBorder = 0;
  Task built = {};
  std::vector<PointOp> points = {};
  bool hasResidual = false, hasScale = false;

  ConvCase &add(Op op, float a = 0, float b = 0);
  ConvCase &relu() { return add(Op::Relu); }
  ConvCase &relu6() { return add(Op::Clip, 0, 6); }
  ConvCase &swish() { return add(Op::Swish); }
  ConvCase &residual();
  ConvCase &scaled() {
    hasScale = true;
    return *this;
  }
  Task task() const;
};

struct PoolCase {
  TaskKind kind = TaskKind::MaxPool;
  int64_t n = 1, c = 1, h = 1, w = 1, k = 3, stride = 2, pad = 1;
  Task task() const;
};

struct MatMulCase {
  int64_t m = 1, k = 1, n = 1;
  bool transposed = true;
  std::vector<PointOp> points = {};
  MatMulCase &sigmoid() {
    points.push_back({Op::Sigmoid, {PointRef{}}, 0, 0});
    return *this;
  }
  Task task() const;
};

class KernelCase {
public:
  /// Compiles, loads and fills the operands (OperandData.h).
  static Result<KernelCase> make(const Task &task, const Schedule &schedule,
                                 const Target &target);
  void run() { kernel.run(data.kernelOperands()); }
  const AlignedFloats &output() const { return data.output(); }

private:
  KernelCase(LoadedKernel kernel, OperandData data)
      : kernel(std::move(kernel)), data(std::move(data)) {}
  LoadedKernel kernel;
  OperandData data;
};

} // namespace tlm

#endif // TLM_LOWER_KERNELCASE_H
