/*===- Weights.c
 * ------------------------------------------------------------===*/

#define _GNU_SOURCE
#include "Weights.h"

#include "Hash.h"
#include "LastError.h"
#include "Plan.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct LastSegment {
  const char *begin;
  size_t bytes;
} LastSegment;

/* The last loaded segment of the object that holds the plan. */
static int findLastSegment(struct dl_phdr_info *info, size_t size,
                           void *argument) {
  (void)size;
  LastSegment last = {NULL, 0};
  int isOurs = 0;
  uintptr_t plan = (uintptr_t)tlmPlanBlob;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    if (header->p_type != PT_LOAD)
      continue;
    uintptr_t begin = info->dlpi_addr + header->p_vaddr;
    isOurs |= plan >= begin && plan - begin < header->p_memsz;
    if ((uintptr_t)last.begin <= begin) {
      last.begin = (const char *)begin;
      last.bytes = header->p_memsz;
    }
  }
  if (isOurs)
    *(LastSegment *)argument = last;
  return isOurs;
}

/* A page of a mapping behind the end of its file raises SIGBUS when touched;
 * asking the kernel to read it does not. */
static int isReadable(const char *address) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC))
    return 1;
  int readable = write(ends[1], address, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return readable;
}

static uint64_t hashOf(const char *data, uint64_t bytes) {
  uint64_t hash = 0;
  for (uint64_t at = 0; at < bytes; at += TLM_HASH_BLOCK_BYTES) {
    uint64_t rest = bytes - at;
    size_t size = rest < TLM_HASH_BLOCK_BYTES ? rest : TLM_HASH_BLOCK_BYTES;
    hash = tlmHashWord(hash, tlmHash(0, data + at, size));
  }
  return hash;
}

static tlm_status checkImage(const char *image, const char *where) {
  const TlmPlanHeader *plan = tlmPlan();
  uint64_t trailerAt = tlmWeightsTrailerOffset(plan->weightsBytes);
  TlmWeightsHeader header, trailer;
  if (!isReadable(image) ||
      !isReadable(image + trailerAt + sizeof(trailer) - 1))
    return tlmFail(TLM_ERROR_FILE, "%s: the weights are cut off", where);
  memcpy(&header, image, sizeof(header));
  memcpy(&trailer, image + trailerAt, sizeof(trailer));
  if (memcmp(header.magic, TLM_WEIGHTS_MAGIC, sizeof(header.magic)))
    return tlmFail(TLM_ERROR_FILE, "%s: holds no TLM weights", where);
  if (header.version != TLM_FORMAT_VERSION)
    return tlmFail(TLM_ERROR_VERSION,
                   "%s: the weights have format %u, this runtime reads %u",
                   where, header.version, TLM_FORMAT_VERSION);
  if (header.hash != plan->weightsHash ||
      header.dataBytes != plan->weightsBytes)
    return tlmFail(TLM_ERROR_FILE,
                   "%s: these weights belong to another artifact (hash %016llx,"
                   " this one needs %016llx)",
                   where, (unsigned long long)header.hash,
                   (unsigned long long)plan->weightsHash);
  if (memcmp(&header, &trailer, sizeof(header)))
    return tlmFail(TLM_ERROR_FILE, "%s: the weights are damaged", where);
  const char *full = getenv("TLM_CHECK_WEIGHTS");
  if (full && !strcmp(full, "1") &&
      hashOf(image + TLM_WEIGHTS_DATA_OFFSET, header.dataBytes) != header.hash)
    return tlmFail(TLM_ERROR_FILE,
                   "%s: the weights do not have the stored hash: damaged file",
                   where);
  return TLM_OK;
}

static tlm_status openSegment(TlmWeights *weights) {
  LastSegment last = {NULL, 0};
  dl_iterate_phdr(findLastSegment, &last);
  if (!last.begin || last.bytes < tlmWeightsImageBytes(tlmPlan()->weightsBytes))
    return tlmFail(TLM_ERROR_FILE,
                   "%s: the artifact has lost its weights segment; tools that "
                   "rewrite the file, such as strip, do that",
                   tlmText(tlmPlan()->name));
  tlm_status status = checkImage(last.begin, tlmText(tlmPlan()->name));
  if (status == TLM_OK)
    weights->data = last.begin + TLM_WEIGHTS_DATA_OFFSET;
  return status;
}

static tlm_status sidePath(char *path, size_t size) {
  Dl_info info;
  const char *artifact = dladdr(tlmPlanBlob, &info) ? info.dli_fname : "";
  const char *slash = strrchr(artifact, '/');
  int directory = slash ? (int)(slash + 1 - artifact) : 0;
  int length = snprintf(path, size, "%.*s%s", directory, artifact,
                        tlmText(tlmPlan()->sideFile));
  if (length < 0 || (size_t)length >= size)
    return tlmFail(TLM_ERROR_FILE, "path of the weights file is too long");
  return TLM_OK;
}

static tlm_status openSideFile(TlmWeights *weights) {
  char path[4096];
  tlm_status status = sidePath(path, sizeof(path));
  if (status != TLM_OK)
    return status;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return tlmFail(TLM_ERROR_FILE,
                   "%s: cannot open the weights of this artifact: %s", path,
                   strerror(errno));
  size_t bytes = tlmWeightsImageBytes(tlmPlan()->weightsBytes);
  struct stat info;
  if (fstat(file, &info) || (uint64_t)info.st_size < bytes) {
    close(file);
    return tlmFail(TLM_ERROR_FILE, "%s: the weights are cut off", path);
  }
  void *mapping = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  int error = errno;
  close(file);
  if (mapping == MAP_FAILED)
    return tlmFail(TLM_ERROR_MEMORY, "%s: cannot map the weights: %s", path,
                   strerror(error));
  weights->mapping = mapping;
  weights->mappedBytes = bytes;
  weights->data = (const char *)mapping + TLM_WEIGHTS_DATA_OFFSET;
  status = checkImage((const char *)mapping, path);
  if (status != TLM_OK)
    tlmWeightsClose(weights);
  return status;
}

tlm_status tlmWeightsOpen(TlmWeights *weights) {
  memset(weights, 0, sizeof(*weights));
  if (tlmPlan()->sideFile)
    return openSideFile(weights);
  return tlmPlan()->weightsBytes ? openSegment(weights) : TLM_OK;
}

void tlmWeightsClose(TlmWeights *weights) {
  if (weights->mapping)
    munmap(weights->mapping, weights->mappedBytes);
  memset(weights, 0, sizeof(*weights));
}
