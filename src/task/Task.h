//===- Task.h - one fused subgraph to compile -------------------*- C++ -*-===//
//
// The second of TLM's value types: what partition/ hands to space/ and lower/.
// A Task is one anchor operation (`kind`), with an optional prologue that
// scales the input per channel, and an epilogue of pointwise operations; it
// names no values and no weights, so equal subgraphs of a network are one Task.
// Inside it says what is computed; at its border it is exact: every operand is
// a BufferType.
//
// What each kind computes, f32, before the epilogue (x: Input, w: Weight, b:
// Bias; Window per spatial dim; oh = window.outputExtent(h)):
//   Conv        acc[n,f,oh,ow] = b[f] + sum_{c,kh,kw} x[n,g*Cg+c,..] *
//   w[f,c,kh,kw] Depthwise   the same with one input channel a group (groups ==
//   C == F) MatMul      acc[m,n] = b[n] + sum_k x[m,k] * w[k,n]; w as [K,N], or
//   as
//               [N,K] when `transposedWeight`
//   MaxPool / AveragePool   over the window
//   GlobalPool  acc[n,c] = mean_{h,w} x[n,c,h,w]
//   Pointwise   acc = x (the epilogue does it all)
//   Copy        out = x, from one BufferType to another (layout or border
//               changes; the epilogue is empty)
//   Concat      along the channel (dim 1): several Inputs, one Output
//   Softmax     along the last dim of a Plain buffer
//   Compute     out = `computation` of the Inputs, of any element types; loads
//               take logical indices
//   BatchMatMul acc[b,m,n] = sum_k x[b,m,k] * y[b,k,n]; two Inputs computed at
//               run time or constant, each of batch B or 1; y as [.,N,K] when
//               `transposedWeight`
//   Normalize   along the last dim of a Plain buffer, by `norm`; then times the
//               Weight [C] and plus the Bias [C] where they are given
//   Attention   softmax(scale * Q K^T + mask) V per head, a Plain buffer each;
//               Inputs Q, K, V as [B,S,heads*D], or head by head as
//               [B,heads,S,D]; an Extra is the mask, of rank 4, broadcast to
//               [B,heads,S,T]; Output [B,S,heads*D]; V and the
//               Output may have another D than Q and K
//
// Convolution and pooling read the padding from the border of their input
// buffer: border >= windowBorder() on every side (checked by verify), so
// reading at (oh*stride - padBegin + kh*dilation) is always inside the buffer.
//
// Operands stand in the order of their roles. MatMul's are 2-D and Plain,
// BatchMatMul's 3-D and Plain. The
// dims of an Extra have the output's rank, each 1 or the output's, and so have
// those of the Input of a Pointwise task.
//
// The canonical text is the key: one line a clause, versioned, locked by tests.
//   tlm-task 1
//   kind conv
//   operand input f32 nhwc[1,64,56,56]c64 border(1,1,1,1)=0
//   operand weight const f32 plain[64,64,3,3]
//   operand bias const f32 plain[64]
//   operand extra f32 nhwc[1,64,56,56]c64
//   operand output f32 nhwc[1,64,56,56]c64
//   window 3 stride 1 dilation 1 pad 1 1
//   window 3 stride 1 dilation 1 pad 1 1
//   point add acc operand3
//   point clip point0 b=6
// Left out where they are the default: groups 1, transposed_weight,
// count_include_pad, a=0, b=0. A Compute task ends with Computation::text().
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TASK_TASK_H
#define TLM_TASK_TASK_H

#include "base/Computation.h"
#include "base/Op.h"
#include "base/Result.h"
#include "task/BufferType.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tlm {

/// Version of the canonical text; part of it.
inline constexpr int kTaskVersion = 1;

/// Ids are append-only: records and the tensor language store them.
enum class TaskKind : int32_t {
  Conv = 0,
  Depthwise = 1,
  MatMul = 2,
  MaxPool = 3,
  AveragePool = 4,
  GlobalPool = 5,
  Pointwise = 6,
  Copy = 7,
  Concat = 8,
  Softmax = 9,
  Compute = 10,
  BatchMatMul = 11,
  Normalize = 12,
  Attention = 13,
};
std::string_view nameOf(TaskKind kind);

