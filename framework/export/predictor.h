#pragma once
// An export as a function: no model code, no estimator.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/framework/export/example_inputs.h"
#include "belfry/framework/export/extent.h"
#include "belfry/framework/tensor/features.h"

namespace belfry {

struct PredictorOptions {
  std::string device = "cpu";       ///< "cpu", "cuda:1"
  int threads = 0;                  ///< host threads of one call at most; 0: one per core
  bool tf32 = true;                 ///< see RunConfig::tf32
  bool exact_convolutions = false;  ///< see RunConfig::exact_convolutions
  /// Calls that compute at the same time; further ones wait. Each of these has memory of its own
  /// for what it computes; they share the weights.
  int parallel = 1;
  /// Plans that are kept for each of these: one for each signature and number of rows; the least
  /// recently used goes.
  int plans = 8;
  DecodeImage decode_image = {};  ///< for images in tf.train.Examples
};

/// Predictions of an exported model:
///
///   auto classify = Predictor::load("exports/digits");
///   Features out = classify({{"image", images}});        // images [n, 28, 28, 1], any n
///   use(out.at("digit"));
///
/// The results are those that predict() gives for the same batch as its first, bit for bit on the
/// same kind of device with the same tf32 and exact_convolutions. Thread rules: any number of
/// threads may call it. Copies share everything.
class Predictor {
 public:
  /// `path`: an export, or a folder of them, which stands for the newest. Error: there is none; a
  /// file is damaged: it is named, with the place in it and what is wrong.
  static Predictor load(const std::string& path, const PredictorOptions& options = {});

  /// The predictions of a batch; arrays are the caller's. `signature` may be left out when there is
  /// one, or one named "predict". Inputs that the signature does not ask for are not looked at.
  /// Error: no such signature, a missing input, one of another type than the signature's.
  Features operator()(const Features& inputs, std::string_view signature = {}) const;
  /// The same for one example: inputs and predictions without the axis of the rows.
  Features single(const Features& example, std::string_view signature = {}) const;

  /// The inputs in serialized tf.train.Examples, one a row, as ExportSignature::examples says.
  /// Error: names the example, the feature, what was expected and what is there.
  Features parse_examples(std::span<const std::string> serialized,
                          std::string_view signature = {}) const;
  /// The predictions for them.
  Features predict_examples(std::span<const std::string> serialized,
                            std::string_view signature = {}) const;

  using Types = std::vector<std::pair<std::string, saved::Type>>;  ///< by name
  std::vector<std::string> signatures() const;
  Types inputs(std::string_view signature = {}) const;
  Types outputs(std::string_view signature = {}) const;
  const ExampleInputs& examples(std::string_view signature = {}) const;  ///< as exported
  std::int64_t step() const;  ///< finished steps of the model's training
  /// The export's folder. Its assets are in <path>/assets.
  const std::string& path() const;

 private:
  struct Impl;
  explicit Predictor(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace belfry
