/*===- Run.h - one inference
 * ------------------------------------------------===*/

#ifndef TLM_RUNTIME_RUN_H
#define TLM_RUNTIME_RUN_H

#include "Context.h"

tlm_status tlmContextRun(tlm_context *context, const tlm_tensor *inputs,
                         int32_t inputCount, const tlm_tensor *outputs,
                         int32_t outputCount, const tlm_run_options *options);

#endif /* TLM_RUNTIME_RUN_H */
