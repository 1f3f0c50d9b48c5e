/*===- CpuCount.c
 * -----------------------------------------------------------===*/

#define _GNU_SOURCE
#include "CpuCount.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int affinityCpus(void) {
  /* The kernel refuses masks smaller than its own: grow until one fits. */
  for (int bits = 1024; bits <= 1 << 20; bits *= 4) {
    cpu_set_t *set = CPU_ALLOC((size_t)bits);
    if (!set)
      break;
    size_t size = CPU_ALLOC_SIZE((size_t)bits);
    int count = sched_getaffinity(0, size, set) ? 0 : CPU_COUNT_S(size, set);
    CPU_FREE(set);
    if (count > 0)
      return count;
  }
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (int)online : 1;
}

static int readText(const char *path, char *text, size_t size) {
  FILE *file = fopen(path, "re");
  if (!file)
    return 0;
  size_t length = fread(text, 1, size - 1, file);
  fclose(file);
  text[length] = 0;
  return length > 0;
}

static double smaller(double limit, double quota, double period) {
  return quota > 0 && period > 0 && quota / period < limit ? quota / period
                                                           : limit;
}

/* CPUs that directory's quota allows, or `limit` when it has none. */
static double quotaOf(const char *directory, double limit) {
  char path[4200], text[128];
  double quota = 0, period = 0;
  snprintf(path, sizeof(path), "%s/cpu.max", directory);
  if (readText(path, text, sizeof(text)) &&
      sscanf(text, "%lf %lf", &quota, &period) == 2)
    limit = smaller(limit, quota, period);
  snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", directory);
  if (readText(path, text, sizeof(text))) {
    quota = atof(text);
    snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", directory);
    if (readText(path, text, sizeof(text)))
      limit = smaller(limit, quota, atof(text));
  }
  return limit;
}

/* The group `path` below `root` and all its parents. */
static double quotaUpwards(const char *root, const char *path, double limit) {
  char directory[4096];
  int length = snprintf(directory, sizeof(directory), "%s%s", root, path);
  if (length < 0 || (size_t)length >= sizeof(directory))
    return limit;
  size_t rootLength = strlen(root);
  for (;;) {
    limit = quotaOf(directory, limit);
    char *slash = strrchr(directory, '/');
    if (!slash || (size_t)(slash - directory) < rootLength)
      return limit;
    *slash = 0;
  }
}

static double cgroupCpus(double limit) {
  char text[8192];
  if (!readText("/proc/self/cgroup", text, sizeof(text)))
    return limit;
  char *save = NULL;
  for (char *line = strtok_r(text, "\n", &save); line;
       line = strtok_r(NULL, "\n", &save)) {
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
      continue;
    *path++ = 0;
    ++controllers;
    if (!*controllers) {
      limit = quotaUpwards("/sys/fs/cgroup", path, limit);
      limit = quotaUpwards("/sys/fs/cgroup/unified", path, limit);
    } else if (!strncmp(controllers, "cpu", 3)) {
      limit = quotaUpwards("/sys/fs/cgroup/cpu", path, limit);
      limit = quotaUpwards("/sys/fs/cgroup/cpu,cpuacct", path, limit);
    }
  }
  return limit;
}

int tlmUsableCpus(void) {
  int count = affinityCpus();
  double limit = cgroupCpus(count);
  int rounded = (int)limit + (limit > (int)limit);
  return rounded < 1 ? 1 : rounded < count ? rounded : count;
}
