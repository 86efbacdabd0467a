#pragma once
// How a training writes checkpoints. Internal to train/.

#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <string>

#include "belfry/framework/base/lock_file.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/framework/train/hook.h"

namespace belfry {

/// Writes the checkpoints of a training to its model_dir, where RunConfig says so in the
/// background, and tells the listeners. On the chief; elsewhere it does nothing.
class CheckpointWriter {
 public:
  /// The context of the training outlives it. `lock`: of `dir`; null: nothing is written there.
  CheckpointWriter(HookContext& training, std::string dir, CheckpointListeners listeners,
                   std::unique_ptr<LockFile> lock)
      : training_(training),
        dir_(std::move(dir)),
        listeners_(std::move(listeners)),
        lock_(std::move(lock)) {}

  const std::string& dir() const { return dir_; }
  bool has_listeners() const { return !listeners_.empty(); }
  void begin_listeners();
  void before_save();
  void end_listeners(Outcome outcome);

  /// Writes a checkpoint, and returns its path.
  std::string write(const Checkpoint& checkpoint);
  /// The same in the background: finish() tells when it is done.
  void begin(Checkpoint checkpoint);
  /// Whether a checkpoint that was begun is durable by now.
  bool is_done() const;
  /// Waits for the checkpoint that is being written in the background, if any, and tells of it.
  /// Error: it could not be written, or a listener's.
  void finish();
  /// The same before another one that takes its place: an error is a warning.
  void give_way();
  /// The same at the end of training, which returns the error. After a failure nobody is told of
  /// another one, so it is logged.
  std::exception_ptr end(Outcome outcome);
  void unlock() { lock_.reset(); }

 private:
  void written(const std::string& path);

  HookContext& training_;
  std::string dir_;
  CheckpointListeners listeners_;
  std::unique_ptr<LockFile> lock_;
  std::size_t listening_ = 0;         // listeners that have begun and not ended
  std::future<std::string> writing_;  // in the background
};

}  // namespace belfry
