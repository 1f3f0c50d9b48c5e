/*===- Plan.c
 * ---------------------------------------------------------------===*/

#include "Plan.h"

#include "CpuFeatures.h"
#include "Hash.h"
#include "LastError.h"

#include <stddef.h>

static tlm_status checkFeatures(void) {
  const TlmPlanHeader *plan = tlmPlan();
  const uint32_t *features = (const uint32_t *)tlmAt(plan->features.offset);
  for (uint32_t i = 0; i < plan->features.count; ++i) {
    const char *name = tlmText(features[i]);
    TlmFeatureState state = tlmFeatureState(name);
    if (state == TLM_FEATURE_MISSING)
      return tlmFail(TLM_ERROR_MACHINE,
                     "%s: compiled for %s, needs %s, this CPU lacks it; "
                     "recompile with --mcpu=%s",
                     tlmText(plan->name), tlmText(plan->cpu), name,
                     tlmBestLevel());
    if (state == TLM_FEATURE_UNKNOWN)
      return tlmFail(TLM_ERROR_MACHINE,
                     "%s: compiled for %s, needs %s, which this runtime cannot "
                     "check; recompile with --mcpu=%s",
                     tlmText(plan->name), tlmText(plan->cpu), name,
                     tlmBestLevel());
  }
  return TLM_OK;
}

tlm_status tlmPlanCheck(void) {
  const TlmPlanHeader *plan = tlmPlan();
  if (memcmp(plan->magic, TLM_PLAN_MAGIC, sizeof(plan->magic)))
    return tlmFail(TLM_ERROR_FILE, "the artifact holds no plan: damaged file");
  if (plan->version != TLM_FORMAT_VERSION ||
      plan->headerBytes != sizeof(TlmPlanHeader))
    return tlmFail(TLM_ERROR_VERSION,
                   "the artifact's plan has format %u, its runtime reads %u",
                   plan->version, TLM_FORMAT_VERSION);
  tlm_status status = checkFeatures();
  if (status != TLM_OK)
    return status;
  TlmPlanHeader header = *plan;
  header.hash = 0;
  uint64_t hash = tlmHash(0, &header, sizeof(header));
  hash = tlmHash(hash, tlmPlanBlob + sizeof(header),
                 plan->blobBytes - sizeof(header));
  if (hash != plan->hash)
    return tlmFail(TLM_ERROR_FILE,
                   "%s: the plan's bytes do not have the stored hash: damaged "
                   "file",
                   tlmText(plan->name));
  return TLM_OK;
}
