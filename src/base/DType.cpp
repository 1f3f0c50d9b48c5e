#include "base/DType.h"

using namespace tlm;

size_t tlm::sizeOf(DType type) {
  switch (type) {
  case DType::Invalid:
    return 0;
  case DType::U8:
  case DType::I8:
  case DType::Bool:
    return 1;
  case DType::I16:
  case DType::U16:
  case DType::F16:
  case DType::BF16:
    return 2;
  case DType::F32:
  case DType::I32:
  case DType::U32:
    return 4;
  case DType::I64:
  case DType::U64:
  case DType::F64:
    return 8;
  }
  return 0;
}

std::string_view tlm::nameOf(DType type) {
  switch (type) {
  case DType::Invalid:
    return "?";
  case DType::F32:
    return "f32";
  case DType::U8:
    return "u8";
  case DType::I8:
    return "i8";
  case DType::I16:
    return "i16";
  case DType::U16:
    return "u16";
  case DType::U32:
    return "u32";
  case DType::U64:
    return "u64";
  case DType::I32:
    return "i32";
  case DType::I64:
    return "i64";
  case DType::Bool:
    return "bool";
  case DType::F16:
    return "f16";
  case DType::F64:
    return "f64";
  case DType::BF16:
    return "bf16";
  }
  return "?";
}

bool tlm::isFloat(DType type) {
  return type == DType::F32 || type == DType::F64 || type == DType::F16 ||
         type == DType::BF16;
}

bool tlm::isUnsigned(DType type) {
  return type == DType::U8 || type == DType::U16 || type == DType::U32 ||
         type == DType::U64;
}

bool tlm::isInteger(DType type) {
  return type == DType::I8 || type == DType::I16 || type == DType::I32 ||
         type == DType::I64 || isUnsigned(type);
}
