//===- WinogradTemplate.cpp - F(2x2,3x3) and F(4x4,3x3) -------------------===//
//
// Lavin and Gray 2015 (arXiv:1509.09308): a 6x6 input tile becomes 36 values
// B^T d B, products with the 36 transformed filter values are 36 matmuls over
// channels, and A^T m A gives a 4x4 output tile: 4x fewer multiplications than
// the direct form. Error: about 1e-5 of the output's maximum. F(2x2,3x3) has
// 16 values for 2x2 outputs, 2.25x fewer multiplications, and halves are its
// only fractions: error about 1e-6.
//
//   V[36][tiles][C] -> M[36][tiles][F] = V[x] * U[x]   -> output
//
// Blocked: a chunk is a few rows of tiles; V and M of the block stay in the
// worker's L2. Staged: three stages over the whole image, for images with few
// tiles and many channels, where the filters are the large operand.
//
// An extent that is no multiple of the tile's is covered by a last tile that
// overlaps its neighbour: it ends with the image. Overlapping tiles are in one
// chunk and written in a fixed order, so results do not depend on threads.
//
//===----------------------------------------------------------------------===//

#include "lower/LoopNest.h"
#include "lower/Payload.h"
#include "lower/Products.h"
#include "lower/Script.h"
#include "lower/Text.h"

#include <vector>

using namespace tlm;

namespace {

using Row = std::vector<std::string>;

// B^T applied to one column of the input tile.
Row inputTransform(PointEmitter &e, const Row &d) {
  if (d.size() == 4)
    return {e.sub(d[0], d[2]), e.add(d[1], d[2]), e.sub(d[2], d[1]),
            e.sub(d[1], d[3])};
  std::string four = e.constant(4), five = e.constant(5), two = e.constant(2);
  std::string x = e.sub(d[3], e.mul(four, d[1]));
  std::string y = e.sub(d[4], e.mul(four, d[2]));
  std::string u = e.sub(d[4], d[2]);
  std::string w = e.mul(two, e.sub(d[3], d[1]));
  return {e.add(e.sub(e.mul(four, d[0]), e.mul(five, d[2])), d[4]),
          e.add(y, x),
          e.sub(y, x),
          e.add(u, w),
          e.sub(u, w),
          e.add(e.sub(e.mul(four, d[1]), e.mul(five, d[3])), d[5])};
}

// A^T applied to one column of products.
Row outputTransform(PointEmitter &e, const Row &m) {
  if (m.size() == 4)
    return {e.add(e.add(m[0], m[1]), m[2]), e.sub(e.sub(m[1], m[2]), m[3])};
  std::string p = e.add(m[1], m[2]), q = e.sub(m[1], m[2]);
  std::string r = e.add(m[3], m[4]), t = e.sub(m[3], m[4]);
  return {e.add(e.add(m[0], p), r), e.add(q, e.mul(e.constant(2), t)),
          e.add(p, e.mul(e.constant(4), r)),
          e.add(e.add(q, e.mul(e.constant(8), t)), m[5])};
}

// Both sides of a square of `rows`: `transform` of its columns, then of the
// rows of what that gave.
std::vector<Row> bothSides(PointEmitter &e, const std::vector<Row> &rows,
                           Row (*transform)(PointEmitter &, const Row &)) {
  std::vector<Row> half;
  for (size_t j = 0; j < rows.size(); ++j) {
    Row column;
    for (const Row &row : rows)
      column.push_back(row[j]);
    half.push_back(transform(e, column));
  }
  std::vector<Row> result;
  for (size_t a = 0; a < half[0].size(); ++a) {
    Row row;
    for (const Row &column : half)
      row.push_back(column[a]);
    result.push_back(transform(e, row));
  }
  return result;
}

class WinogradBuilder {
public:
  explicit WinogradBuilder(const TemplateInput &input)
      : task(input.task), schedule(input.schedule),
        lanes(input.target.vectorFloats()), in(task.find(Role::Input)->type),
        out(task.output().type) {}
  Result<Payload> build();

private:
  Status analyse();
  std::string tileStart(LoopNest &nest, const std::string &tile,
                        int64_t extent);
  void inputLoops(LoopNest &nest, PointEmitter &e, const std::string &image,
                  const std::string &row, const std::string &firstTile,
                  const LoopNest::Array &v);
  void outputLoops(LoopNest &nest, PointEmitter &e, const std::string &image,
                   const std::string &row, const std::string &firstTile,
                   const LoopNest::Array &m, int64_t vectors,
                   const std::string &firstFilter);
  std::string contraction(Script &script, const LoopNest::Array &buffer,
                          int64_t matrices, bool byChunk);

