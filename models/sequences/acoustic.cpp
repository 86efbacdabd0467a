#include "belfry/models/sequences/acoustic.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "belfry/framework/base/option_checks.h"
#include "belfry/models/feature_checks.h"

namespace belfry::models {
namespace {

/// Frames with the number that counts in each row.
struct Frames {
  Tensor x;        // [n, t, channels]
  Tensor lengths;  // i64 [n]
};

Tensor without_padding(const Frames& f) {
  Tensor counts = reshape(padding_mask(f.lengths, f.x.size(1)), {f.x.size(0), f.x.size(1), 1});
  return where(counts, f.x, constant(f.x.graph(), 0, f.x.dtype()));
}

Frames convolve(const Scope& s, const AcousticOptions& o, const Frames& in, std::int64_t filters,
                std::int64_t stride, bool training) {
  Tensor x = without_padding(in);
  Tensor y = conv1d(s / "conv", x,
                    {.filters = filters,
                     .kernel = o.kernel,
                     .stride = stride,
                     .padding = Padding::explicit_amounts(o.kernel / 2, o.kernel / 2),
                     .use_bias = false,
                     .kernel_initializer = he_normal()});
  y = batch_norm(s / "norm", y,
                 {.training = training,
                  .momentum = o.batch_norm_momentum,
                  .epsilon = 1e-5,
                  .sync = o.sync_batch_norm});
  y = relu(y);
  if (stride == 1 && y.size(-1) == x.size(-1)) y = y + x;
  y = dropout(s / "drop", y, {.rate = o.dropout, .training = training});
  return {y, (in.lengths + (stride - 1)) / stride};
}

// The lengths of the rows of a feature, i64 [n].
Tensor lengths_of(const Scope& s, const Batch& batch, const std::string& feature) {
  Tensor lengths = checked_lengths(
      s, batch, {.model = "acoustic", .lengths = feature + "_length", .of = feature});
  return cast(lengths, DType::i64);
}

Sequences truth_of(const Scope& s, const AcousticOptions& o, const Batch& batch) {
  Tensor labels = batch[o.label];
  require(labels.rank() == 2, "acoustic: the feature `", o.label, "` must be [n, l], got ",
          labels.type());
  return {labels, lengths_of(s, batch, o.label)};
}

std::int64_t frames_for_one(const AcousticOptions& o) {
  std::int64_t product = 1;
  for (std::int64_t stride : o.strides) product *= stride;
  return product;
}

// The fewest input frames for each row's labels, f64 [n]. Labels need a frame of logits each, and
// one more between equal neighbours; ceil(ceil(k / a) / b) is ceil(k / (a b)).
Tensor frames_needed(const AcousticOptions& o, const Sequences& truth) {
  std::int64_t pairs = truth.labels.size(1) - 1;
  Tensor count = truth.lengths;
  if (pairs > 0) {
    Tensor second = slice(truth.labels, {.begin = {0, 1}, .size = {-1, pairs}});
    Tensor first = slice(truth.labels, {.begin = {0, 0}, .size = {-1, pairs}});
    Tensor both_count = reshape(padding_mask(truth.lengths - 1, pairs), first.shape());
    Tensor repeats = logical_and(equal(first, second), both_count);
    count = count + sum(cast(repeats, DType::i64), {.axes = {1}});
  }
  Tensor needed = (cast(count, DType::f64) - 1) * frames_for_one(o) + 1;
  return maximum(needed, constant(needed.graph(), 0, DType::f64));
}

Frames audio_of(const Scope& s, const AcousticOptions& o, const Batch& batch) {
  Tensor x = batch[o.audio];
  require(x.rank() == 3 && x.size(1) > 0, "acoustic: the feature `", o.audio,
          "` must be [n, t, bands] with at least one frame, got ", x.type());
  return {x, lengths_of(s, batch, o.audio)};
}

// The lengths of the audio, whose rows must have frames enough for the truth.
Tensor long_enough(const AcousticOptions& o, Tensor lengths, const Sequences& truth) {
  Graph& graph = lengths.graph();
  Graph::PlacementGuard guard(graph, graph.default_placement(std::array{lengths}));
  Tensor any = constant(graph, std::numeric_limits<double>::infinity(), DType::f64);
  return check_range(
      lengths, frames_needed(o, truth), any,
      {.what = concat("acoustic: the feature `", o.audio, "_length`"),
       .remedy = concat("a frame of logits is ", frames_for_one(o),
                        " of these, and a row needs one for each label in `", o.label,
                        "` and one more between equal neighbours: leave such rows out, or set "
                        "zero_infinity")});
}

// The audio and, not in predict mode, its labels.
std::pair<Frames, Sequences> checked(const Scope& s, const AcousticOptions& o, const Batch& batch,
                                     Mode mode) {
  Frames in = audio_of(s, o, batch);
  if (mode == Mode::predict) return {in, {}};
  Sequences truth = truth_of(s, o, batch);
  if (!o.zero_infinity) in.lengths = long_enough(o, in.lengths, truth);
  return {in, truth};
}

Frames logits_of(const Scope& s, const AcousticOptions& o, Frames f, bool training) {
  for (std::size_t i = 0; i < o.filters.size(); ++i)
    f = convolve(s / concat("layer", i + 1), o, f, o.filters[i],
                 i < o.strides.size() ? o.strides[i] : 1, training);
  return {dense(s / "head", f.x, {.units = o.labels + 1}), f.lengths};
}

void check(const AcousticOptions& o) {
  auto positive = [](std::int64_t n) { return n >= 1; };
  require(o.labels >= 1 && o.kernel >= 1 && o.kernel % 2 == 1, "acoustic: ", o.labels,
          " labels and a kernel of ", o.kernel, "; expected at least 1, and an odd number");
  require(std::all_of(o.filters.begin(), o.filters.end(), positive)
              && std::all_of(o.strides.begin(), o.strides.end(), positive)
              && o.strides.size() <= o.filters.size(),
          "acoustic: filters ", join(o.filters, ", "), " and strides ", join(o.strides, ", "),
          "; expected numbers of at least 1, and no more strides than filters");
  std::int64_t frames = std::int64_t{1} << 31;
  for (std::int64_t stride : o.strides) frames /= stride;
  require(frames > 0, "acoustic: strides ", join(o.strides, ", "),
          "; their product must be at most 2^31");
  require_rate("acoustic", "dropout", o.dropout);
  require_fraction("acoustic", "batch_norm_momentum", o.batch_norm_momentum);
  require_at_least(-1, "acoustic", "separator", o.separator);
}

EstimatorSpec spec_of(const Scope& s, const AcousticOptions& o, const Batch& batch, Mode mode) {
  auto [in, truth] = checked(s, o, batch, mode);
  Frames f = logits_of(s, o, in, mode == Mode::train);
  Sequences decoded = ctc_greedy_decode(f.x, f.lengths);
  if (mode == Mode::predict)
    return {.predictions = {{"logits", f.x},
                            {"logits_length", f.lengths},
                            {"decoded", decoded.labels},
                            {"decoded_length", decoded.lengths}}};
  return {.loss = mean(
              ctc(f.x, truth.labels, f.lengths, truth.lengths, {.zero_infinity = o.zero_infinity})),
          .train = o.optimizer,
          .metrics = {
              {"character_error_rate", character_error_rate(truth, decoded)},
              {"word_error_rate", word_error_rate(truth, decoded, {.separator = o.separator})}}};
}

}  // namespace

ModelFn acoustic(AcousticOptions o) {
  check(o);
  return [o = std::move(o)](Scope s, const Batch& batch, Mode mode) {
    return spec_of(s, o, batch, mode);
  };
}

}  // namespace belfry::models
