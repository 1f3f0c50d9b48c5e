//===- SpaceTestTasks.h - tasks of every kind, odd extents too --*- C++ -*-===//

#ifndef TLM_SPACE_SPACETESTTASKS_H
#define TLM_SPACE_SPACETESTTASKS_H

#include "task/Task.h"

#include <vector>

namespace tlm {

/// Bodies of task texts, behind the version line.
inline const char *const kSpaceTestTasks[] = {
    // 1x1, channels of 7 vectors, epilogue with a residual.
    "kind conv\noperand input f32 nhwc[1,64,14,14]c64\n"
    "operand weight const f32 plain[112,64,1,1]\n"
    "operand bias const f32 plain[112]\n"
    "operand extra f32 nhwc[1,112,14,14]c112\n"
    "operand output f32 nhwc[1,112,14,14]c112\n"
    "window 1 stride 1 dilation 1 pad 0 0\n"
    "window 1 stride 1 dilation 1 pad 0 0\n"
    "point add acc operand3\npoint relu point0\n",
    // 3x3, batch of 2, odd extents, a heavy epilogue.
    "kind conv\noperand input f32 nhwc[2,24,13,17]c32 border(1,1,1,1)=0\n"
    "operand weight const f32 plain[40,24,3,3]\n"
    "operand output f32 nhwc[2,40,13,17]c48\n"
    "window 3 stride 1 dilation 1 pad 1 1\n"
    "window 3 stride 1 dilation 1 pad 1 1\npoint swish acc\n",
    // 3x3 with whole tiles.
    "kind conv\noperand input f32 nhwc[1,64,56,56]c64 border(1,1,1,1)=0\n"
    "operand weight const f32 plain[64,64,3,3]\n"
    "operand bias const f32 plain[64]\n"
    "operand output f32 nhwc[1,64,56,56]c64\n"
    "window 3 stride 1 dilation 1 pad 1 1\n"
    "window 3 stride 1 dilation 1 pad 1 1\npoint relu acc\n",
    // A stem that reads NCHW.
    "kind conv\noperand input f32 plain[1,3,31,31] border(3,3,3,3)=0\n"
    "operand weight const f32 plain[64,3,7,7]\n"
    "operand output f32 nhwc[1,64,16,16]c64\n"
    "window 7 stride 2 dilation 1 pad 3 3\n"
    "window 7 stride 2 dilation 1 pad 3 3\npoint relu acc\n",
    // Squeeze and excite.
    "kind conv\noperand input f32 nhwc[1,96,7,7]c96\n"
    "operand weight const f32 plain[24,96,1,1]\n"
    "operand input_scale f32 plain[1,96,1,1]\n"
    "operand output f32 nhwc[1,24,7,7]c32\n"
    "window 1 stride 1 dilation 1 pad 0 0\n"
    "window 1 stride 1 dilation 1 pad 0 0\n",
    // Narrow groups.
    "kind conv\noperand input f32 nhwc[1,32,8,8]c32 border(1,1,1,1)=0\n"
    "operand weight const f32 plain[32,8,3,3]\n"
    "operand output f32 nhwc[1,32,8,8]c32\n"
    "window 3 stride 1 dilation 1 pad 1 1\n"
    "window 3 stride 1 dilation 1 pad 1 1\ngroups 4\n",
    "kind depthwise\noperand input f32 nhwc[1,40,15,15]c48 border(2,2,2,2)=0\n"
    "operand weight const f32 plain[40,1,5,5]\n"
    "operand bias const f32 plain[40]\n"
    "operand output f32 nhwc[1,40,15,15]c48\n"
    "window 5 stride 1 dilation 1 pad 2 2\n"
    "window 5 stride 1 dilation 1 pad 2 2\ngroups 40\n"
    "point clip acc b=6\n",
    "kind max_pool\noperand input f32 nhwc[3,64,28,28]c64 "
    "border(1,0,1,0)=-inf\n"
    "operand output f32 nhwc[3,64,14,14]c64\n"
    "window 3 stride 2 dilation 1 pad 1 1\n"
    "window 3 stride 2 dilation 1 pad 1 1\n",
    // Clipped divisors: only the plain form.
    "kind average_pool\n"
    "operand input f32 nhwc[1,32,8,8]c32 border(1,1,1,1)=0\n"
    "operand output f32 nhwc[1,32,8,8]c32\n"
    "window 3 stride 1 dilation 1 pad 1 1\n"
    "window 3 stride 1 dilation 1 pad 1 1\n",
    "kind global_pool\noperand input f32 nhwc[2,960,7,7]c960\n"
    "operand output f32 plain[2,960,1,1]\n",
    "kind pointwise\noperand input f32 nhwc[1,24,9,9]c32\n"
    "operand extra f32 nhwc[1,24,9,9]c32\n"
    "operand output f32 nhwc[1,24,9,9]c32\npoint add acc operand1\n",
    "kind copy\noperand input f32 plain[1,3,30,30]\n"
    "operand output f32 plain[1,3,30,30] border(1,1,1,1)=0\n",
    // Another layout: only the plain form.
    "kind copy\noperand input f32 plain[1,16,6,6]\n"
    "operand output f32 nhwc[1,16,6,6]c16\n",
    "kind matmul\noperand input f32 plain[128,768]\n"
    "operand weight const f32 plain[768,3072]\n"
    "operand bias const f32 plain[3072]\n"
    "operand output f32 plain[128,3072]\npoint gelu acc\n",
    // A ragged last panel.
    "kind matmul\noperand input f32 plain[1,1280]\n"
    "operand weight const f32 plain[1000,1280]\n"
    "operand bias const f32 plain[1000]\n"
    "operand output f32 plain[1,1000]\ntransposed_weight\n",
    "kind softmax\noperand input f32 plain[12,384]\n"
    "operand output f32 plain[12,384]\n",
    "kind normalize\noperand input f32 plain[1,128,768]\n"
    "operand weight const f32 plain[768]\noperand bias const f32 plain[768]\n"
    "operand output f32 plain[1,128,768]\nnorm layer epsilon 1e-05\n",
    "kind attention\noperand input f32 plain[1,197,768]\n"
    "operand input f32 plain[1,197,768]\noperand input f32 plain[1,197,768]\n"
    "operand output f32 plain[1,197,768]\nheads 12 key_heads 12 "
    "scale 0.125\n",
    // Rows of odd lengths.
    "kind softmax\noperand input f32 plain[6,1500]\n"
    "operand output f32 plain[6,1500]\n",
    "kind normalize\noperand input f32 plain[49,7]\n"
    "operand output f32 plain[49,7]\nnorm rms epsilon 1e-05\n",
    // Heads that are no whole vectors, values wider than keys, a mask.
    "kind attention\noperand input f32 plain[2,4,49,12]\n"
    "operand input f32 plain[2,77,24]\noperand input f32 plain[2,77,40]\n"
    "operand extra f32 plain[1,1,49,77]\noperand output f32 plain[2,49,80]\n"
    "heads 4 key_heads 2 scale 0.25\n",
    // A batch with a right operand of its own, in place or packed.
    "kind batch_matmul\noperand input f32 plain[12,197,64]\n"
    "operand input f32 plain[12,64,197]\noperand output f32 "
    "plain[12,197,197]\n",
    // One row: transposed in a stage, or the plain form.
    "kind batch_matmul\noperand input f32 plain[12,1,64]\n"
    "operand input f32 plain[12,50,64]\noperand output f32 plain[12,1,50]\n"
    "transposed_weight\n",
    "kind concat\noperand input f32 nhwc[1,16,4,4]c16\n"
    "operand input f32 nhwc[1,16,4,4]c16\n"
    "operand output f32 nhwc[1,32,4,4]c32\n",
};

inline std::vector<Task> spaceTestTasks() {
  std::vector<Task> tasks;
  for (const char *body : kSpaceTestTasks) {
    Result<Task> task = parseTask(std::string("tlm-task 1\n") + body);
    TLM_CHECK(task) << task.error().message << '\n' << body;
    tasks.push_back(std::move(*task));
  }
  return tasks;
}

} // namespace tlm

#endif // TLM_SPACE_SPACETESTTASKS_H