  const Task &task;
  const Schedule &schedule;
  int64_t lanes;
  const BufferType &in, &out;
  Payload payload;
  int64_t outputs = 4, points = 6; ///< rows and columns of a tile
  int64_t images = 1, height = 0, width = 0, channels = 0;
  int64_t tileRowCount = 0, tileColumnCount = 0;
  int64_t row = 2, panels = 1, tileM = 7;
  int64_t tiles = 0;       // of a block (blocked) or of all images (staged)
  int64_t paddedTiles = 0; // rounded up to the register tile
  int64_t filters = 0;     // padded
  int64_t weightFloats = 0;
  int streamed = -1; ///< operand that is prefetched, or -1
};

} // namespace

Status WinogradBuilder::analyse() {
  const Operand &weight = *task.find(Role::Weight);
  for (const Window &w : task.windows)
    if (w.kernel != 3 || w.stride != 1 || w.dilation != 1)
      return makeError("winograd: the window is not 3x3 with stride 1");
  if (task.groups != 1 || !weight.isConstant || task.find(Role::InputScale))
    return makeError("winograd: groups, scaled input or run-time weights");
  if (in.layout != Layout::Nhwc || out.layout != Layout::Nhwc ||
      in.channelStride % lanes || out.channelStride % lanes)
    return makeError("winograd: buffers are not nhwc");
  images = out.dims[0];
  height = out.dims[2];
  width = out.dims[3];
  channels = in.dims[1];
  outputs = tileOutputs(WinogradTile(
      schedule.get(Decision::WinogradTile, "", int64_t(WinogradTile::F4x4))));
  points = outputs + 2;
  if (height < outputs || width < outputs)
    return makeError("winograd: the image is smaller than a tile");
  for (const Operand &operand : task.operands)
    if (operand.role == Role::Extra &&
        !(operand.type.layout == Layout::Nhwc && operand.type.dims == out.dims))
      return makeError("winograd: an epilogue operand is not shaped as the "
                       "output");
  tileRowCount = (height + outputs - 1) / outputs;
  tileColumnCount = (width + outputs - 1) / outputs;
  filters = out.channelStride;
  row = schedule.get(Decision::RegisterRow, "f", 2);
  if (filters / lanes % row)
    return makeError("register_row does not divide the filter vectors");
  panels = filters / lanes / row;
  tileM = schedule.get(Decision::RegisterTile, "w", 7);

  payload.packings.resize(task.operands.size());
  Packing packing;
  packing.transform = outputs == 4 ? WeightTransform::Winograd4x4_3x3
                                   : WeightTransform::Winograd2x2_3x3;
  packing.sourceDims = weight.type.dims;
  packing.dims = {{2, points, 1},
                  {3, points, 1},
                  {0, panels, row * lanes},
                  {1, channels, 1},
                  {0, row * lanes, 1}};
  weightFloats = packing.elementCount();
  payload.packings[size_t(task.indexOf(Role::Weight))] = packing;
  if (int bias = task.indexOf(Role::Bias); bias >= 0) {
    Packing vector;
    vector.sourceDims = task.operands[size_t(bias)].type.dims;
    vector.dims = {{0, filters, 1}};
    payload.packings[size_t(bias)] = vector;
  }
  payload.maxParallelism = schedule.get(Decision::MaxParallelism, "", 1);
  if (schedule.get(Decision::Prefetch, "", int64_t(Prefetch::None)) ==
      int64_t(Prefetch::NextPanel))
    streamed = task.indexOf(Role::Weight);
  return success();
}

