/*===- Tensor.c
 * -------------------------------------------------------------===*/

#include "Tensor.h"

#include "LastError.h"

#include <stdio.h>
#include <string.h>

typedef struct DtypeRow {
  int32_t dtype;
  int32_t size;
  const char *name;
} DtypeRow;

static const DtypeRow dtypes[] = {
    {TLM_F32, 4, "f32"},   {TLM_U8, 1, "u8"},   {TLM_I8, 1, "i8"},
    {TLM_I16, 2, "i16"},   {TLM_I32, 4, "i32"}, {TLM_I64, 8, "i64"},
    {TLM_BOOL, 1, "bool"}, {TLM_F16, 2, "f16"}, {TLM_F64, 8, "f64"},
    {TLM_BF16, 2, "bf16"}, {TLM_U16, 2, "u16"}, {TLM_U32, 4, "u32"},
    {TLM_U64, 8, "u64"},
};

static const DtypeRow *rowOf(int32_t dtype) {
  static const DtypeRow unknown = {0, 0, "unknown dtype"};
  for (size_t i = 0; i < sizeof(dtypes) / sizeof(*dtypes); ++i)
    if (dtypes[i].dtype == dtype)
      return &dtypes[i];
  return &unknown;
}

int64_t tlmDtypeSize(int32_t dtype) { return rowOf(dtype)->size; }

/* "f32[1,3,224,224]", "?" where symbolic; ends in "...]" when too long. */
static void typeText(char *text, size_t size, int32_t dtype, int32_t rank,
                     const int64_t *dims) {
  size_t at = (size_t)snprintf(text, size, "%s[", rowOf(dtype)->name);
  for (int32_t i = 0; i < rank && at + 32 < size; ++i) {
    if (i)
      text[at++] = ',';
    at += dims[i] < 0 ? (size_t)snprintf(text + at, size - at, "?")
                      : (size_t)snprintf(text + at, size - at, "%lld",
                                         (long long)dims[i]);
    if (at + 32 >= size && i + 1 < rank)
      at += (size_t)snprintf(text + at, size - at, ",...");
  }
  snprintf(text + at, size - at, "]");
}

static tlm_status mismatch(const TlmTensorRecord *expected,
                           const tlm_tensor *tensor, const char *kind,
                           int32_t position) {
  char want[200], got[200];
  typeText(want, sizeof(want), expected->dtype, expected->rank,
           (const int64_t *)tlmAt(expected->dims));
  typeText(got, sizeof(got), tensor->dtype, tensor->rank, tensor->dims);
  return tlmFail(TLM_ERROR_ARGUMENT, "%s %d '%s': expected %s, got %s", kind,
                 position, tlmText(expected->name), want, got);
}

tlm_status tlmTensorCheck(const TlmTensorRecord *expected,
                          const tlm_tensor *tensor, const char *kind,
                          int32_t position) {
  const char *name = tlmText(expected->name);
  if (tensor->struct_size < sizeof(tlm_tensor))
    return tlmFail(TLM_ERROR_ARGUMENT,
                   "%s %d '%s': struct_size is %zu, expected %zu", kind,
                   position, name, tensor->struct_size, sizeof(tlm_tensor));
  if (tensor->rank < 0 || (tensor->rank > 0 && !tensor->dims))
    return tlmFail(TLM_ERROR_ARGUMENT, "%s %d '%s': rank is %d and dims is %s",
                   kind, position, name, tensor->rank,
                   tensor->dims ? "set" : "null");
  if (tensor->dtype != expected->dtype || tensor->rank != expected->rank)
    return mismatch(expected, tensor, kind, position);
  const int64_t *dims = (const int64_t *)tlmAt(expected->dims);
  for (int32_t i = 0; i < tensor->rank; ++i)
    if (tensor->dims[i] < 0 || (dims[i] >= 0 && tensor->dims[i] != dims[i]))
      return mismatch(expected, tensor, kind, position);
  if (!tensor->data && tlmTensorBytes(tensor) > 0)
    return tlmFail(TLM_ERROR_ARGUMENT, "%s %d '%s': data is null", kind,
                   position, name);
  return TLM_OK;
}

int64_t tlmTensorBytes(const tlm_tensor *tensor) {
  int64_t bytes = tlmDtypeSize(tensor->dtype);
  for (int32_t i = 0; i < tensor->rank; ++i)
    bytes *= tensor->dims[i];
  return bytes;
}

int tlmTensorIsDense(const tlm_tensor *tensor) {
  int64_t size = tlmDtypeSize(tensor->dtype), stride = 1;
  if ((uintptr_t)tensor->data % (uintptr_t)size)
    return 0;
  for (int32_t i = tensor->rank - 1; tensor->strides && i >= 0; --i) {
    if (tensor->dims[i] != 1 && tensor->strides[i] != stride)
      return 0;
    stride *= tensor->dims[i];
  }
  return 1;
}

void tlmTensorRange(const tlm_tensor *tensor, uintptr_t *begin,
                    uintptr_t *end) {
  int64_t size = tlmDtypeSize(tensor->dtype), low = 0, high = size;
  int64_t bytes = tlmTensorBytes(tensor);
  *begin = *end = (uintptr_t)tensor->data;
  if (bytes == 0)
    return;
  if (!tensor->strides)
    high = bytes;
  for (int32_t i = 0; tensor->strides && i < tensor->rank; ++i) {
    int64_t reach = (tensor->dims[i] - 1) * tensor->strides[i] * size;
    low += reach < 0 ? reach : 0;
    high += reach > 0 ? reach : 0;
  }
  *begin += (uintptr_t)low;
  *end += (uintptr_t)high;
}

typedef struct Walk {
  const tlm_tensor *tensor;
  int64_t size;
  int toDense;
} Walk;

/* Copies the sub-tensor of dims [dim, rank) at `user`; returns the dense memory
 * behind it. */
static char *walk(const Walk *copy, int32_t dim, char *user, char *dense) {
  const tlm_tensor *tensor = copy->tensor;
  int64_t size = copy->size;
  if (dim == tensor->rank) {
    memcpy(copy->toDense ? dense : user, copy->toDense ? user : dense,
           (size_t)size);
    return dense + size;
  }
  int64_t stride = tensor->strides ? tensor->strides[dim] : 1;
  for (int32_t i = dim + 1; !tensor->strides && i < tensor->rank; ++i)
    stride *= tensor->dims[i];
  int64_t count = tensor->dims[dim];
  if (dim == tensor->rank - 1 && stride == 1) {
    memcpy(copy->toDense ? dense : user, copy->toDense ? user : dense,
           (size_t)(count * size));
    return dense + count * size;
  }
  for (int64_t i = 0; i < count; ++i)
    dense = walk(copy, dim + 1, user + i * stride * size, dense);
  return dense;
}

static void copyTensor(const tlm_tensor *tensor, void *dense, int toDense) {
  if (tlmTensorBytes(tensor) == 0)
    return;
  Walk copy = {tensor, tlmDtypeSize(tensor->dtype), toDense};
  walk(&copy, 0, (char *)tensor->data, (char *)dense);
}

void tlmTensorGather(const tlm_tensor *tensor, void *dense) {
  copyTensor(tensor, dense, 1);
}

void tlmTensorScatter(const tlm_tensor *tensor, const void *dense) {
  copyTensor(tensor, (void *)(uintptr_t)dense, 0);
}
