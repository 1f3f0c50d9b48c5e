//===- Products.h - batches of small matrix products ------------*- C++ -*-===//
//
//   M[x][t][f1][f2][f0] = sum over c of V[x][t][c] * U[x][f1][c][f2][f0]
//
// with f0 one vector: what Winograd and attention spend their time in. The
// result goes to memory; its t extent is a multiple of the register tile.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LOWER_PRODUCTS_H
#define TLM_LOWER_PRODUCTS_H

#include "lower/Payload.h"
#include "lower/Script.h"

#include <string>

namespace tlm {

/// Names of views that are in scope, and their types (as view() made them).
struct Products {
  std::string name; ///< unique in the function
  std::string v, u, m;
  ViewText vType, uType, mType;
  int64_t tileT = 8; ///< register tile along t
};

/// Appends the operations to `body` and their schedule to `script`.
void appendProducts(const Products &products, std::string &body,
                    Script &script);

/// Cleans, vectorises and hoists a function whose contractions are Products.
void finishProducts(Script &script);

} // namespace tlm

#endif // TLM_LOWER_PRODUCTS_H
