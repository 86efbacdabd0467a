#include "belfry/hooks/best_checkpoints.h"

#include <filesystem>
#include <map>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/base/mutex.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/hooks/validate.h"

namespace belfry::hooks {
namespace {

namespace fs = std::filesystem;

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
  std::string kept = (fs::path(folder) / fs::path(checkpoint).filename()).string();
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
          " too; give one of them another name (ValidateOptions::name, EvalSpec::name), or "
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
  std::error_code error;
  fs::path file = checkpoint_path(list_.folder(), before.step());
  if (before.is_known() && !list_.is_written() && fs::exists(file, error))
    list_.insert({file.filename().string(), before.step(), before.value()});
  // Training does not evaluate again what it has evaluated.
  std::int64_t last = before.last_step();
  std::string saved = checkpoint_path(context.model_dir(), last);
  if (last == context.step() && takes(before.last_value(), last) && fs::exists(saved, error))
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
  for (const CheckpointFile& file : list_checkpoints(list_.folder())) {
    if (list_.has(fs::path(file.path).filename().string())) continue;
    std::error_code error;
    fs::remove(file.path, error);
    if (error) log_warning("could not remove ", file.path, ": ", error.message());
  }
}

std::optional<std::string> best_checkpoint(const std::string& model_dir, std::string_view name) {
  std::string folder = best_folder(model_dir, name);
  std::error_code error;
  for (const BestEntry& entry : read_best_list(folder).value_or(std::vector<BestEntry>()))
    if (std::string path = (fs::path(folder) / entry.file).string(); fs::exists(path, error))
      return path;
  auto files = list_checkpoints(folder);  // somebody removed the list
  if (files.empty()) return std::nullopt;
  return files.back().path;
}

}  // namespace belfry::hooks
