//===- Schedule.h - one choice per decision ---------------------*- C++ -*-===//
//
// The third of TLM's value types: what space/ (or a model, or a search) hands
// to lower/. An ordered list of choices; a choice is a decision, the loop or
// operand it is about (empty when there is only one subject), and an integer.
// Enumerated decisions store the enum's id and print its name.
//
// Text, versioned, one line a choice:
//   tlm-schedule 1
//   task 3f2a9c0d11e4b870
//   algorithm = direct
//   register_tile w = 7
//
//===----------------------------------------------------------------------===//

#ifndef TLM_SPACE_SCHEDULE_H
#define TLM_SPACE_SCHEDULE_H

#include "base/Result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tlm {

/// Version of the schedule text; part of it.
inline constexpr int kScheduleVersion = 1;

enum class Decision : int32_t {
#define TLM_DECISION(id, name, text) name = id,
#include "space/Decisions.def"
};
std::string_view nameOf(Decision decision);

enum class Algorithm : int32_t {
  Direct = 0,
  WinogradBlocked = 1, ///< transforms and products per block of tile rows
  WinogradStaged = 2,  ///< three passes over the whole image
  Plain = 3,           ///< loops as written; every task has it
};

enum class LoopOrder : int32_t {
  PanelsOuter = 0, ///< f,h,w: a weight panel stays in cache
  RowsOuter = 1,   ///< h,f,w
  PixelsOuter = 2, ///< h,w,f: a register tile of pixels meets all panels
};

enum class EpiloguePlace : int32_t {
  RegisterTile = 0, ///< unrolled with the register tile
  RowLoop = 1,      ///< a loop over the rows of the register tile
};

enum class Prologue : int32_t {
  None = 0,
  ScaleWeights = 1, ///< a stage multiplies the packed weights
  ScaleInput = 2,   ///< a stage multiplies the input into scratch
  PackWeights = 3,  ///< a stage packs a right operand computed at run time
};

/// Outputs of a tile of Winograd's F(2x2,3x3) and F(4x4,3x3).
enum class WinogradTile : int32_t {
  F2x2 = 0,
  F4x4 = 1,
};
/// Rows and columns of them.
inline int64_t tileOutputs(WinogradTile tile) {
  return tile == WinogradTile::F2x2 ? 2 : 4;
}

enum class Prefetch : int32_t {
  None = 0,
  NextPanel = 1, ///< while one panel of weights is used, the next comes to L2
};

struct Choice {
  Decision decision = Decision::Algorithm;
  std::string subject;
  int64_t value = 0;
  bool operator==(const Choice &) const = default;
};

/// "direct", or a number: as it stands in the text.
std::string valueText(Decision decision, int64_t value);

struct Schedule {
  std::string taskKey;
  std::vector<Choice> choices;

  /// The chosen value, or `otherwise` when the decision was not asked.
  int64_t get(Decision decision, std::string_view subject,
              int64_t otherwise) const;
  void set(Decision decision, std::string_view subject, int64_t value);
  std::string text() const;
  bool operator==(const Schedule &) const = default;
};

/// Reads schedule text; refuses other versions and malformed text by line: in
/// the message, or in `badLine` where it is given.
Result<Schedule> parseSchedule(const std::string &text,
                               size_t *badLine = nullptr);

} // namespace tlm

#endif // TLM_SPACE_SCHEDULE_H
