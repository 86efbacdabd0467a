#pragma once
// Hooks without a training run: a context, steps, a clock and a log to look at.

#include <optional>
#include <string>
#include <vector>

#include "belfry/framework/base/log.h"
#include "belfry/framework/train/hook.h"

namespace belfry::hooks {

class FakeContext : public HookContext {
 public:
  std::int64_t step() const override { return finished; }
  std::optional<std::int64_t> last_step() const override { return limit; }
  bool data_ended() const override { return false; }
  const RunConfig& config() const override { return config_; }
  const std::string& model_dir() const override { return folder; }
  Variables& variables() override { fail("this context has no variables"); }
  std::string plan() const override { return plan_text; }
  void request_stop(std::string reason) override { stop_reason = std::move(reason); }
  bool is_chief() const override { return chief; }
  std::string save_checkpoint() override { fail("this context has no checkpoints"); }

  /// One more finished step, of which `hook` is asked and told.
  void finish_step(Hook& hook, StepResult result) {
    result.step = ++finished;
    hook.needs_result_now(*this, finished);
    hook.after_step(result);
  }

  std::int64_t finished = 0;
  bool chief = true;
  std::optional<std::int64_t> limit;
  std::string stop_reason, plan_text;
  std::string folder = "unused";  // model_dir

 private:
  RunConfig config_;
};

/// Keeps what is logged while it lives.
class CapturedLog {
 public:
  CapturedLog()
      : previous_(
          set_log_sink([this](LogLevel, std::string_view line) { lines.emplace_back(line); })) {}
  ~CapturedLog() { set_log_sink(previous_); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  std::vector<std::string> lines;

 private:
  LogSink previous_;
};

}  // namespace belfry::hooks
