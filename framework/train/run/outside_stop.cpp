#include "belfry/framework/train/run/outside_stop.h"

#include "belfry/framework/base/log.h"
#include "belfry/framework/train/training.h"

namespace belfry {

OutsideStop::OutsideStop(Workers& workers, const RunConfig& config, const TrainOptions& options)
    : given_(options.stop), control_(options.control), is_chief_(workers.is_chief()) {
  of_all_.emplace(workers, stop_);
  stop_.listen_to(given_);
  if (control_) stop_.listen_to(control_->stop());
  if (config.stop_on_signals)
    stop_.listen_to(signals_.emplace([this](const char* signal) { answer(signal); }).stop());
}

void OutsideStop::answer(const char* signal) const {
  if (!is_chief_) return;
  TrainProgress now = control_ ? control_->progress() : TrainProgress();
  log_info(signal, ": stopping",
           now.running ? concat(" behind the running step; ", now.step, " are done") : "",
           "; once more ends the program at once, without saving");
}

std::optional<std::string> OutsideStop::reason() const {
  std::string of_host;
  if (control_ && control_->stop_requested(of_host)) return of_host;
  if (given_.stop_requested()) return "the stop token asked for it";
  if (const char* signal = signals_ ? signals_->received() : nullptr) return signal;
  return std::nullopt;
}

void OutsideStop::close() {
  of_all_.reset();
  signals_.reset();
}

}  // namespace belfry
