#pragma once
// The best value of a metric so far, and what is kept for it. Internal to hooks/; best_checkpoint()
// is in validate.h.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/train/hook.h"
#include "belfry/hooks/evaluate/early_stopping.h"

namespace belfry::hooks {

/// By how much `value` is better than `other`; below 0 if it is worse.
double gain(Better better, double value, double other);

/// Keeps the best value that it is told and the last one, their steps, and for how many evaluations
/// there has been no better one. A NaN or infinite value is never better.
class BestValue {
 public:
  /// Errors and reasons begin with `owner`. Error: negative patience, min_change or min_steps.
  BestValue(std::string owner, std::string metric, Better better, EarlyStoppingOptions stopping);

  /// Whether the value after this step is the best so far. A step that is no later than another
  /// that was told changes nothing.
  bool offer(double value, std::int64_t step);
  /// Why training stops when it has come to this step; nothing: it goes on.
  std::optional<std::string> reason_to_stop(std::int64_t step) const;

  bool is_known() const { return step_ >= 0; }
  double value() const { return value_; }
  std::int64_t step() const { return step_; }
  double last_value() const { return last_; }
  std::int64_t last_step() const { return last_step_; }  ///< -1: there is none yet
  const std::string& owner() const { return owner_; }
  const std::string& metric() const { return metric_; }
  std::string text() const;  ///< "the best loss was 0.5 at step 4"

  /// JSON; empty before there is anything to tell.
  std::string state() const;
  void restore(const std::string& state);

 private:
  std::string owner_, metric_;
  Better better_;
  EarlyStoppingOptions stopping_;
  double value_ = 0;
  std::int64_t step_ = -1;  // of the best; -1: there is none yet
  std::int64_t waited_ = 0;
  double last_ = 0;
  std::int64_t last_step_ = -1;
};

struct BestEntry {
  std::string file;  ///< its name in the folder
  std::int64_t step = 0;
  double value = 0;
};

/// The contents of best.json in a folder. The file is the truth about the checkpoints that are kept
/// there: it survives restarts, also those from a checkpoint that is older, and its entries give
/// way to better values alone.
///
///   {"metric": "loss", "better": "lower",
///    "kept": [{"file": "checkpoint-4.safetensors", "step": 4, "value": 0.5}]}   best first
class BestList {
 public:
  /// Reads it if it is there. Error: it is damaged, or of another metric.
  BestList(std::string folder, std::string metric, Better better);

  const std::string& folder() const { return folder_; }
  bool is_written() const { return written_; }
  const std::vector<BestEntry>& entries() const { return entries_; }

  /// Whether a value is among the best `keep` (0: any number), better than the one that gives way
  /// by more than `min_change`. One of the same step gives way to a better value only.
  bool accepts(double value, std::int64_t step, int keep, double min_change = 0) const;
  /// Whether it is better than all.
  bool is_best(double value) const;
  /// Puts it in without writing.
  void insert(BestEntry entry);
  /// Puts it in, durably; what is no longer among the best `keep` is out. What the folder has and
  /// the list does not may then be removed.
  void add(BestEntry entry, int keep);
  /// Whether it lists a file or folder of this name.
  bool has(const std::string& file) const;

 private:
  void write();

  std::string folder_, metric_;
  Better better_;
  std::vector<BestEntry> entries_;  // best first
  bool written_ = false;
};

/// The entries of a folder's list, best first; nothing if it has none. Error: it is damaged.
std::optional<std::vector<BestEntry>> read_best_list(const std::string& folder);

/// model_dir/best, or model_dir/best_<name>.
std::string best_folder(const std::string& model_dir, std::string_view name = {});

/// Makes the checkpoint stay in another folder too, durably: by a link, which shares the bytes; by
/// a copy where the file system has none. Returns its path there.
std::string keep_checkpoint(const std::string& checkpoint, const std::string& folder);

/// Keeps others of this process from keeping their best in the same folder while it lives.
class FolderOwner {
 public:
  /// Error: another one lives.
  FolderOwner(std::string folder, const BestValue& best);
  ~FolderOwner();
  FolderOwner(const FolderOwner&) = delete;
  FolderOwner& operator=(const FolderOwner&) = delete;

  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

/// Used by the chief alone, from a training's begin to its end.
class BestCheckpoints {
 public:
  /// `before` tells of the best one where the folder has no list, and of the last one where a
  /// training was killed after it wrote the checkpoint and before keep(): that one is kept now.
  /// Error: another one has this folder; its list is damaged, or of another metric.
  BestCheckpoints(const HookContext& context, std::string_view name, const BestValue& before,
                  Better better, int keep, double min_change);

  /// Whether the checkpoint of a step with this value belongs to the best.
  bool accepts(double value, std::int64_t step) const {
    return list_.accepts(value, step, keep_, min_change_);
  }
  /// Keeps it and removes the checkpoints in the folder that are not among the best.
  void keep(const std::string& checkpoint, double value, std::int64_t step);

 private:
  void remove_unlisted() const;

  FolderOwner owner_;
  BestList list_;
  int keep_;
  double min_change_;
};

}  // namespace belfry::hooks
