//===- KernelEstimate.h - what a schedule costs, by arithmetic --*- C++ -*-===//
//
// A micro performance model in the sense of Roller (Zhu et al., OSDI 2022,
// section 3.4): from the task, the target and the choices it counts vector
// operations, what moves between the levels of memory, and how evenly chunks
// fall on workers, and adds up a time. It measures nothing and knows no kernel
// but by its loops. Roller's strategy ranks with it; for the cost models its
// parts are features (Features.h).
//
// A level holds a footprint: what it must keep so that the loops inside find
// their operands there. Traffic is what passes into a level from below, over
// the whole kernel. The reuse of a larger tile is the traffic it saves.
//
// Decisions it does not know change nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_SPACE_KERNELESTIMATE_H
#define TLM_SPACE_KERNELESTIMATE_H

#include "space/Schedule.h"
#include "target/Target.h"
#include "task/Task.h"

namespace tlm {

struct KernelEstimate {
  // Register tile.
  double tilePixels = 1, tileVectors = 1;
  double registers = 0;        ///< vectors that the tile keeps
  double registerTraffic = 0;  ///< bytes loaded from L1
  double steps = 0;            ///< tiles times the length of their reduction
  double cyclesPerStep = 0;    ///< of the operations alone
  double vectorOperations = 0; ///< padding and multiplied zeros included

  // A chunk's operands.
  double panelBytes = 0; ///< weights that one register tile passes over
  double chunkInputBytes = 0, chunkWeightBytes = 0, chunkOutputBytes = 0;
  double cacheFootprint = 0; ///< what a chunk wants to keep in L2
  double cacheTraffic = 0;   ///< bytes that come to L2, over all chunks

  // Chunks on workers, of the largest stage.
  double chunks = 1, workers = 1;
  /// Time of the slowest worker over that of an even split; 1 is even.
  double imbalance = 1;
  double stages = 1;

  // Microseconds of one worker's share; they overlap in part.
  double operationTime = 0, l2Time = 0, memoryTime = 0, epilogueTime = 0;
  /// The prediction.
  double microseconds = 0;
};

/// `schedule` is a leaf of the task's space.
KernelEstimate estimateKernel(const Task &task, const Target &target,
                              const Schedule &schedule);

} // namespace tlm

#endif // TLM_SPACE_KERNELESTIMATE_H
