#pragma once
// Who exports what was evaluated.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belfry/framework/export/export_model.h"
#include "belfry/framework/train/estimator.h"
#include "belfry/hooks/evaluate/early_stopping.h"

namespace belfry {

/// A state of the model that an EvalSpec has evaluated.
struct EvaluatedState {
  /// The estimator that has evaluated it. Beside training its model_dir is a temporary one; write
  /// to `folder`.
  Estimator& estimator;
  std::string checkpoint;    ///< of this state; empty: there is none, it is live in `estimator`
  const EvalResult& result;  ///< of the evaluation
  std::int64_t step = 0;     ///< training steps that the state has had
  std::string folder;        ///< where an exporter's exports belong: model_dir/export/NAME
  bool averaged = false;     ///< with moving averages: see EvalSpec::averaged
};

/// Writes `state` to its folder as `options` say, whose checkpoint is left empty, and its model_fn
/// may be; with moving averages if either says so. Returns the path.
std::string export_state(const EvaluatedState& state, ExportOptions options);

/// Decides which of the states that an EvalSpec evaluates are exported. Derive from it for a rule
/// of your own. It is called on the chief alone, by one thread at a time; what it throws fails
/// training.
class Exporter {
 public:
  virtual ~Exporter() = default;
  /// The name of its folder; no two exporters of a training have the same.
  virtual std::string name() const = 0;
  /// The result of evaluations that it decides by, a number: checked before the first step. Empty:
  /// by none.
  virtual std::string metric() const { return {}; }
  /// Before the first step of a training, with its folder: throws what it would otherwise throw
  /// after hours.
  virtual void begin(Estimator&, const std::string& /*folder*/) {}
  /// After each evaluation: the path of what it has exported, if anything.
  virtual std::optional<std::string> after_evaluation(const EvaluatedState&) { return {}; }
  /// When training has ended, unless it failed, with the last state.
  virtual std::optional<std::string> at_end(const EvaluatedState&) { return {}; }
};
using Exporters = std::vector<std::shared_ptr<Exporter>>;  ///< none of them null

/// Options of latest_exporter().
struct LatestExporterOptions {
  std::string name = "latest";  ///< of its folder, without slashes
  ExportOptions model = {};     ///< see export_state(); its signatures must be set
  KeepRules keep = {};          ///< which exports stay
};
/// Exports after each evaluation, but no step twice. Error: no name, or one with slashes; no
/// signature; a number to keep that is out of range; when training begins:
/// Estimator::check_export(). The same goes for the others.
std::shared_ptr<Exporter> latest_exporter(LatestExporterOptions options);

/// Options of best_exporter().
struct BestExporterOptions {
  std::string name = "best";      ///< as in LatestExporterOptions
  ExportOptions model = {};       ///< likewise
  std::string metric = "loss";    ///< a scalar of EvalResult
  Better better = Better::lower;  ///< a NaN or infinite value is never better
  int keep = 5;                   ///< the best of its exports to keep; 0 keeps all
};
/// Exports after an evaluation with a better value than all before. Which there were is in the file
/// best.json in its folder: it survives restarts, and a better export never gives way to a worse
/// one. Exports there that the file does not list are removed, unless all are kept. Error, when
/// training begins: best.json is of another metric.
std::shared_ptr<Exporter> best_exporter(BestExporterOptions options);

/// Options of final_exporter().
struct FinalExporterOptions {
  std::string name = "final";  ///< as in LatestExporterOptions
  ExportOptions model = {};    ///< likewise
};
/// Exports once, when training has ended, unless its newest export is of that step.
std::shared_ptr<Exporter> final_exporter(FinalExporterOptions options);

/// Removes the older exports in `folder` that are not to be kept. Things in the folder that are no
/// exports (list_exports()) stay, as do, where the rules ask for steps, those that do not say
/// theirs. Error, and nothing is removed: a rule is out of its range.
void remove_old_exports(const std::string& folder, const KeepRules& keep);

}  // namespace belfry
