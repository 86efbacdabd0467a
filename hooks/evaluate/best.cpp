#include "belfry/hooks/evaluate/best.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "belfry/framework/base/descriptor.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/folder_names.h"
#include "belfry/framework/base/json.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/base/mutex.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/hooks/evaluate/validate.h"

namespace belfry::hooks {

double gain(Better better, double value, double other) {
  return better == Better::lower ? other - value : value - other;
}

BestValue::BestValue(std::string owner, std::string metric, Better better,
                     EarlyStoppingOptions stopping)
    : owner_(std::move(owner)), metric_(std::move(metric)), better_(better), stopping_(stopping) {
  require(stopping_.patience >= 0, owner_, ": patience must be at least 0, got ",
          stopping_.patience);
  require(stopping_.min_change >= 0, owner_, ": min_change must be at least 0, got ",
          stopping_.min_change);
  require(stopping_.min_steps >= 0, owner_, ": min_steps must be at least 0, got ",
          stopping_.min_steps);
}

bool BestValue::offer(double value, std::int64_t step) {
  if (step <= last_step_) return false;
  last_ = value, last_step_ = step;
  bool better =
      std::isfinite(value) && (!is_known() || gain(better_, value, value_) > stopping_.min_change);
  if (better) {
    value_ = value, step_ = step, waited_ = 0;
  } else if (step >= stopping_.min_steps) {
    ++waited_;
  }
  return better;
}

std::optional<std::string> BestValue::reason_to_stop(std::int64_t step) const {
  if (stopping_.target && is_known() && step >= stopping_.min_steps
      && gain(better_, last_, *stopping_.target) >= 0)
    return concat(owner_, ": ", metric_, " is ", last_, " at step ", last_step_,
                  ", which is as good as ", *stopping_.target);
  if (stopping_.patience == 0 || waited_ < stopping_.patience || step < stopping_.min_steps)
    return std::nullopt;
  return concat(owner_, ": no better ", metric_, " in ", waited_, " evaluations",
                is_known() ? concat(", ", text()) : "");
}

std::string BestValue::text() const {
  return concat("the best ", metric_, " was ", value_, " at step ", step_);
}

std::string BestValue::state() const {
  if (last_step_ < 0) return {};
  JsonNode state = JsonNode::object(
      {{"best", value_}, {"step", step_}, {"waited", waited_}, {"last_step", last_step_}});
  if (std::isfinite(last_)) state.add("last", last_);
  return state.text();
}

void BestValue::restore(const std::string& state) {
  if (state.empty()) return;
  JsonValue json = JsonValue::parse(state, concat(owner_, ": its state in the checkpoint"));
  constexpr std::int64_t most = std::int64_t{1} << 62;  // counting goes on from there
  value_ = json.required("best").number();
  read_value(json.required("step"), step_, {.low = -1, .high = most});
  read_value(json.required("waited"), waited_, {.low = 0, .high = most});
  read_value(json.required("last_step"), last_step_, {.low = 0, .high = most});
  auto last = json.member("last");
  last_ = last ? last->number() : NAN;
}

namespace {

namespace fs = std::filesystem;

std::string list_in(const std::string& folder) { return path_in(folder, "best.json"); }

std::string word_of(Better better) { return better == Better::lower ? "lower" : "higher"; }

BestEntry entry_of(const JsonValue& json) {
  BestEntry entry{json.required("file").words(), json.required("step").whole(),
                  json.required("value").number()};
  const std::string& name = entry.file;  // never a thing outside the folder
  if (name.empty() || name == "." || name == ".." || name.find('/') != name.npos)
    json.required("file").refuse("the name of a file");
  return entry;
}

// Error: it cannot be seen. Taken for a missing one, it would be given up.
bool exists(const std::string& path) {
  std::error_code error;
  bool there = fs::exists(path, error);
  require(!error, "cannot look at `", path, "`: ", reason_and_remedy(error.value()));
  return there;
}

/// A list of the best, as it is in its file.
struct WrittenList {
  std::string metric, better;
  std::vector<BestEntry> entries = {};
};

// None if there is no such file.
std::optional<WrittenList> read_list(const std::string& folder) {
  std::string path = list_in(folder);
  if (!exists(path)) return {};
  std::string text = read_file(path);
  try {
    JsonValue json = JsonValue::parse(text, "");
    WrittenList list{json.required("metric").words(), json.required("better").words()};
    for (const JsonValue& entry : json.required("kept").elements())
      list.entries.push_back(entry_of(entry));
    return list;
  } catch (const Error& error) {
    fail("`", path,
         "` is no list of the best; move its folder away to begin a new one: ", error.what());
  }
}

}  // namespace

BestList::BestList(std::string folder, std::string metric, Better better)
    : folder_(std::move(folder)), metric_(std::move(metric)), better_(better) {
  std::optional<WrittenList> list = read_list(folder_);
  if (!list) return;
  require(list->metric == metric_ && list->better == word_of(better_), "`", folder_,
          "` keeps the best by ", list->metric, " (", list->better, " is better), not by ", metric_,
          " (", word_of(better_), " is better); move it away to begin anew");
  entries_ = std::move(list->entries);
  written_ = true;
}

bool BestList::accepts(double value, std::int64_t step, int keep, double min_change) const {
  if (!std::isfinite(value)) return false;
  auto same = std::ranges::find(entries_, step, &BestEntry::step);
  if (same != entries_.end()) return gain(better_, value, same->value) > min_change;
  return keep == 0 || std::ssize(entries_) < keep
         || gain(better_, value, entries_[static_cast<std::size_t>(keep) - 1].value) > min_change;
}

bool BestList::is_best(double value) const {
  return std::isfinite(value)
         && (entries_.empty() || gain(better_, value, entries_.front().value) > 0);
}

void BestList::insert(BestEntry entry) {
  std::erase_if(entries_, [&](const BestEntry& e) { return e.file == entry.file; });
  auto after = std::ranges::find_if(
      entries_, [&](const BestEntry& e) { return gain(better_, entry.value, e.value) > 0; });
  entries_.insert(after, std::move(entry));
}

void BestList::add(BestEntry entry, int keep) {
  insert(std::move(entry));
  if (keep > 0 && std::ssize(entries_) > keep) entries_.resize(keep);
  write();
}

bool BestList::has(const std::string& file) const {
  return std::ranges::find(entries_, file, &BestEntry::file) != entries_.end();
}

void BestList::write() {
  JsonNode kept = JsonNode::list();
  for (const BestEntry& e : entries_)
    kept.push(JsonNode::object({{"file", e.file}, {"step", e.step}, {"value", e.value}}));
  JsonNode list = JsonNode::object(
      {{"metric", metric_}, {"better", word_of(better_)}, {"kept", std::move(kept)}});
  create_folders(folder_);
  write_file_atomically(list_in(folder_), list.indented_text() + "\n");
  written_ = true;
}

std::optional<std::vector<BestEntry>> read_best_list(const std::string& folder) {
  std::optional<WrittenList> list = read_list(folder);
  if (!list) return std::nullopt;
  return std::move(list->entries);
}

namespace {

Mutex owners_mutex;
// The best values, and their owner, that each folder keeps at present.
std::map<std::string, std::string>& owners() BELFRY_REQUIRES(owners_mutex) {
  static std::map<std::string, std::string> all;
  return all;
}

}  // namespace

std::string best_folder(const std::string& model_dir, std::string_view name) {
  return concat(model_dir, "/best", name.empty() ? "" : "_", name);
}

std::string keep_checkpoint(const std::string& checkpoint, const std::string& folder) {
  create_folders(folder);
  remove_stale_temporaries(folder);  // of a copy that was killed
  std::string kept = path_in(folder, fs::path(checkpoint).filename().string());
  std::error_code no_link;
  fs::create_hard_link(checkpoint, kept, no_link);
  if (no_link) write_file_atomically(kept, read_file(checkpoint));
  sync_folder(folder);
  return kept;
}

FolderOwner::FolderOwner(std::string folder, const BestValue& best) : folder_(std::move(folder)) {
  MutexLock lock(owners_mutex);
  auto [other, is_new] =
      owners().emplace(folder_, concat("the best ", best.metric(), " of ", best.owner()));
  require(is_new, best.owner(), ": `", folder_, "` keeps ", other->second,
          " already, not the best ", best.metric(),
          " too; give one of them another name (EvalSpec::name), or "
          "keep_best = 0");
}

FolderOwner::~FolderOwner() {
  MutexLock lock(owners_mutex);
  owners().erase(folder_);
}

BestCheckpoints::BestCheckpoints(const HookContext& context, std::string_view name,
                                 const BestValue& before, Better better, int keep,
                                 double min_change)
    : owner_(best_folder(context.model_dir(), name), before),
      list_(owner_.folder(), before.metric(), better),
      keep_(keep),
      min_change_(min_change) {
  std::string file = checkpoint_path(list_.folder(), before.step());
  if (before.is_known() && !list_.is_written() && exists(file))
    list_.insert({fs::path(file).filename().string(), before.step(), before.value()});
  // Training does not evaluate again what it has evaluated.
  std::int64_t last = before.last_step();
  std::string saved = checkpoint_path(context.model_dir(), last);
  if (last == context.step() && accepts(before.last_value(), last) && exists(saved))
    this->keep(saved, before.last_value(), last);
  if (list_.is_written()) remove_unlisted();
}

// A file that gives way is removed only once no power failure can take the new one, or its list.
void BestCheckpoints::keep(const std::string& checkpoint, double value, std::int64_t step) {
  std::string kept = keep_checkpoint(checkpoint, list_.folder());
  list_.add({fs::path(kept).filename().string(), step, value}, keep_);
  remove_unlisted();
}

// Also what an earlier training did not come to list, or to remove, before it was killed.
void BestCheckpoints::remove_unlisted() const {
  std::vector<CheckpointFile> files;
  try {
    files = list_checkpoints(list_.folder());
  } catch (const Error& error) {  // the best one is kept all the same
    log_warning("what is no longer among the best is not removed: ", error.what());
  }
  for (const CheckpointFile& file : files) {
    if (list_.has(fs::path(file.path).filename().string())) continue;
    std::error_code error;
    fs::remove(file.path, error);
    if (error) log_warning("could not remove ", file.path, ": ", error.message());
  }
}

std::optional<std::string> best_checkpoint(const std::string& model_dir, std::string_view name) {
  std::string folder = best_folder(model_dir, name);
  for (const BestEntry& entry : read_best_list(folder).value_or(std::vector<BestEntry>()))
    if (std::string path = path_in(folder, entry.file); exists(path)) return path;
  auto files = list_checkpoints(folder);  // somebody removed the list
  if (files.empty()) return std::nullopt;
  return files.back().path;
}

}  // namespace belfry::hooks
