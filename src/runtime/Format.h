/*===- Format.h - the binary plan inside an artifact ------------------------===
 *
 * Written by driver/PlanBlob.cpp, read by this runtime; C and C++. The blob is
 * position independent: an offset counts bytes from its start, a text is the
 * offset of a NUL-terminated string (0 = none), a slice is `count` records of
 * the type named in its comment. Every record is a multiple of 8 bytes and
 * 8-aligned. Numbers are little-endian.
 *
 * Kernel code is reached through the table tlmStageTable, which the linker
 * fills; weights through the weights image (see WeightsHeader).
 *
 * The version changes with any change of meaning or layout here.
 *
 *===------------------------------------------------------------------------===*/

#ifndef TLM_RUNTIME_FORMAT_H
#define TLM_RUNTIME_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define TLM_FORMAT_VERSION 3u
#define TLM_PLAN_MAGIC "TLMPLAN"
#define TLM_WEIGHTS_MAGIC "TLMWGHT"
#define TLM_WEIGHTS_END "TLM-END."
/* Start of the data in a weights image, from the start of its header. */
#define TLM_WEIGHTS_DATA_OFFSET 4096u

typedef struct TlmSlice {
  uint32_t offset;
  uint32_t count;
} TlmSlice;

typedef enum TlmPlace {
  TLM_PLACE_INPUT = 0,  /* memory of input `index` */
  TLM_PLACE_OUTPUT = 1, /* memory of output `index` */
  TLM_PLACE_ARENA = 2,  /* `offset` bytes into the arena */
  TLM_PLACE_WEIGHT = 3  /* `offset` bytes into the weights' data */
} TlmPlace;

typedef struct TlmLocation {
  int32_t place; /* TlmPlace */
  int32_t index;
  int64_t offset;
} TlmLocation;

/* An input or output of the signature. */
typedef struct TlmTensorRecord {
  uint32_t name; /* text */
  int32_t dtype;
  int32_t rank;
  uint32_t dims;    /* offset of rank int64; -1 where symbolic */
  uint32_t symbols; /* offset of rank texts, 0 when all dims are static */
  uint32_t reserved;
} TlmTensorRecord;

/* A buffer as a step's output sees it. */
typedef struct TlmBufferRecord {
  TlmLocation location;
  int32_t dtype;
  int32_t rank;
  uint32_t dims;    /* offset of rank int64, ONNX order */
  uint32_t strides; /* offset of rank int64, in elements */
  int64_t origin;   /* elements before logical index 0 */
  int64_t sizeBytes;
  uint32_t valueName; /* text */
  uint32_t reserved;
} TlmBufferRecord;

/* A border to fill, once or in every run: planes x (top+height+bottom) x
 * (left+width+right) x inner elements from arena + offset; all but the height x
 * width part. */
typedef struct TlmBorderRecord {
  int64_t offset;
  int64_t planes;
  int64_t top, height, bottom;
  int64_t left, width, right;
  int64_t inner;
  int64_t elementBytes;
  uint64_t pattern; /* the element's bytes, little-endian */
  uint64_t everyRun;
} TlmBorderRecord;

typedef struct TlmStageRecord {
  uint32_t function; /* index into tlmStageTable */
  uint32_t reserved;
  int64_t chunks;
} TlmStageRecord;

typedef struct TlmKernelRecord {
  TlmSlice stages; /* TlmStageRecord */
  int64_t scratchBytes;
  int64_t workerScratchBytes;
  int64_t maxParallelism;
  double flops;
  double bytes;
  uint32_t label; /* text */
  uint32_t key;   /* text */
} TlmKernelRecord;

typedef struct TlmStepRecord {
  uint32_t kernel;
  uint32_t outputBuffer;
  TlmSlice operands; /* TlmLocation */
  uint32_t name;     /* text */
  uint32_t border;   /* 1 + index of the border to fill first; 0: none */
} TlmStepRecord;

/* Chunks [firstChunk, firstChunk + chunks) of a step's only stage, or, where
 * `chunks` is 0, all stages of it. */
typedef struct TlmPartRecord {
  uint32_t step;
  uint32_t reserved;
  int64_t firstChunk;
  int64_t chunks;
} TlmPartRecord;

/* Phases run one after the other. Where `listEnds` is empty, all workers share
 * the chunks of each part. Else list i is parts [listEnds[i - 1], listEnds[i]),
 * and a worker runs all of it; lists do not depend on each other. Before a
 * phase `borders` are filled. All phases give what the steps one after the
 * other do. */
typedef struct TlmPhaseRecord {
  TlmSlice parts;    /* TlmPartRecord */
  TlmSlice listEnds; /* uint32 */
  TlmSlice borders;  /* uint32: indices */
} TlmPhaseRecord;

/* After the steps: `bytes` from source to output `output`, both dense. For
 * outputs that no step writes directly (an output listed twice, a view of
 * another buffer, an input or a constant handed through). */
typedef struct TlmCopyRecord {
  int32_t output;
  int32_t reserved;
  TlmLocation source;
  int64_t bytes;
} TlmCopyRecord;

/* What to run when the inputs' dims fit the guard. */
typedef struct TlmPlanRecord {
  TlmSlice guard;   /* int64: dims of all inputs in a row, -1 = any */
  TlmSlice buffers; /* TlmBufferRecord */
  TlmSlice borders; /* TlmBorderRecord */
  TlmSlice steps;   /* TlmStepRecord */
  TlmSlice phases;  /* TlmPhaseRecord */
  TlmSlice copies;  /* TlmCopyRecord */
  int64_t arenaBytes;
} TlmPlanRecord;

typedef struct TlmPlanHeader {
  char magic[8];
  uint32_t version;
  uint32_t headerBytes;
  uint64_t hash; /* tlmHash of the blob with this field 0 */
  uint64_t blobBytes;
  uint64_t weightsBytes; /* of the data in the weights image; 0 = no image */
  uint64_t weightsHash;
  uint32_t sideFile; /* text: file name beside the artifact, 0 = inside */
  uint32_t name;     /* text */
  uint32_t cpu;      /* text: --mcpu */
  int32_t threads;   /* compiled for */
  TlmSlice features; /* uint32 texts, LLVM names */
  TlmSlice inputs;   /* TlmTensorRecord */
  TlmSlice outputs;  /* TlmTensorRecord */
  TlmSlice kernels;  /* TlmKernelRecord */
  TlmSlice plans;    /* TlmPlanRecord, the first whose guard fits */
} TlmPlanHeader;

/* The weights image is the artifact's last segment or the side file: this
 * header, data at TLM_WEIGHTS_DATA_OFFSET, and the header once more behind the
 * data (64-aligned), which is missing when the file was cut off. */
typedef struct TlmWeightsHeader {
  char magic[8];
  uint32_t version;
  uint32_t reserved;
  uint64_t dataBytes;
  uint64_t hash; /* of the data, see Hash.h */
  uint64_t padding[3];
  char end[8]; /* not 0 in any byte: an image short of one byte shows */
} TlmWeightsHeader;

static inline uint64_t tlmWeightsTrailerOffset(uint64_t dataBytes) {
  return TLM_WEIGHTS_DATA_OFFSET + ((dataBytes + 63) & ~(uint64_t)63);
}

/* Start to end of an image with that much data. */
static inline uint64_t tlmWeightsImageBytes(uint64_t dataBytes) {
  return tlmWeightsTrailerOffset(dataBytes) + sizeof(TlmWeightsHeader);
}

#endif /* TLM_RUNTIME_FORMAT_H */
