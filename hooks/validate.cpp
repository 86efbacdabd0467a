#include "belfry/hooks/validate.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/hooks/live_variables.h"

namespace belfry::hooks {
namespace {

namespace fs = std::filesystem;

std::string folder_of_best(const std::string& model_dir) {
  return (fs::path(model_dir) / "best").string();
}

// A link shares the bytes, and stays when the checkpoint goes; not every file system has them. The
// one before goes when no power failure can take the new one.
void keep_as_best(const std::string& checkpoint, const std::string& folder) {
  create_folders(folder);
  std::string kept = (fs::path(folder) / fs::path(checkpoint).filename()).string();
  std::error_code no_link;
  fs::create_hard_link(checkpoint, kept, no_link);
  if (no_link) write_file_atomically(kept, read_file(checkpoint));
  sync_folder(folder);
  for (const CheckpointFile& file : list_checkpoints(folder)) {
    if (file.path == kept) continue;
    std::error_code error;
    fs::remove(file.path, error);
    if (error) log_warning("validate: could not remove ", file.path, ": ", error.message());
  }
}

std::string results_text(const EvalResult& results) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : results)
    if (name != "global_step" && value.elements() == 1)
      parts.push_back(concat(name, " = ", static_cast<float>(value.item())));
  return join(parts, ", ");
}

class Validate final : public Hook {
 public:
  Validate(Estimator& estimator, InputFn input_fn, ValidateOptions options)
      : estimator_(estimator), input_fn_(std::move(input_fn)), o_(std::move(options)) {}

  void begin(HookContext& context) override { stop_without_patience(context); }

  bool needs_result_now(HookContext& context, std::int64_t step) override {
    return has_turn(context, step, o_.every);
  }

  void after_step(const StepResult& result) override {
    if (!needs_result_now(result.context, result.step) || !is_finite(result)) return;
    EvalResult results = estimator_.evaluate(input_fn_, o_.evaluate);
    if (o_.receive && result.context.is_chief()) o_.receive(result.step, results);
    bool better = take(results.at(o_.metric), result.step);
    if (result.context.is_chief())
      log_info("step ", result.step, ": evaluated ", results_text(results),
               better || step_ < 0 ? "" : concat("; ", best_text()));
    if (better && o_.keep_best) save(result.context);
    stop_without_patience(result.context);
  }

  std::string name() const override { return "validate/" + o_.metric; }
  std::string state() const override {
    if (step_ < 0 && waited_ == 0) return {};
    return nlohmann::json{{"best", best_}, {"step", step_}, {"waited", waited_}}.dump();
  }
  void restore(const std::string& state) override {
    if (state.empty()) return;
    auto json = nlohmann::json::parse(state, nullptr, false);
    auto number = [&](const char* key) -> const nlohmann::json& {
      require(json.is_object() && json.contains(key) && json[key].is_number(),
              "validate: its state has no number `", key, "`: ", state);
      return json[key];
    };
    best_ = number("best").get<double>();
    step_ = number("step").get<std::int64_t>();
    waited_ = number("waited").get<std::int64_t>();
  }

 private:
  // Whether the value is the best so far.
  bool take(double value, std::int64_t step) {
    double gain = o_.better == Better::lower ? best_ - value : value - best_;
    bool better = std::isfinite(value) && (step_ < 0 || gain > o_.min_change);
    if (better) {
      best_ = value, step_ = step, waited_ = 0;
    } else {
      ++waited_;
    }
    return better;
  }

  void save(HookContext& context) const {
    std::string checkpoint = context.save_checkpoint();
    if (context.is_chief()) keep_as_best(checkpoint, folder_of_best(context.model_dir()));
  }

  void stop_without_patience(HookContext& context) const {
    if (o_.patience > 0 && waited_ >= o_.patience)
      context.request_stop(concat("validate: no better ", o_.metric, " in ", waited_,
                                  " evaluations", step_ < 0 ? "" : concat(", ", best_text())));
  }

  std::string best_text() const {
    return concat("the best ", o_.metric, " was ", best_, " at step ", step_);
  }

  Estimator& estimator_;
  InputFn input_fn_;
  ValidateOptions o_;
  double best_ = 0;
  std::int64_t step_ = -1;  // of the best; -1: there is none yet
  std::int64_t waited_ = 0;
};

}  // namespace

std::shared_ptr<Hook> validate(Estimator& estimator, InputFn input_fn, ValidateOptions options) {
  check_every("validate", options.every);
  require(options.patience >= 0, "validate: patience must be at least 0, got ", options.patience);
  require(options.min_change >= 0, "validate: min_change must be at least 0, got ",
          options.min_change);
  require(options.evaluate.checkpoint.empty(),
          "validate: the live variables are evaluated, not the checkpoint ",
          options.evaluate.checkpoint);
  return std::make_shared<Validate>(estimator, std::move(input_fn), std::move(options));
}

std::optional<std::string> best_checkpoint(const std::string& model_dir) {
  auto files = list_checkpoints(folder_of_best(model_dir));
  if (files.empty()) return std::nullopt;
  return files.back().path;
}

}  // namespace belfry::hooks
