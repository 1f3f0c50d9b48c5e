#include "records/RecordLines.h"

#include <limits>
#include <nlohmann/json.hpp>

using namespace tlm;
using Json = nlohmann::json;

static constexpr int kLinesVersion = 1;

static std::string lineOf(const Json &json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace) + '\n';
}

std::string tlm::headerLine() {
  return lineOf({{"format", "tlm-records"}, {"version", kLinesVersion}});
}

std::string tlm::taskLine(const std::string &key, const std::string &text) {
  return lineOf({{"task", {{"key", key}, {"text", text}}}});
}

std::string tlm::targetLine(const std::string &key, const std::string &text) {
  return lineOf({{"target", {{"key", key}, {"text", text}}}});
}

std::string tlm::recordLine(const Record &record) {
  const Measurement &m = record.measurement;
  const Provenance &p = record.provenance;
  return lineOf({{"record",
                  {{"id", record.id()},
                   {"task", record.task},
                   {"target", record.target},
                   {"schedule", record.schedule},
                   {"language", record.maker.language},
                   {"compiler", record.maker.compiler},
                   {"build", record.maker.build},
                   {"outcome", nameOf(m.outcome)},
                   {"detail", m.detail},
                   {"min_us", m.minMicroseconds},
                   {"median_us", m.medianMicroseconds},
                   {"samples", m.samples},
                   {"slowdown", m.slowdown},
                   {"rounds", m.rounds},
                   {"strategy", p.strategy},
                   {"seed", p.seed},
                   {"trial", p.trial},
                   {"time", p.time}}}});
}

namespace {

/// Takes the fields out of an object one by one; the first that is missing or
/// of another type is remembered.
class Fields {
public:
  explicit Fields(const Json &object) : object(object) {}

  std::string text(const char *name) {
    const Json *value = take(name);
    if (value && value->is_string())
      return value->get<std::string>();
    return fail(name, "a text"), std::string();
  }
  template <typename T>
  T integer(const char *name) {
    const Json *value = take(name);
    if (value && value->is_number_unsigned()) {
      uint64_t number = value->get<uint64_t>();
      if (number <= uint64_t(std::numeric_limits<T>::max()))
        return T(number);
    }
    return fail(name, "a number from 0, without a point, that is not too big"),
           T(0);
  }
  double real(const char *name) {
    const Json *value = take(name);
    if (value && value->is_number())
      return value->get<double>();
    return fail(name, "a number"), 0.0;
  }
  /// What is wrong, or empty; fields that nobody took are.
  std::string wrong() const {
    if (!message.empty())
      return message;
    return object.size() == taken ? "" : "fields that are not known here";
  }

private:
  const Json *take(const char *name) {
    auto found = object.find(name);
    if (found == object.end())
      return nullptr;
    ++taken;
    return &*found;
  }
  void fail(const char *name, const char *wanted) {
    if (message.empty())
      message = std::string("field '") + name + "': expected " + wanted;
  }

  const Json &object;
  size_t taken = 0;
  std::string message;
};

/// One file; remembers where it is.
class LineReader {
public:
  LineReader(const std::string &path, RecordSet &into)
      : path(path), into(into) {}
  Status line(std::string_view text);
  Status end() {
    ++number;
    return number == 1 ? error("expected " + headerText()) : success();
  }

private:
  Error error(const std::string &what) const {
    return makeError(path + ":" + std::to_string(number) + ": " +
                     cleanDetail(what));
  }
  static std::string headerText() {
    std::string text = headerLine();
    text.pop_back();
    return text;
  }
  std::string header(const Json &json) const;
  std::string text(const Json &object, bool isTask);
  std::string record(const Json &object);

  std::string path;
  size_t number = 0;
  RecordSet &into;
  RecordSet own; ///< texts of this file
};

} // namespace

