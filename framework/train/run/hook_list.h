#pragma once
// The hooks of one train() call, in the order that hook.h describes. Internal to train/.

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "belfry/framework/train/model/model.h"
#include "belfry/framework/train/training.h"

namespace belfry {

class HookList {
 public:
  /// The user's hooks and those of train(), but for the saver. Error: one is null, two have one
  /// name, one or a listener is given twice, there are listeners but nothing saves.
  HookList(const RunConfig& config, const TrainOptions& options, std::optional<std::int64_t> last);

  const Hooks& all() const { return hooks_; }
  const std::shared_ptr<Hook>& saver() const { return saver_; }  ///< null: nothing is saved
  /// How a model takes part in steps with these hooks. Error: two of them ask for micro-batches, or
  /// one for less than 1.
  ModelOptions model_options(const RunConfig& config) const;
  /// Whether begin() was called.
  bool restored() const { return restored_; }

  /// Adds those of an EstimatorSpec, then the saver.
  void add_last(const Hooks& of_spec);
  /// Hands back the states of a checkpoint and calls begin(). `origin` says where they come from,
  /// for errors.
  void begin(HookContext& context, const std::map<std::string, std::string>& states,
             const std::string& origin);
  /// `saved` with the present states of hooks; those of hooks that are not here stay as they were.
  std::map<std::string, std::string> states(std::map<std::string, std::string> saved) const;
  /// Calls every end() that has a begin(), last hook first; with `failed` once one has thrown.
  /// Returns the first thing thrown; others, and all of them after a failure, are logged.
  std::exception_ptr end(HookContext& context, Outcome outcome);

 private:
  void check() const;

  Hooks hooks_;
  std::shared_ptr<Hook> saver_;
  std::size_t begun_ = 0;  // hooks whose begin() was called
  bool restored_ = false;
};

}  // namespace belfry
