#pragma once
// Training as one page of HTML: curves, speed, times, memory, pictures.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "belfry/framework/train/estimator.h"
#include "belfry/framework/train/hook.h"

namespace belfry::hooks {

/// Options of report().
struct ReportOptions {
  std::string path = {};    ///< of the page; empty: model_dir/report.html. Its folder must exist
  std::string title = {};   ///< empty: "Training of <last part of model_dir>"
  Every every = Steps(10);  ///< between points of the curves, in steps or seconds
  Steps summaries = Steps(100);  ///< between computations of EstimatorSpec::summaries
  std::chrono::milliseconds write_every = std::chrono::seconds(10);  ///< while training goes on
  std::string plan = {};  ///< shown as it is: Estimator::explain(), say; empty: HookContext::plan()
  /// Lines of yours in the table of facts, such as hyper-parameters.
  std::vector<std::pair<std::string, std::string>> facts = {};
  std::function<double()> clock = monotonic_seconds;  ///< seconds, never going back
  std::function<double()> wall_time = {};  ///< seconds since 1970; empty: the system's clock
};

/// The hook, which also takes what it is not told of by training. Its functions may be called from
/// any thread, and do nothing before the first training; after training they write the page again.
class Report : public Hook {
 public:
  /// The loss and each metric of one element, at `step`, the number of steps that the model had
  /// been trained for. `name`: which evaluation, if there are several.
  virtual void add_evaluation(std::int64_t step, const EvalResult& result,
                              const std::string& name = {}) = 0;
  /// Pictures in place of the last ones of this name: what image_summary() takes, or one [h, w, c].
  /// Error: another type or shape.
  virtual void add_images(std::int64_t step, const std::string& name, const Array& images) = 0;
  /// The reason why training was stopped, which train() tells and hooks are not told.
  virtual void add_result(const TrainResult& result) = 0;
};

/// Writes a page that needs no other file, no network and no program but a browser that
/// runs scripts. Its data are in it as JSON, `<script type="application/json" id="data">`:
///
///   curves of the loss and EstimatorSpec::values, evaluations, learning rates, steps/s,
///   examples/s, the share of time spent waiting for input, and of EstimatorSpec::summaries scalars
///   and distributions; the latest images and texts of these
///   where the time of this training went, in the words of breakdown_text(); the input's stages
///   devices, batch, seed, precision, version and the like; the plan
///
/// Curves keep the lowest, highest and mean value of each part once they have more than 500 points.
/// They are part of the checkpoint, so that a training that goes on has them from the beginning, if
/// need be with fewer points, so that they take 256 KiB at most; images and texts are not. Where a
/// value is not finite, whatever the cadence, its curve is interrupted. Images with more than 512
/// pixels a side lose whole rows and columns.
///
/// The chief alone writes, in a thread of its own, by a new file in place of the old one: at the
/// first step, then by cadence, and at the end, saying how that came. What cannot be written is a
/// warning and no failure. It changes nothing of what training computes. Error: a cadence below 1.
std::shared_ptr<Report> report(ReportOptions options = {});

}  // namespace belfry::hooks