std::string WinogradBuilder::tileStart(LoopNest &nest, const std::string &tile,
                                       int64_t extent) {
  if (extent % outputs == 0)
    return nest.affine(cat("d0 * ", outputs), {tile});
  std::string name = nest.fresh("start");
  nest.raw(cat("    ", name, " = affine.min affine_map<(d0) -> (d0 * ", outputs,
               ", ", extent - outputs, ")>(", tile, ")\n"));
  return name;
}

// One row of tiles: V[x][firstTile + t][c].
void WinogradBuilder::inputLoops(LoopNest &nest, PointEmitter &e,
                                 const std::string &image,
                                 const std::string &tileRow,
                                 const std::string &firstTile,
                                 const LoopNest::Array &v) {
  std::vector<int64_t> s = in.strides();
  const Window &wh = task.windows[0], &ww = task.windows[1];
  LoopNest::Array source{argumentName(task.indexOf(Role::Input)),
                         in.elementCount()};
  std::string top = tileStart(nest, tileRow, height);
  std::string t = nest.open("t", tileColumnCount);
  std::string left = tileStart(nest, t, width);
  std::string c = nest.open("c", 0, in.channelStride, lanes);
  std::string corner =
      nest.index(in.origin() - wh.padBegin * s[2] - ww.padBegin * s[3],
                 {{image, s[0]}, {top, s[2]}, {left, s[3]}, {c, 1}});
  // Loads and arithmetic are both text of this nest: the emitter's values are
  // appended after each of its uses.
  auto side = size_t(points);
  std::vector<Row> d(side, Row(side));
  for (size_t i = 0; i < side; ++i)
    for (size_t j = 0; j < side; ++j)
      d[i][j] = nest.load(
          source,
          nest.index(int64_t(i) * s[2] + int64_t(j) * s[3], {{corner, 1}}),
          lanes);
  std::vector<Row> values = bothSides(e, d, inputTransform);
  nest.raw(e.body());
  e.clearBody();
  std::string target = nest.index(
      0, {{firstTile, in.channelStride}, {t, in.channelStride}, {c, 1}});
  for (size_t x = 0; x < side * side; ++x)
    nest.store(
        values[x / side][x % side], v,
        nest.index(int64_t(x) * paddedTiles * in.channelStride, {{target, 1}}),
        lanes);
  nest.close();
  nest.close();
}

