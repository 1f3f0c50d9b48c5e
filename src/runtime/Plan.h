/*===- Plan.h - reading the plan blob
 * ---------------------------------------===*/

#ifndef TLM_RUNTIME_PLAN_H
#define TLM_RUNTIME_PLAN_H

#include "Format.h"
#include "Pool.h"
#include "tlm/tlm.h"

#define TLM_HIDDEN __attribute__((visibility("hidden")))

/* In the plan's object, which driver/Artifact.cpp links with this runtime. */
extern TLM_HIDDEN const unsigned char tlmPlanBlob[];
extern TLM_HIDDEN const char tlmManifest[];
extern TLM_HIDDEN TlmStageFunction const tlmStageTable[];

static inline const TlmPlanHeader *tlmPlan(void) {
  return (const TlmPlanHeader *)(const void *)tlmPlanBlob;
}

static inline const void *tlmAt(uint32_t offset) {
  return tlmPlanBlob + offset;
}

/* NULL for 0. */
static inline const char *tlmText(uint32_t offset) {
  return offset ? (const char *)tlmAt(offset) : NULL;
}

static inline const TlmTensorRecord *tlmInputs(void) {
  return (const TlmTensorRecord *)tlmAt(tlmPlan()->inputs.offset);
}
static inline const TlmTensorRecord *tlmOutputs(void) {
  return (const TlmTensorRecord *)tlmAt(tlmPlan()->outputs.offset);
}
static inline const TlmKernelRecord *tlmKernels(void) {
  return (const TlmKernelRecord *)tlmAt(tlmPlan()->kernels.offset);
}
static inline const TlmPlanRecord *tlmPlans(void) {
  return (const TlmPlanRecord *)tlmAt(tlmPlan()->plans.offset);
}

/* Magic and version, then the CPU's features, then the hash. Everything here is
 * baseline code; nothing generated has run when this refuses. */
tlm_status tlmPlanCheck(void);

#endif /* TLM_RUNTIME_PLAN_H */
