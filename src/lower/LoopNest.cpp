#include "lower/LoopNest.h"

#include "lower/Text.h"

#include <algorithm>

using namespace tlm;

std::string LoopNest::fresh(const char *stem) {
  return cat("%", prefix, stem, "_", counter++);
}

std::string LoopNest::indexConstant(int64_t value) {
  for (auto &[known, name] : indexConstants)
    if (known == value)
      return name;
  std::string name = cat("%", prefix, "k", value);
  header += cat("  ", name, " = arith.constant ", value, " : index\n");
  indexConstants.emplace_back(value, name);
  return name;
}

std::string LoopNest::open(const std::string &name, int64_t extent) {
  return open(name, 0, extent);
}

std::string LoopNest::open(const std::string &name, int64_t from, int64_t to,
                           int64_t step) {
  std::string variable = fresh(name.c_str());
  std::string low = indexConstant(from), high = indexConstant(to),
              by = indexConstant(step);
  body += cat("  scf.for ", variable, " = ", low, " to ", high, " step ", by,
              " {\n");
  return variable;
}

std::string LoopNest::openBetween(const std::string &name,
                                  const std::string &from,
                                  const std::string &to) {
  std::string variable = fresh(name.c_str());
  body += cat("  scf.for ", variable, " = ", from, " to ", to, " step ",
              indexConstant(1), " {\n");
  return variable;
}

void LoopNest::close() { body += "  }\n"; }

std::string LoopNest::openCarrying(const std::string &name, int64_t extent,
                                   std::vector<std::string> &values,
                                   const std::string &type) {
  std::string variable = fresh(name.c_str());
  std::vector<std::string> starts;
  for (std::string &value : values) {
    std::string own = fresh("c");
    starts.push_back(cat(own, " = ", value));
    value = own;
  }
  std::string low = indexConstant(0), high = indexConstant(extent),
              by = indexConstant(1);
  carried.push_back(fresh("r"));
  body +=
      cat("  ", carried.back(), ":", values.size(), " = scf.for ", variable,
          " = ", low, " to ", high, " step ", by, " iter_args(",
          join(starts, ", "), ") -> (",
          join(std::vector<std::string>(values.size(), type), ", "), ") {\n");
  return variable;
}

void LoopNest::closeCarrying(std::vector<std::string> &values,
                             const std::string &type) {
  body +=
      cat("    scf.yield ", join(values, ", "), " : ",
          join(std::vector<std::string>(values.size(), type), ", "), "\n  }\n");
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = cat(carried.back(), "#", i);
  carried.pop_back();
}

std::string LoopNest::index(int64_t base, const Index &terms) {
  std::string expression = cat(base);
  std::vector<std::string> operands;
  for (auto &[variable, coefficient] : terms) {
    if (!coefficient)
      continue;
    expression += cat(" + d", operands.size(), " * ", coefficient);
    operands.push_back(variable);
  }
  return affine(expression, operands);
}

std::string LoopNest::affine(const std::string &expression,
                             const std::vector<std::string> &operands) {
  std::vector<std::string> dims;
  for (size_t i = 0; i < operands.size(); ++i)
    dims.push_back(cat("d", i));
  std::string name = fresh("i");
  body += cat("    ", name, " = affine.apply affine_map<(", join(dims, ", "),
              ") -> (", expression, ")>(", join(operands, ", "), ")\n");
  return name;
}

std::string LoopNest::load(const Array &array, const std::string &at,
                           int64_t lanes) {
  std::string name = fresh();
  body += lanes ? cat("    ", name, " = vector.load ", array.name, "[", at,
                      "] : memref<", array.floats, "x", array.type,
                      ">, vector<", lanes, "x", array.type, ">\n")
                : cat("    ", name, " = memref.load ", array.name, "[", at,
                      "] : memref<", array.floats, "x", array.type, ">\n");
  return name;
}

void LoopNest::store(const std::string &value, const Array &array,
                     const std::string &at, int64_t lanes) {
  body += lanes ? cat("    vector.store ", value, ", ", array.name, "[", at,
                      "] : memref<", array.floats, "x", array.type,
                      ">, vector<", lanes, "x", array.type, ">\n")
                : cat("    memref.store ", value, ", ", array.name, "[", at,
                      "] : memref<", array.floats, "x", array.type, ">\n");
}

int64_t tlm::vectorPart(int64_t columns, int64_t lanes) {
  int64_t part = lanes;
  while (part > columns)
    part /= 2;
  return part;
}

std::string LoopNest::loadFirst(const Array &array, const std::string &at,
                                int64_t lanes, int64_t count,
                                const std::string &otherwise) {
  if (count == lanes)
    return load(array, at, lanes);
  std::string type = cat("vector<", lanes, "x", array.type, ">");
  std::string whole = otherwise;
  for (int64_t c = 0, part; c < count; c += part) {
    part = vectorPart(count - c, lanes);
    std::string x = load(array, index(c, {{at, 1}}), part == 1 ? 0 : part);
    std::string next = fresh();
    body += part == 1
                ? cat("    ", next, " = vector.insert ", x, ", ", whole, " [",
                      c, "] : ", array.type, " into ", type, "\n")
                : cat("    ", next, " = vector.insert_strided_slice ", x, ", ",
                      whole, " {offsets = [", c, "], strides = [1]} : vector<",
                      part, "x", array.type, "> into ", type, "\n");
    whole = next;
  }
  return whole;
}

void LoopNest::storeFirst(const std::string &value, const Array &array,
                          const std::string &at, int64_t lanes, int64_t count) {
  if (count == lanes)
    return store(value, array, at, lanes);
  std::string type = cat("vector<", lanes, "x", array.type, ">");
  for (int64_t c = 0, part; c < count; c += part) {
    part = vectorPart(count - c, lanes);
    std::string to = index(c, {{at, 1}}), x = fresh();
    body += part == 1 ? cat("    ", x, " = vector.extract ", value, "[", c,
                            "] : ", array.type, " from ", type, "\n")
                      : cat("    ", x, " = vector.extract_strided_slice ",
                            value, " {offsets = [", c, "], sizes = [", part,
                            "], strides = [1]} : ", type, " to vector<", part,
                            "x", array.type, ">\n");
    store(x, array, to, part == 1 ? 0 : part);
  }
}

std::string LoopNest::firstLanes(int64_t count, int64_t lanes) {
  std::vector<std::string> bits(size_t(lanes), "false");
  std::fill(bits.begin(), bits.begin() + count, "true");
  std::string name = fresh("first");
  header += cat("  ", name, " = arith.constant dense<[", join(bits, ", "),
                "]> : vector<", lanes, "xi1>\n");
  return name;
}

std::string LoopNest::constant(float value, int64_t lanes) {
  std::string name = fresh("f");
  header += lanes ? cat("  ", name, " = arith.constant dense<",
                        floatLiteral(value), "> : vector<", lanes, "xf32>\n")
                  : cat("  ", name, " = arith.constant ", floatLiteral(value),
                        " : f32\n");
  return name;
}
