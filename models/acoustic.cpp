#include "belfry/models/acoustic.h"

#include <algorithm>

#include "belfry/framework/base/option_checks.h"
#include "belfry/framework/ops/check_range.h"

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
                 {.training = training, .momentum = o.batch_norm_momentum, .epsilon = 1e-5});
  y = relu(y);
  if (stride == 1 && y.size(-1) == x.size(-1)) y = y + x;
  y = dropout(s / "drop", y, {.rate = o.dropout, .training = training});
  return {y, (in.lengths + static_cast<double>(stride - 1)) / static_cast<double>(stride)};
}

// Lengths [n] of the rows of x, a feature, as i64. They are checked to lie between `lowest`, f64 or
// undefined for 0, and the size of axis 1 of x.
Tensor checked_lengths(const std::string& feature, const Tensor& x, Tensor lengths,
                       Tensor lowest = {}, std::string_view more = "") {
  require(lengths.shape() == Shape{x.size(0)}, "acoustic: the feature `", feature,
          "_length` must be [", x.size(0), "], a number for each row, got ", lengths.type());
  if (!lowest.defined()) lowest = constant(x.graph(), 0, DType::f64);
  Tensor highest = constant(x.graph(), static_cast<double>(x.size(1)), DType::f64);
  return check_range(
      cast(lengths, DType::i64), lowest, highest,
      {.what = concat("acoustic: the feature `", feature, "_length`"),
       .remedy = concat("`", feature, "` is ", x.type(),
                        ", and padded_batch() adds its lengths by the option .lengths", more)});
}

Sequences truth_of(const AcousticOptions& o, const Batch& batch) {
  Tensor labels = batch[o.label];
  require(labels.rank() == 2, "acoustic: the feature `", o.label, "` must be [n, l], got ",
          labels.type());
  return {labels, checked_lengths(o.label, labels, batch[o.label + "_length"])};
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
  Tensor needed = (cast(count, DType::f64) - 1) * static_cast<double>(frames_for_one(o)) + 1;
  return maximum(needed, constant(needed.graph(), 0, DType::f64));
}

// The audio, whose rows must have frames enough for the truth, if there is one.
Frames checked(const AcousticOptions& o, const Frames& in, const Sequences& truth) {
  require(in.x.rank() == 3 && in.x.size(1) > 0, "acoustic: the feature `", o.audio,
          "` must be [n, t, bands] with at least one frame, got ", in.x.type());
  if (!truth.labels.defined() || o.zero_infinity)
    return {in.x, checked_lengths(o.audio, in.x, in.lengths)};
  std::string needs =
      concat("; a frame of logits is ", frames_for_one(o),
             " of these, and a row needs one for each label in `", o.label,
             "` and one more between equal neighbours: leave such rows out, or set zero_infinity");
  return {in.x, checked_lengths(o.audio, in.x, in.lengths, frames_needed(o, truth), needs)};
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
  require_rate("acoustic", "dropout", o.dropout);
  require_share("acoustic", "batch_norm_momentum", o.batch_norm_momentum);
  require_at_least(-1, "acoustic", "separator", o.separator);
}

EstimatorSpec spec_of(const Scope& s, const AcousticOptions& o, const Batch& batch, Mode mode) {
  Frames in{batch[o.audio], batch[o.audio + "_length"]};
  Sequences truth = mode == Mode::predict ? Sequences{} : truth_of(o, batch);
  Frames f = logits_of(s, o, checked(o, in, truth), mode == Mode::train);
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
