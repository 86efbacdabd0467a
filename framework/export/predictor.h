#pragma once
// An export as a function: no model code, no estimator. Its inputs may come as serialized
// tf.train.Examples.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/framework/base/fields.h"
#include "belfry/framework/tensor/array.h"
#include "belfry/framework/tensor/features.h"
#include "belfry/framework/tensor/shape.h"

namespace belfry::saved {

/// The sizes of a batch that an export leaves open.
struct BatchSize {
  std::int64_t rows = 1;   ///< n
  std::int64_t steps = 0;  ///< t, see ExportSignature::free_steps; 0 where there are none

  bool operator==(const BatchSize&) const = default;  ///< equal n and t
};

/// A whole number that is known but for the size of the batch:
/// fixed + per_row * n + per_step * t + per_row_and_step * n * t. Factors may be negative.
struct Extent {
  std::int64_t fixed = 0;             ///< at n = 0 and t = 0
  std::int64_t per_row = 0;           ///< more for each row, at t = 0
  std::int64_t per_step = 0;          ///< more for each step, at n = 0
  std::int64_t per_row_and_step = 0;  ///< more for each step of each row, beside these

  bool follows_batch() const { return *this != Extent{fixed}; }  ///< depends on n or t
  std::int64_t at(const BatchSize& size) const;                  ///< Error: beyond 64 bits
  bool operator==(const Extent&) const = default;                ///< equal for every n and t
};

inline constexpr Extent rows_of_batch{.per_row = 1};    ///< n
inline constexpr Extent steps_of_batch{.per_step = 1};  ///< t

std::string to_string(const Extent& extent);  ///< "28", "n", "49*n", "2*n+1", "n*t-1*t+5"
/// Inverse of to_string; Error if it is none.
Extent extent_from_string(std::string_view text);

/// The type of a tensor whose sizes may follow the batch.
struct Type {
  std::vector<Extent> sizes;  ///< one for each axis
  DType dtype = DType::f32;   ///< type of the elements

  TensorType at(const BatchSize& size) const;    ///< Error: a negative size, more than 8 axes
  bool follows_batch() const;                    ///< whether a size does
  bool operator==(const Type&) const = default;  ///< equal for every n and t
};

std::string to_string(const Type& type);  ///< "f32[n, 28, 28, 1]"
/// Inverse of to_string; Error if it is none.
Type type_from_string(std::string_view text);

}  // namespace belfry::saved

namespace belfry {

/// How a tf.train.Example holds a feature: as a list of floats or integers, as one string with a
/// byte for each element, or as one string that is an image file (PNG, JPEG, ...).
enum class StoredAs : std::uint8_t { floats, integers, bytes, image };

constexpr auto names_of(StoredAs) { return name_list("floats", "integers", "bytes", "image"); }

/// How an input of a signature is read from a tf.train.Example. The feature must have as many
/// values as one example of the input, like a FixedLenFeature of TensorFlow's; an image must have
/// the input's height, width and channels.
struct ExampleInput {
  std::string feature = {};  ///< its name there; empty: the input's
  /// None: as floats for a floating input, as bytes for u8, as integers for all others.
  std::optional<StoredAs> stored = {};
  /// The value of bytes and images that becomes 1 in a floating input, which is x / unit, as by
  /// data::to_float(). Numbers that an input of integers cannot hold are an Error.
  double unit = 255;
  /// Each value, as it is stored, where an Example lacks the feature; none: that is an Error.
  std::optional<double> default_value = {};
};

/// By input; one that is not there is read as ExampleInput{} says.
using ExampleInputs = std::map<std::string, ExampleInput, std::less<>>;

/// Gives u8 [h, w, channels] for the bytes of an image file. data::decode_image() is one:
///
///   [](auto bytes, int channels) { return data::decode_image(bytes, {.channels = channels}); }
using DecodeImage = std::function<Array(std::span<const std::byte> bytes, int channels)>;

/// Options of Predictor::load().
struct PredictorOptions {
  std::string device = "cpu";       ///< "cpu", "cuda:1"
  int threads = 0;                  ///< host threads of one call at most; 0: one per core
  bool tf32 = true;                 ///< see RunConfig::tf32
  bool exact_convolutions = false;  ///< see RunConfig::exact_convolutions
  /// Calls that compute at the same time; further ones wait. Each of these has memory of its own
  /// for what it computes; they share the weights.
  int parallel = 1;
  /// Plans that are kept for each of these: one for each signature, number of rows and of steps;
  /// the least recently used goes.
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
  /// Error: no such signature, a missing input, one of another type than the signature's, more
  /// steps than most_steps().
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
  std::vector<std::string> signatures() const;                     ///< names, sorted
  /// The tensors that a call takes and gives. `signature` and Error as for the call.
  ///@{
  Types inputs(std::string_view signature = {}) const;
  Types outputs(std::string_view signature = {}) const;
  ///@}
  /// The largest t of a batch, see ExportSignature::free_steps; 0: no size is t.
  std::int64_t most_steps(std::string_view signature = {}) const;
  const ExampleInputs& examples(std::string_view signature = {}) const;  ///< as exported
  /// ExportSignature::preparation, for data::augmentation_from_json(); empty: none. Raw examples
  /// are prepared bit for bit as those of the training were:
  ///
  ///   data::Augmentation prepare = data::augmentation_from_json(classify.preparation());
  ///   Features out = classify.single(prepare.apply({{"image", data::decode_image(bytes)}}));
  const std::string& preparation(std::string_view signature = {}) const;
  std::int64_t step() const;  ///< finished steps of the model's training
  /// The export's folder. Its assets are in PATH/assets.
  const std::string& path() const;

 private:
  struct Impl;
  explicit Predictor(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace belfry
