#pragma once
// The best few of the files or folders in a folder, by a metric. Internal to hooks/.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "belfry/hooks/early_stopping.h"

namespace belfry::hooks {

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
  bool takes(double value, std::int64_t step, int keep, double min_change = 0) const;
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

}  // namespace belfry::hooks
