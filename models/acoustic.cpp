#include "belfry/models/acoustic.h"

#include <algorithm>

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

Frames logits_of(const Scope& s, const AcousticOptions& o, const Batch& batch, bool training) {
  Frames f{batch[o.audio], cast(batch[o.audio + "_length"], DType::i64)};
  require(f.x.rank() == 3 && f.x.size(1) > 0, "acoustic: the feature `", o.audio,
          "` must be [n, t, bands] with at least one frame, got ", f.x.type());
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
}

EstimatorSpec spec_of(const Scope& s, const AcousticOptions& o, const Batch& batch, Mode mode) {
  Frames f = logits_of(s, o, batch, mode == Mode::train);
  Sequences decoded = ctc_greedy_decode(f.x, f.lengths);
  if (mode == Mode::predict)
    return {.predictions = {{"logits", f.x},
                            {"logits_length", f.lengths},
                            {"decoded", decoded.labels},
                            {"decoded_length", decoded.lengths}}};
  Sequences truth{batch[o.label], batch[o.label + "_length"]};
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
