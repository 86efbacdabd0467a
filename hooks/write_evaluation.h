#pragma once
// Results of evaluations, for TensorBoard.

#include <cstdint>
#include <string>
#include <string_view>

#include "belfry/framework/train/estimator.h"
#include "belfry/hooks/event_file.h"

namespace belfry::hooks {

/// Where results of the evaluation `name` belong: model_dir/eval, or model_dir/eval_<name>.
/// TensorBoard shows the folder as a run of its own, beside the training's.
std::string evaluation_dir(const std::string& model_dir, std::string_view name = {});
/// Error, beginning with `caller`: evaluation_dir() of `name` would not be a folder of model_dir.
void check_evaluation_name(std::string_view caller, std::string_view name);

/// Adds an event file to `dir`: the loss and each metric of one element as a scalar at `step` (the
/// number of steps that the model had been trained for), each metric pr_curve() as a curve, and the
/// checkpoint's path as text, if there is one. What cannot be written is left out with a warning:
/// see EventFile.
void write_evaluation(const std::string& dir, const EvalResult& result, std::int64_t step,
                      const std::string& checkpoint = {});
/// The same to a file that is there.
void write_evaluation(EventFile& file, const EvalResult& result, std::int64_t step,
                      const std::string& checkpoint = {});

}  // namespace belfry::hooks
