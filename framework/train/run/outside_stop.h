#pragma once
// Who asks from outside for training to stop. Internal to train/, and for train_and_evaluate().

#include <optional>
#include <stop_token>
#include <string>

#include "belfry/framework/base/linked_stop.h"
#include "belfry/framework/train/run/signals.h"
#include "belfry/framework/train/run/stop_of_all.h"
#include "belfry/framework/train/run_config.h"
#include "belfry/framework/train/training.h"

namespace belfry {

/// Hears TrainOptions::stop, TrainControl, signals where RunConfig says so, which the chief answers
/// with a log line at once, and the other workers.
/// All workers make theirs at the same time.
class OutsideStop {
 public:
  /// Error: there is no thread to listen on.
  OutsideStop(Workers& workers, const RunConfig& config, const TrainOptions& options);

  std::stop_token token() const { return stop_.token(); }
  bool requested() const { return stop_.requested(); }
  void request() { stop_.request(); }
  /// Who has asked here; nothing: nobody, but maybe another worker.
  std::optional<std::string> reason() const;
  /// The signal that has, or 0.
  int signal() const { return signals_ ? signals_->signal() : 0; }
  /// Hears signals and other workers no more.
  void close();

 private:
  void answer(const char* signal) const;

  std::stop_token given_;
  const TrainControl* control_;
  bool is_chief_;
  LinkedStop stop_;
  std::optional<SignalGuard> signals_;
  std::optional<StopOfAll> of_all_;
};

}  // namespace belfry