// One row of tiles, `vectors` vectors of filters from firstFilter on.
void WinogradBuilder::outputLoops(LoopNest &nest, PointEmitter &e,
                                  const std::string &image,
                                  const std::string &tileRow,
                                  const std::string &firstTile,
                                  const LoopNest::Array &m, int64_t vectors,
                                  const std::string &firstFilter) {
  std::vector<int64_t> s = out.strides();
  std::string top = tileStart(nest, tileRow, height);
  std::string t = nest.open("t", tileColumnCount);
  std::string left = tileStart(nest, t, width);
  std::string fv = nest.open("f", 0, vectors * lanes, lanes);
  std::string f = nest.index(0, {{firstFilter, 1}, {fv, 1}});
  // M lies behind V.
  int64_t base = points * points * paddedTiles * in.channelStride;
  std::string tile =
      nest.index(base, {{firstTile, filters}, {t, filters}, {f, 1}});
  auto side = size_t(points);
  std::vector<Row> p(side, Row(side));
  for (size_t x = 0; x < side * side; ++x)
    p[x / side][x % side] = nest.load(
        m, nest.index(int64_t(x) * paddedTiles * filters, {{tile, 1}}), lanes);
  std::string bias;
  if (int b = task.indexOf(Role::Bias); b >= 0)
    bias = nest.load({argumentName(b), filters}, f, lanes);
  std::vector<Row> y = bothSides(e, p, outputTransform);
  nest.raw(e.body());
  e.clearBody();

  auto corner = [&](const BufferType &type) {
    std::vector<int64_t> st = type.strides();
    return nest.index(type.origin(),
                      {{image, st[0]}, {top, st[2]}, {left, st[3]}, {f, 1}});
  };
  std::string outCorner = corner(out);
  std::vector<std::string> corners(task.operands.size());
  for (size_t i = 0; i < task.operands.size(); ++i)
    if (task.operands[i].role == Role::Extra)
      corners[i] = corner(task.operands[i].type);
  for (size_t a = 0; a < y.size(); ++a)
    for (size_t b = 0; b < y.size(); ++b) {
      std::vector<std::string> extras(task.operands.size());
      for (size_t i = 0; i < task.operands.size(); ++i)
        if (!corners[i].empty()) {
          const BufferType &type = task.operands[i].type;
          std::vector<int64_t> st = type.strides();
          extras[i] =
              nest.load({argumentName(int(i)), type.elementCount()},
                        nest.index(int64_t(a) * st[2] + int64_t(b) * st[3],
                                   {{corners[i], 1}}),
                        lanes);
        }
      std::string sum = bias.empty() ? y[a][b] : e.add(y[a][b], bias);
      std::string result = e.emitEpilogue(task, sum, extras);
      nest.raw(e.body());
      e.clearBody();
      nest.store(
          result,
          {argumentName(int(task.operands.size()) - 1), out.elementCount()},
          nest.index(int64_t(a) * s[2] + int64_t(b) * s[3], {{outCorner, 1}}),
          lanes);
    }
  nest.close();
  nest.close();
}

// M[x][t][f1][f2][f0] = V[x][t][c] * U[x][f1][c][f2][f0] for `matrices` x.
std::string WinogradBuilder::contraction(Script &script,
                                         const LoopNest::Array &buffer,
                                         int64_t matrices, bool byChunk) {
  int64_t vMatrix = paddedTiles * in.channelStride;
  int64_t uMatrix = weightFloats / (points * points);
  int64_t mMatrix = paddedTiles * filters;
  auto at = [&](int64_t base, int64_t matrix) {
    return byChunk ? cat(base, " + d0 * ", matrices * matrix) : cat(base);
  };
  ViewText v = view("V", buffer.name, buffer.floats, at(0, vMatrix),
                    {matrices, paddedTiles, channels},
                    {vMatrix, in.channelStride, 1}, false);
  ViewText u =
      view("U", argumentName(task.indexOf(Role::Weight)), weightFloats,
           at(0, uMatrix), {matrices, panels, channels, row, lanes},
           {uMatrix, channels * row * lanes, row * lanes, lanes, 1}, false);
  ViewText m = view("M", buffer.name, buffer.floats,
                    at(points * points * vMatrix, mMatrix),
                    {matrices, paddedTiles, panels, row, lanes},
                    {mMatrix, filters, row * lanes, lanes, 1}, true);
  std::string text = v.ops + u.ops + m.ops;
  appendProducts({"products", "V", "U", "M", v, u, m, tileM}, text, script);
  finishProducts(script);
  return text;
}