/// What a Normalize task divides by. Ids are append-only.
enum class Norm : int32_t {
  Layer = 0, ///< (x - mean) / sqrt(variance + epsilon)
  Rms = 1,   ///< x / sqrt(mean(x^2) + epsilon)
};

std::string_view nameOf(Norm norm);

/// Heads of an Attention task; key and value heads are shared by groups of
/// query heads where there are fewer.
struct AttentionShape {
  int64_t heads = 0, keyHeads = 0;
  float scale = 1;
  bool operator==(const AttentionShape &) const = default;
};

enum class Role : int32_t {
  Input = 0,      ///< the anchor's activation operand(s)
  Weight = 1,     ///< ONNX layout: [F,C/g,KH,KW], [K,N] or [N,K]
  Bias = 2,       ///< [F]
  InputScale = 3, ///< prologue: [N,C,1,1], multiplies Input per channel
  Extra = 4,      ///< read by the epilogue; broadcasts to the output
  Output = 5,     ///< always last
};
std::string_view nameOf(Role role);

struct Operand {
  Role role = Role::Input;
  BufferType type;
  bool isConstant = false; ///< known at compile time, may be packed
  bool operator==(const Operand &) const = default;
};

/// One argument of a PointOp.
struct PointRef {
  enum class Kind : int32_t {
    Accumulator = 0, ///< the anchor's result
    Point = 1,       ///< result of points[index], an earlier one
    Operand = 2,     ///< operands[index], role Extra
  };
  Kind kind = Kind::Accumulator;
  int32_t index = 0;
  bool operator==(const PointRef &) const = default;
};

/// A pointwise operation of the epilogue. The last one yields the output.
struct PointOp {
  Op op = Op::Relu;
  std::vector<PointRef> inputs;
  float a = 0, b = 0; ///< ScalarAttributes of the op, else 0
  bool operator==(const PointOp &) const = default;
};

struct Task {
  TaskKind kind = TaskKind::Pointwise;
  std::vector<Operand> operands;
  std::vector<Window>
      windows;        ///< Conv, Depthwise, MaxPool, AveragePool: {h, w}
  int64_t groups = 1; ///< Conv
  bool transposedWeight = false; ///< MatMul, BatchMatMul
  bool countIncludePad = false;  ///< AveragePool
  std::vector<PointOp> points;
  Computation computation = {};  ///< Compute; its operands are the Inputs
  Norm norm = Norm::Layer;       ///< Normalize
  float epsilon = 0;             ///< Normalize
  AttentionShape attention = {}; ///< Attention

  /// First operand of that role, or nullptr. Output always exists.
  const Operand *find(Role role) const;
  /// Index in `operands` of the first of that role, or -1.
  int indexOf(Role role) const;
  const Operand &output() const { return operands.back(); }

  /// Floating point operations of the anchor (2 a multiply-add).
  double flops() const;
  /// Bytes that must be touched: every operand once.
  double bytes() const;

  /// Canonical text, ends in a newline: equal tasks, equal text.
  std::string text() const;
  /// 64-bit hash of the text, the same on every platform (16 hex digits).
  std::string key() const;
  /// Short name for symbols, profiles: "conv3x3s1_56x56x64_64_add_relu". A
  /// fragment of a C identifier; different tasks may share it.
  std::string label() const;

  /// What is broken, or empty.
  std::string verify() const;
};

/// How far the windows read beyond an input of that height and width: the
/// border its buffer needs. Less than padEnd where a stride ends early.
Border windowBorder(const std::vector<Window> &windows, int64_t height,
                    int64_t width);

/// Reads canonical text and verifies; refuses other versions and malformed text
/// by line.
Result<Task> parseTask(const std::string &text);

} // namespace tlm

#endif // TLM_TASK_TASK_H
