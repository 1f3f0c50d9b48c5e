//===- RecordsCommand.cpp - tlm records -----------------------------------===//

#include "Flags.h"
#include "NetworkTasks.h"
#include "RecordTables.h"
#include "Report.h"
#include "records/Shards.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <set>

namespace tlm {
namespace {

using Access = Store::Access;

struct Options {
  std::string store, key, model, outcome;
  std::vector<std::string> paths;
  RecordFilter filter;
  ShardOptions shards;
  CompileFlags compile;
  int64_t keep = 0;
  bool check = false, failed = false, otherVersions = false, dryRun = false;
};

long long number(int64_t value) { return static_cast<long long>(value); }

void printCounts(const char *title,
                 const std::map<std::string, int64_t> &counts) {
  const char *start = title;
  for (const auto &[name, count] : counts) {
    std::printf("%-12s %9lld  %s\n", start, number(count), name.c_str());
    start = "";
  }
}

Status list(const Options &options, const GlobalOptions &global) {
  TLM_TRY(Store store, Store::open(options.store, Access::Read));
  TLM_TRY(std::vector<RecordGroup> groups, groupsOf(store, options.filter));
  std::printf("%-16s  %-40s %-34s %7s %6s %10s\n", "task", "label", "target",
              "records", "ok", "best us");
  nlohmann::json rows = nlohmann::json::array();
  for (const RecordGroup &group : groups) {
    double best = group.ranked.empty() ? 0 : group.ranked.front().microseconds;
    std::printf("%-16s  %-40s %-34s %7zu %6lld %10.2f\n", group.task.c_str(),
                group.label.substr(0, 40).c_str(), group.target.c_str(),
                group.records.size(), number(group.countOk()), best);
    rows.push_back({{"task", group.task},
                    {"label", group.label},
                    {"target", group.target},
                    {"records", group.records.size()},
                    {"ok", group.countOk()},
                    {"best_us", best}});
  }
  nlohmann::json report = newReport("records list");
  report["groups"] = rows;
  return writeReport(report, global.jsonPath);
}

Status show(const Options &options, const GlobalOptions &global) {
  TLM_TRY(Store store, Store::open(options.store, Access::Read));
  TLM_TRY(auto texts, store.taskTexts());
  TLM_TRY(std::vector<RecordGroup> groups, groupsOf(store, options.filter));
  nlohmann::json rows = nlohmann::json::array();
  for (const RecordGroup &group : groups) {
    bool ofTask = group.task.starts_with(options.key);
    if (ofTask)
      std::printf("%s on %s\n%s", group.label.c_str(), group.target.c_str(),
                  texts.at(group.task).c_str());
    for (const Record &record : group.records) {
      std::string id = record.id();
      if (!ofTask && !id.starts_with(options.key))
        continue;
      std::printf("%s\n", recordText(record).c_str());
      if (!ofTask)
        std::printf("%s on %s\n%s", group.label.c_str(), group.target.c_str(),
                    record.schedule.c_str());
      rows.push_back(recordJson(record));
    }
    if (ofTask && !group.ranked.empty())
      std::printf("best: %.2f us in %d measurements\n%s\n",
                  group.ranked[0].microseconds, int(group.ranked[0].rounds),
                  group.ranked[0].schedule.c_str());
  }
  if (rows.empty())
    return makeError("no task and no record in '" + options.store +
                         "' has a key that starts with '" + options.key + "'",
                     "tlm records list prints the keys of tasks");
  nlohmann::json report = newReport("records show");
  report["records"] = rows;
  return writeReport(report, global.jsonPath);
}

/// What a compilation of the model would find.
Status printLookups(const Options &options, const Store &store,
                    nlohmann::json &report) {
  TLM_TRY(CompileOptions compile, options.compile.options(options.model));
  TLM_TRY(std::vector<NetworkTask> tasks,
          networkTasks({options.model}, options.compile));
  std::map<std::string, int64_t> counts;
  for (const NetworkTask &entry : tasks) {
    Space space(entry.task, compile.target, compile.schedule);
    TLM_TRY(Lookup found, lookUp(store, entry.task, compile.target, space));
    ++counts[std::string(nameOf(found.outcome))];
  }
  printCounts("lookups", counts);
  report["lookups"] = counts;
  return success();
}

Status stats(const Options &options, const GlobalOptions &global) {
  TLM_TRY(Store store, Store::open(options.store, Access::Read));
  TLM_TRY(StoreStats stats, store.stats());
  std::printf("%-12s %9lld  in %lld bytes, version %lld\n", "records",
              number(stats.records), number(stats.bytes),
              number(stats.version));
  std::printf("%-12s %9lld\n%-12s %9lld\n%-12s %9lld  measured while the "
              "machine was not quiet\n",
              "tasks", number(stats.tasks), "candidates",
              number(stats.candidates), "drifted", number(stats.drifted));
  if (stats.records)
    std::printf("%-12s %s to %s\n", "time", timeText(stats.oldest).c_str(),
                timeText(stats.newest).c_str());
  printCounts("outcomes", stats.outcomes);
  printCounts("strategies", stats.strategies);
  printCounts("compilers", stats.compilers);
  printCounts("targets", stats.ofTargets);
  nlohmann::json report = newReport("records stats");
  report["records"] = stats.records;
  report["tasks"] = stats.tasks;
  report["candidates"] = stats.candidates;
  report["drifted"] = stats.drifted;
  report["outcomes"] = stats.outcomes;
  report["strategies"] = stats.strategies;
  report["compilers"] = stats.compilers;
  report["targets"] = stats.ofTargets;
  if (!options.model.empty())
    TLM_TRY_STATUS(printLookups(options, store, report));
  if (options.check) {
    TLM_TRY(std::string damage, store.damage());
    if (!damage.empty())
      return makeError("'" + options.store + "': " + damage,
                       "records that were exported can be imported into a new "
                       "store");
    std::printf("integrity    ok: every key and identity is the hash of what "
                "it stands for\n");
  }
  return writeReport(report, global.jsonPath);
}

Status merge(const Options &options, const GlobalOptions &global) {
  // All are looked at before the first one is taken.
  std::vector<Store> sources;
  for (const std::string &path : options.paths) {
    TLM_TRY(Store source, Store::open(path, Access::Read));
    sources.push_back(std::move(source));
  }
  TLM_TRY(Store store, Store::open(options.store, Access::Create));
  nlohmann::json report = newReport("records merge");
  for (const Store &source : sources) {
    TLM_TRY(int64_t added, store.merge(source));
    std::printf("%lld records from %s\n", number(added), source.path().c_str());
    report["added"][source.path()] = added;
  }
  return writeReport(report, global.jsonPath);
}

/// The identities of the records that the options give up.
Result<std::vector<std::string>> toPrune(const Options &options,
                                         const Store &store) {
  std::vector<std::string> ids;
  TLM_TRY(std::vector<RecordGroup> groups, groupsOf(store, options.filter));
  for (const RecordGroup &group : groups) {
    std::set<std::string> kept;
    for (size_t i = 0; i < group.ranked.size() && int64_t(i) < options.keep;
         ++i)
      kept.insert(group.ranked[i].schedule);
    for (const Record &record : group.records) {
      bool isOther = record.maker.compiler != compilerVersion();
      bool isSlow = options.keep && !isOther && record.measurement.isOk() &&
                    !kept.count(record.schedule);
      if ((options.failed && !record.measurement.isOk()) ||
          (options.otherVersions && isOther) || isSlow)
        ids.push_back(record.id());
    }
  }
  return ids;
}

Status prune(const Options &options, const GlobalOptions &global) {
  if (!options.keep && !options.failed && !options.otherVersions)
    return makeError("prune: expected --keep, --failed or --other-versions", {},
                     ErrorCode::Usage);
  TLM_TRY(Store store,
          Store::open(options.store,
                      options.dryRun ? Access::Read : Access::Write));
  TLM_TRY(std::vector<std::string> ids, toPrune(options, store));
  int64_t removed = int64_t(ids.size());
  if (!options.dryRun) {
    TLM_TRY(removed, store.remove(ids));
  }
  std::printf("%lld records %s\n", number(removed),
              options.dryRun ? "would be removed" : "removed");
  nlohmann::json report = newReport("records prune");
  report["removed"] = removed;
  return writeReport(report, global.jsonPath);
}

Status exportShards(const Options &options, const GlobalOptions &global) {
  TLM_TRY(Store store, Store::open(options.store, Access::Read));
  TLM_TRY(std::vector<std::string> paths,
          writeShards(store, options.filter, options.shards));
  for (const std::string &path : paths)
    std::printf("%s\n", path.c_str());
  nlohmann::json report = newReport("records export");
  report["paths"] = paths;
  return writeReport(report, global.jsonPath);
}

Status importShards(const Options &options, const GlobalOptions &global) {
  TLM_TRY(RecordSet set, readShards(options.paths));
  TLM_TRY(Store store, Store::open(options.store, Access::Create));
  TLM_TRY(int64_t added, store.add(set));
  std::printf("%zu records read, %lld of them new\n", set.records.size(),
              number(added));
  nlohmann::json report = newReport("records import");
  report["read"] = set.records.size();
  report["added"] = added;
  return writeReport(report, global.jsonPath);
}

CLI::App *addPart(CLI::App &app, Options &options, const char *name,
                  const char *sentence) {
  CLI::App *part = app.add_subcommand(name, sentence);
  part->fallthrough();
  part->add_option("store", options.store, "the store, a file")->required();
  return part;
}

void addFilter(CLI::App &app, Options &options) {
  app.add_option("--task", options.filter.task,
                 "only tasks whose key starts so");
  app.add_option("--target", options.filter.target,
                 "only targets whose key starts so, e.g. znver5.2t");
  app.add_option_function<std::string>(
         "--outcome",
         [&options](const std::string &name) {
           options.filter.outcome = outcomeNamed(name);
           if (!options.filter.outcome)
             throw CLI::ValidationError("--outcome",
                                        "unknown outcome '" + name + "'");
         },
         "only records of that outcome: ok, crashed, wrong_values, ...")
      ->type_name("NAME");
}

} // namespace

Action addRecords(CLI::App &app, const GlobalOptions &global) {
  auto options = std::make_shared<Options>();
  app.require_subcommand(1);
  std::vector<
      std::pair<CLI::App *, Status (*)(const Options &, const GlobalOptions &)>>
      parts;
  auto part = [&](const char *name, const char *sentence, auto *function) {
    parts.emplace_back(addPart(app, *options, name, sentence), function);
    return parts.back().first;
  };
  addFilter(*part("list", "a line for each task and target", list), *options);
  CLI::App *shown = part("show", "the records of a task, or one record", show);
  shown
      ->add_option("key", options->key,
                   "start of a task's key or of a record's identity")
      ->required();
  addFilter(*shown, *options);
  CLI::App *counted = part("stats", "what a store holds", stats);
  counted->add_flag("--check", options->check,
                    "also examine every page, key and identity");
  counted
      ->add_option("--model", options->model,
                   "also what a compilation of this model would find, and why "
                   "not")
      ->type_name("FILE");
  options->compile.add(*counted);
  part("merge", "add the records of other stores", merge)
      ->add_option("stores", options->paths, "the other stores")
      ->required();
  CLI::App *pruned = part("prune", "remove records", prune);
  pruned
      ->add_option("--keep", options->keep,
                   "of candidates that ran, only the fastest N of each task "
                   "and target")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  pruned->add_flag("--failed", options->failed, "records that are not ok");
  pruned->add_flag("--other-versions", options->otherVersions,
                   "records of other versions of the compiler");
  pruned->add_flag("--dry-run", options->dryRun, "only count them");
  addFilter(*pruned, *options);
  CLI::App *exported =
      part("export", "write records as compressed JSON lines", exportShards);
  exported
      ->add_option("folder", options->shards.folder,
                   "where NAME-0000.jsonl.zst and so on go")
      ->required();
  exported->add_option("--name", options->shards.name, "start of the names")
      ->capture_default_str();
  exported
      ->add_option("--shard-bytes", options->shards.mostBytes,
                   "most bytes of a file")
      ->check(CLI::Range(int64_t(4096), int64_t(1) << 40))
      ->capture_default_str();
  addFilter(*exported, *options);
  part("import", "add records from such files, all or none", importShards)
      ->add_option("files", options->paths,
                   ".jsonl and .jsonl.zst files, and folders of them")
      ->required();
  return [options, parts, &global]() -> Status {
    for (const auto &[sub, function] : parts)
      if (sub->parsed())
        return function(*options, global);
    return success();
  };
}

} // namespace tlm
