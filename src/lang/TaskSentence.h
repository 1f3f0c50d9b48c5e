//===- TaskSentence.h - a task as words -------------------------*- C++ -*-===//
//
// Everything that stands in a task's canonical text, without loss and without
// names: reading back what was written gives an equal Task. The 3x3 convolution
// of ResNet-50 with its addition and clip:
//
//   [TASK] conv par 1 ~2^6 *64 ~2^5 *8 *7 ~2^5 *8 *7   n f h w
//   red ~2^6 *64 3 3                                    c kh kw
//   window @5 pad 1 1 same
//   input f32 nhwc @0 @4 @2 @3 ring 1
//   weight const f32 plain @1 @4 @5 @6
//   bias const f32 plain @1
//   extra f32 nhwc @0 @1 @2 @3
//   output f32 nhwc
//   add acc operand 3   clip point 0 b 6
//
// Parallel and reduction loops come first, as TaskLoops says; @4 is the fifth
// of them, and stands for a dim along which it runs and whose extent it has.
// Another dim is its number. What has its usual value is left out: a stride or
// dilation of 1, no padding, a second window that is the `same`, lanes
// (channelStride) of channels rounded up to 16, a border (`ring` where all
// sides are equal) and its `fill` of 0. The output's dims are the parallel
// loops. Operations of a Compute task name their arguments by distance: 1 is
// the one before.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LANG_TASKSENTENCE_H
#define TLM_LANG_TASKSENTENCE_H

#include "lang/TokenReader.h"
#include "task/Task.h"

namespace tlm {

/// [TASK] and what follows it; of a task that verifies.
void appendTask(std::vector<Token> &tokens, const Task &task);

/// Refuses what is no task, and every other way to write it: with the place,
/// counted in tokens of the reader, and what was expected there.
Result<Task> readTask(TokenReader &reader);

/// A word for every value of the tables, found by value or by word: "conv",
/// "input", "f32", "add", "%add", "by:sum", "norm:layer".
std::string taskWord(TaskKind kind);
std::string taskWord(Role role);
std::string taskWord(Layout layout);
std::string taskWord(DType dtype);
std::string taskWord(Op op);
std::string taskWord(Scalar op);
std::string taskWord(Combine combine);
std::string taskWord(Norm norm);

/// Takes the next word when it is one of that type.
bool takeTaskWord(TokenReader &reader, TaskKind &kind);
bool takeTaskWord(TokenReader &reader, Role &role);
bool takeTaskWord(TokenReader &reader, Layout &layout);
bool takeTaskWord(TokenReader &reader, DType &dtype);
bool takeTaskWord(TokenReader &reader, Op &op);
bool takeTaskWord(TokenReader &reader, Scalar &op);
bool takeTaskWord(TokenReader &reader, Combine &combine);
bool takeTaskWord(TokenReader &reader, Norm &norm);

/// "@4": the loop of that number, of which there are words for 16.
inline constexpr int kLoopWords = 16;
std::string loopWord(int loop);

/// The lanes of an NHWC buffer of so many channels, where it is not said.
int64_t usualLanes(int64_t channels);

/// The words of tasks, for neededWords().
std::vector<std::string> neededTaskWords();

} // namespace tlm

#endif // TLM_LANG_TASKSENTENCE_H
