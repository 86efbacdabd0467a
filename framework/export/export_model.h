#pragma once
// Writing a trained model for use without its code, to a folder DIR/SECONDS/, all of it
// there or none.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/export/predictor.h"
#include "belfry/framework/tensor/features.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/framework/train/estimator_spec.h"
#include "belfry/framework/train/run_config.h"

namespace belfry {

/// One way to call an exported model.
struct ExportSignature {
  /// Name and type of one example of each feature, without the axis of the rows:
  /// {{"image", {{28, 28, 1}, DType::f32}}}.
  Signature inputs = {};
  /// Inputs whose first axis counts steps, t. A batch may have any number up to the size in
  /// `inputs`, the same in all of them:
  ///
  ///   {.inputs = {{"token", {{256}, DType::i32}}}, .free_steps = {"token"}}  // i32[n, t]
  ///
  /// The model is built for several t, 2 the smallest; a size that is no a + b n + c t + d n t is
  /// an Error. Errors too: there is no such input, they differ in their steps, or have fewer
  /// than 4.
  std::vector<std::string> free_steps = {};
  std::vector<std::string> outputs = {};  ///< which predictions; empty: all
  /// How Predictor::predict_examples() finds inputs in tf.train.Examples, where that needs saying.
  /// Their steps cannot be free.
  ExampleInputs examples = {};
  /// The work that the input pipeline does on a single raw example before it is an input, as a JSON
  /// object: data::Augmentation::json() of what training mapped over its data, say
  ///
  ///   data::compose({data::resize({.height = 224, .width = 224}), data::normalize({...})})
  ///
  /// The Predictor keeps it for those who have raw examples; it does not run it. Empty: none.
  std::string preparation = {};
};

/// The inputs of a signature like those of a batch: its features of these names, all if there are
/// none. Error: the batch lacks one, or one has no axis of rows.
Signature inputs_like(const Features& batch, const std::vector<std::string>& names = {});

/// Options of export_model() and Estimator::export_model().
struct ExportOptions {
  ModelFn model_fn = {};  ///< built in predict mode; of an Estimator: empty, its own
  /// Path, or a model_dir, which stands for its newest one; of an Estimator: empty, its live state.
  std::string checkpoint = {};
  /// By name. A single one is best named "predict", the name that callers need not give.
  std::map<std::string, ExportSignature> signatures = {};
  /// Files that are copied to EXPORT/assets/, under their names there: {{"words.txt", path}}.
  std::map<std::string, std::string> assets = {};
  bool averaged = false;  ///< the moving averages of variables that have one take their place
  /// See RunConfig::precision; none: f32, or an Estimator's.
  std::optional<Precision> precision = {};
  /// Whether to write model.onnx (and model.SIGNATURE.onnx for signatures other than the first).
  bool onnx = true;
};

/// Writes `dir`/SECONDS/ (since 1970) and returns its path; it is there as a whole or not at all.
///
///   graph.json         the predictions as a graph, for batches of any size; see Predictor
///   model.safetensors  the weights that it needs, by the names of the variables
///   model.onnx         the same for other runtimes: opset 17, names of inputs and outputs as here
///   assets/
///
/// Estimator::export_model() is for all workers of a job to call: empty on all but the chief.
/// Error: no checkpoint, or one that lacks a variable; the model is built in another way for other
/// numbers of rows, or of free steps; ONNX cannot express an op (named, with its path); the folder
/// is not writable.
std::string export_model(const std::string& dir, const ExportOptions& options);
/// The same of variables in memory: `state` takes the place of the file of options.checkpoint.
std::string export_model(const std::string& dir, const ExportOptions& options,
                         const Checkpoint& state);

/// Error, if export_model() would throw one because of the model or the signatures, whatever the
/// weights. Runs no op. Estimator::check_export() is the same with its own model.
void check_export(const ExportOptions& options);

/// The signature that callers of a Predictor need not name.
inline constexpr std::string_view default_signature = "predict";

/// Calls fill(path) with an empty folder in `dir` (made if need be) whose name begins with a dot,
/// syncs it, and renames it to the present time in seconds, ten digits, or, if that is not later
/// than the newest export there, to the next number. So who watches `dir` sees whole exports alone.
/// Returns the path. After an Error the temporary folder is gone; those that killed programs left
/// behind are removed first.
std::string write_export_folder(const std::string& dir,
                                const std::function<void(const std::string&)>& fill);

/// Paths of the exports in `dir`, oldest first: folders whose name is a time of ten digits, with a
/// graph.json. None when there is no such folder. Error: it cannot be listed.
std::vector<std::string> list_exports(const std::string& dir);

/// `path` if there is a graph.json in it, else the newest export in it. Error: there is none; it is
/// said whether `path` is a model_dir, and which export may have been meant.
std::string newest_export(const std::string& path);

}  // namespace belfry