Result<Payload> WinogradBuilder::build() {
  TLM_TRY_STATUS(analyse());
  bool staged = schedule.get(Decision::Algorithm, "", 0) ==
                int64_t(Algorithm::WinogradStaged);
  auto round = [&](int64_t n) { return (n + tileM - 1) / tileM * tileM; };
  int64_t products = points * points;
  auto floats = [&] {
    return products * paddedTiles * (in.channelStride + filters);
  };

  if (!staged) {
    int64_t rows = schedule.get(Decision::TileRows, "", 1);
    if (tileRowCount % rows)
      return makeError("tile_rows does not divide the rows of tiles");
    if (height % outputs && rows == 1 && tileRowCount > 1)
      return makeError("winograd: overlapping tile rows in two chunks");
    tiles = rows * tileColumnCount;
    paddedTiles = round(tiles);
    payload.workerFloats = floats();
    LoopNest::Array buffer{"%worker", payload.workerFloats};
    Stage stage;
    stage.name = "s0";
    int64_t blocks = tileRowCount / rows;
    stage.chunks = images * blocks;
    stage.rowBlocks = images == 1 && height % outputs == 0 ? blocks : 1;
    PointEmitter e(lanes, "e"), o(lanes, "o");
    LoopNest before("b"), after("a");
    auto prologue = [&](LoopNest &nest, std::string &image,
                        std::string &tileRow, std::string &first) {
      std::string r = nest.open("r", rows);
      image = nest.affine(cat("d0 floordiv ", blocks), {"%chunk"});
      tileRow = nest.affine(cat("(d0 mod ", blocks, ") * ", rows, " + d1"),
                            {"%chunk", r});
      first = nest.index(0, {{r, tileColumnCount}});
    };
    std::string image, tileRow, first;
    prologue(before, image, tileRow, first);
    inputLoops(before, e, image, tileRow, first, buffer);
    before.close();
    Script script("s0");
    std::string middle = contraction(script, buffer, products, false);
    prologue(after, image, tileRow, first);
    outputLoops(after, o, image, tileRow, first, buffer, filters / lanes,
                after.index(0, {}));
    after.close();
    stage.body =
        e.constants() + o.constants() + before.text() + middle + after.text();
    stage.streamed = streamed;
    stage.script = script.text();
    payload.stages.push_back(std::move(stage));
    return std::move(payload);
  }

  tiles = images * tileRowCount * tileColumnCount;
  paddedTiles = round(tiles);
  payload.scratchFloats = floats();
  LoopNest::Array buffer{"%scratch", payload.scratchFloats};
  {
    Stage stage;
    stage.name = "s0";
    stage.chunks = images * tileRowCount;
    PointEmitter e(lanes, "e");
    LoopNest nest;
    std::string image =
        nest.affine(cat("d0 floordiv ", tileRowCount), {"%chunk"});
    std::string tileRow = nest.affine(cat("d0 mod ", tileRowCount), {"%chunk"});
    std::string first = nest.index(0, {{"%chunk", tileColumnCount}});
    inputLoops(nest, e, image, tileRow, first, buffer);
    stage.body = e.constants() + nest.text();
    payload.stages.push_back(std::move(stage));
  }
  {
    Stage stage;
    stage.name = "s1";
    int64_t matrices = schedule.get(Decision::ParallelTile, "x", 1);
    if (products % matrices)
      return makeError("parallel_tile x does not divide the products");
    stage.chunks = products / matrices;
    Script script("s1");
    stage.body = contraction(script, buffer, matrices, true);
    stage.streamed = streamed;
    stage.script = script.text();
    payload.stages.push_back(std::move(stage));
  }
  {
    // Chunks of filters: tiles that overlap are always in one chunk.
    Stage stage;
    stage.name = "s2";
    int64_t vectors = schedule.get(Decision::ParallelTile, "f", 1);
    if (filters / lanes % vectors)
      return makeError("parallel_tile f does not divide the filter vectors");
    int64_t groups = filters / lanes / vectors;
    stage.chunks = images * groups;
    PointEmitter e(lanes, "e");
    LoopNest nest;
    std::string image = nest.affine(cat("d0 floordiv ", groups), {"%chunk"});
    std::string firstFilter = nest.affine(
        cat("(d0 mod ", groups, ") * ", vectors * lanes), {"%chunk"});
    std::string tileRow = nest.open("r", tileRowCount);
    std::string first = nest.index(0, {{image, tileRowCount * tileColumnCount},
                                       {tileRow, tileColumnCount}});
    outputLoops(nest, e, image, tileRow, first, buffer, vectors, firstFilter);
    nest.close();
    stage.body = e.constants() + nest.text();
    payload.stages.push_back(std::move(stage));
  }
  return std::move(payload);
}

Result<Payload> tlm::winogradTemplate(const TemplateInput &input) {
  return WinogradBuilder(input).build();
}
