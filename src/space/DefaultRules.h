//===- DefaultRules.h - parts of the analytical pick ------------*- C++ -*-===//
//
// What the rules of DefaultSchedule share. The rules of contractions have a
// file of their own, DefaultContraction.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_SPACE_DEFAULTRULES_H
#define TLM_SPACE_DEFAULTRULES_H

#include "space/Space.h"

namespace tlm {

/// The largest divisor of `n` up to `most`.
int64_t largestDivisor(int64_t n, int64_t most);

/// Workers beyond this are not worth their barrier. A region costs under 1 us;
/// a kernel kept on one worker also pulls its input from the other workers' L2.
int64_t usefulWorkers(const Target &target, double microseconds);

/// Rough time on one core, to decide on threads: 32 FMAs a cycle at 512 bits.
double estimateMicroseconds(const Task &task, const Target &target);

/// Share of time lost when `chunks` equal chunks run on `workers`.
double imbalance(int64_t chunks, int64_t workers);

/// Chunks of rows that let kernels hand large images on stripe by stripe: what
/// a chunk reads and writes is a quarter of L2.
int64_t stripes(const Task &task, const Target &target);

/// How many chunks to cut `extent` iterations into, out of its divisors: at
/// least `least` (cache), little imbalance, and chunks of 10 us or more, up to
/// four a worker, so that a disturbed worker is helped out.
int64_t pickChunks(int64_t extent, int64_t workers, int64_t least,
                   double microseconds);

/// Wishes for a convolution or matmul in the direct form. False: the plain form
/// is better.
bool scheduleDirect(const Task &task, const Target &target, Schedule &schedule);

/// Wishes for F(4x4,3x3) or F(2x2,3x3). False: `space` has neither, or the
/// direct form is better.
bool scheduleWinograd(const Task &task, const Target &target,
                      const Space &space, Schedule &schedule);

} // namespace tlm

#endif // TLM_SPACE_DEFAULTRULES_H