std::string LineReader::header(const Json &json) const {
  auto format = json.find("format"), version = json.find("version");
  if (format == json.end() || *format != "tlm-records" ||
      version == json.end() || !version->is_number_integer())
    return "expected " + headerText();
  if (*version != kLinesVersion)
    return "version " + version->dump() +
           "; known: " + std::to_string(kLinesVersion);
  return {};
}

std::string LineReader::text(const Json &object, bool isTask) {
  Fields fields(object);
  std::string key = fields.text("key"), text = fields.text("text");
  if (std::string wrong = fields.wrong(); !wrong.empty())
    return wrong;
  if (isTask) {
    if (Result<Task> task = storedTask(key, text); !task)
      return task.error().message;
  } else if (Status status = checkTargetText(key, text); !status) {
    return status.error().message;
  }
  auto [place, isNew] = (isTask ? into.tasks : into.targets).emplace(key, text);
  if (!isNew && place->second != text)
    return "another text of " + key + " than before";
  (isTask ? own.tasks : own.targets).emplace(key, text);
  return {};
}

std::string LineReader::record(const Json &object) {
  Fields fields(object);
  Record record;
  std::string id = fields.text("id"), outcome = fields.text("outcome");
  record.task = fields.text("task");
  record.target = fields.text("target");
  record.schedule = fields.text("schedule");
  record.maker = {fields.integer<int32_t>("language"), fields.text("compiler"),
                  fields.text("build")};
  Measurement &m = record.measurement;
  m.detail = fields.text("detail");
  m.minMicroseconds = fields.real("min_us");
  m.medianMicroseconds = fields.real("median_us");
  m.samples = fields.integer<int32_t>("samples");
  m.slowdown = fields.real("slowdown");
  m.rounds = fields.integer<int32_t>("rounds");
  record.provenance = {
      fields.text("strategy"), fields.integer<uint64_t>("seed"),
      fields.integer<int64_t>("trial"), fields.integer<int64_t>("time")};
  if (std::string wrong = fields.wrong(); !wrong.empty())
    return wrong;
  std::optional<Outcome> named = outcomeNamed(outcome);
  if (!named)
    return "unknown outcome '" + outcome.substr(0, 40) + "'";
  m.outcome = *named;
  if (std::string wrong = record.verify(); !wrong.empty())
    return wrong;
  if (!own.tasks.count(record.task))
    return "no line before it says what task " + record.task + " is";
  if (!own.targets.count(record.target))
    return "no line before it says what target " + record.target + " is";
  if (record.id() != id)
    return "the record's identity is " + record.id() + ", not '" +
           id.substr(0, 40) + "': it was changed";
  into.records.push_back(std::move(record));
  return {};
}

Status LineReader::line(std::string_view line) {
  ++number;
  Json json = Json::parse(line.begin(), line.end(), nullptr,
                          /*allow_exceptions=*/false);
  std::string wrong;
  // The parser takes a zero byte for the end of its input.
  if (json.is_discarded() || line.find('\0') != line.npos)
    wrong = "no JSON: '" + std::string(line.substr(0, 60)) + "'";
  else if (number == 1)
    wrong = header(json);
  else if (!json.is_object() || json.size() != 1 ||
           !json.begin().value().is_object())
    wrong = "expected an object with a task, a target or a record";
  else if (json.begin().key() == "task" || json.begin().key() == "target")
    wrong = text(json.begin().value(), json.begin().key() == "task");
  else if (json.begin().key() == "record")
    wrong = record(json.begin().value());
  else
    wrong = "expected a task, a target or a record, not '" +
            json.begin().key().substr(0, 40) + "'";
  return wrong.empty() ? success() : error(wrong);
}

Status tlm::readRecordLines(std::string_view text, const std::string &path,
                            RecordSet &into) {
  LineReader reader(path, into);
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    TLM_TRY_STATUS(reader.line(line));
    if (end == text.npos)
      return makeError(path + ": the last line has no end: the file is cut");
    text.remove_prefix(end + 1);
  }
  return reader.end();
}
