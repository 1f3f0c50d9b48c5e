#include "lower/Products.h"

#include "lower/Text.h"

using namespace tlm;

void tlm::appendProducts(const Products &p, std::string &body, Script &script) {
  std::string dims = "x, t, f1, f2, f0";
  std::string identity = cat("affine_map<(", dims, ") -> (", dims, ")>");
  std::string five =
      "\"parallel\", \"parallel\", \"parallel\", \"parallel\", \"parallel\"";
  const std::string &m = p.mType.tensorType;
  body +=
      cat("  %", p.name, "_zero = arith.constant 0.0 : f32\n  %", p.name,
          "_init = linalg.generic {indexing_maps = [", identity,
          "], iterator_types = [", five, "]} outs(%", p.m, "_t : ", m,
          ") {\n  ^bb0(%o: f32):\n    linalg.yield %", p.name,
          "_zero : f32\n  } -> ", m, "\n  %", p.name,
          "_sum = linalg.generic {indexing_maps = [affine_map<(", dims,
          ", c) -> (x, t, c)>, affine_map<(", dims,
          ", c) -> (x, f1, c, f2, f0)>, affine_map<(", dims, ", c) -> (", dims,
          ")>], iterator_types = [", five, ", \"reduction\"]} ins(%", p.v,
          "_t, %", p.u, "_t : ", p.vType.tensorType, ", ", p.uType.tensorType,
          ") outs(%", p.name, "_init : ", m, ") attrs = {", p.name,
          "} {\n  ^bb0(%a: f32, %w: f32, %o: f32):\n"
          "    %q = arith.mulf %a, %w fastmath<contract> : f32\n"
          "    %r = arith.addf %o, %q fastmath<contract> : f32\n"
          "    linalg.yield %r : f32\n  } -> ",
          m, "\n  bufferization.materialize_in_destination %", p.name,
          "_sum in restrict writable %", p.m, " : (", m, ", ",
          p.mType.memrefType, ") -> ()\n");
  script.fuse(script.matchTag(p.name), {1, p.tileT, 1, 0, 0, 0},
              {0, 2, 1, 3, 4, 5});
  script.tile(script.matchTag(p.name), {0, 0, 0, 0, 0, 1});
}

void tlm::finishProducts(Script &script) {
  // Merging slices here leaves a copy: the root's accumulator is the output.
  script.clean(/*mergeSlices=*/false);
  script.vectorizeAndHoist(/*castLeadingUnitDims=*/true);
}
