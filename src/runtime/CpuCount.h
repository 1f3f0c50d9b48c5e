/*===- CpuCount.h - CPUs this process may use
 * -------------------------------===*/

#ifndef TLM_RUNTIME_CPUCOUNT_H
#define TLM_RUNTIME_CPUCOUNT_H

/* Minimum of the affinity mask and the cgroup quotas (v1 and v2, the process's
 * own group and its parents), rounded up; at least 1. */
int tlmUsableCpus(void);

#endif /* TLM_RUNTIME_CPUCOUNT_H */
