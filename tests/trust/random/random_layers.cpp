// Products and norms; recurrences, attention and losses of sequences.

#include <algorithm>
#include <array>
#include <cmath>

#include "belfry/framework/layers/layers.h"
#include "belfry/framework/layers/losses/losses.h"
#include "belfry/framework/layers/recurrent.h"
#include "belfry/framework/layers/scan.h"
#include "belfry/framework/layers/transformers.h"
#include "random_builder.h"

namespace belfry::random_models {
namespace {

Value pick_wide(Builder& model) {
  Value x = model.pick();
  return x.tensor.rank() < 2 ? model.pick(2) : x;
}

bool draw_dense(Builder& model) {
  Value x = pick_wide(model);
  std::int64_t in = x.tensor.size(-1), units = model.draw_size();
  if (!model.small(model.extent(x.tensor.shape()) / in * units)) return false;
  Scope s = model.next("dense");
  Tensor y = dense(s, x.tensor, {.units = units});
  model.shared.push_back({s, in, units});
  if (model.chance(0.5f)) y = relu(y);
  return model.add(y, 2 * x.size);
}

// The variables of an earlier layer once more.
bool draw_dense_again(Builder& model) {
  if (model.shared.empty()) return false;
  const SharedLayer& layer =
      model.shared[static_cast<std::size_t>(model.below(std::ssize(model.shared)))];
  Value x = model.pick();
  if (x.tensor.rank() < 2 || x.tensor.size(-1) != layer.in) {
    if (model.extent(x.tensor.shape()) % layer.in) return false;
    std::int64_t rows = model.rows_apart ? x.tensor.size(0) : 1;
    x.tensor = reshape(x.tensor, {rows, model.extent(x.tensor.shape()) / layer.in, layer.in});
  }
  if (!model.small(model.extent(x.tensor.shape()) / layer.in * layer.units)) return false;
  return model.add(dense(layer.scope.shared(), x.tensor, {.units = layer.units}), 2 * x.size);
}

bool draw_matmul(Builder& model) {
  Value a = model.pick(static_cast<int>(model.between(model.rows_apart ? 3 : 2, 4)));
  MatmulOptions options{.transpose_a = model.chance(0.4f), .transpose_b = model.chance(0.4f)};
  int rank = a.tensor.rank();
  std::int64_t m = a.tensor.size(options.transpose_a ? -1 : -2),
               k = a.tensor.size(options.transpose_a ? -2 : -1), n = model.draw_size();
  double size = a.size * std::sqrt(static_cast<double>(k));
  if (model.chance(0.5f)) {  // with itself, or what was made of it
    if (!model.small(model.extent(a.tensor.shape()) / k * m)) return false;
    options.transpose_b = !options.transpose_a;
    Tensor b = model.chance(0.5f) ? a.tensor : sigmoid(a.tensor);
    Tensor y = matmul(a.tensor, b, options);
    return model.add(model.chance(0.3f) ? model.biased(y) : y, size * a.size);
  }
  if (!model.small(model.extent(a.tensor.shape()) / k * n)) return false;
  std::vector<std::int64_t> sizes{k, n};
  if (options.transpose_b) std::swap(sizes[0], sizes[1]);
  if (rank == 4 && model.chance(0.3f)) sizes.insert(sizes.begin(), a.tensor.size(1));
  Variable b =
      model.variable(model.next("matmul"), "b", Shape(std::span<const std::int64_t>(sizes)));
  Tensor y = matmul(a.tensor, b, options);
  if (model.chance(0.5f)) y = model.biased(y);
  if (model.chance(0.4f)) y = relu(y);
  return model.add(y, size + 1);
}

bool draw_norm(Builder& model) {
  Value x = pick_wide(model);
  Scope s = model.next("norm");
  bool scale = model.chance(0.8f), center = model.chance(0.8f);
  switch (model.below(3)) {
    case 0:
      return model.add(layer_norm(s, x.tensor, {.scale = scale, .center = center}), 3);
    case 1:
      return model.add(group_norm(s, x.tensor,
                                  {.groups = static_cast<int>(model.divisor_of(x.tensor.size(-1))),
                                   .scale = scale,
                                   .center = center}),
                       3);
    default:
      return model.add(rms_norm(s, x.tensor), 3);
  }
}

// With what is fused: a residual, ReLU.
bool draw_batch_norm(Builder& model) {
  Value x = pick_wide(model);
  // The gradient of a batch of one is the rest of a subtraction, all of which is rounding.
  bool single = !model.rows_apart && x.tensor.shape().elements() == x.tensor.size(-1);
  bool training = model.batch_statistics && !single && model.chance(0.8f);
  Tensor y =
      batch_norm(model.next("batch_norm"), x.tensor,
                 {.training = training, .scale = model.chance(0.8f), .center = model.chance(0.8f)});
  if (model.chance(0.3f)) y = y + model.pick_beside(y).tensor;
  if (!model.small(model.extent(y.shape()))) return false;
  if (model.chance(0.6f)) y = relu(y);
  return model.add(y, 5);
}

bool draw_swiglu(Builder& model) {
  Value x = pick_wide(model);
  if (!model.small(model.extent(x.tensor.shape()) * 2)) return false;
  return model.add(swiglu(model.next("swiglu"), x.tensor, {.hidden = model.between(1, 8)}),
                   x.size * x.size);
}

// ---- sequences [n, t, c]

// A whole number from 0 to `most` for each row of x.
Tensor whole_of_rows(Builder& model, const Tensor& x, std::int64_t most) {
  Tensor from = model.whole[static_cast<std::size_t>(model.below(std::ssize(model.whole)))];
  if (model.rows_apart) {
    if (from.rank() > 1) from = max(flatten(from), {.axes = {1}});
  } else {
    Array rows(Shape{x.size(0)}, DType::i64);
    for (std::int64_t i = 0; i < rows.elements(); ++i)
      rows.span<std::int64_t>()[static_cast<std::size_t>(i)] = i % from.shape().elements();
    from = gather(reshape(from, {-1}), constant(model.scope, rows));
  }
  return clip(cast(from, model.chance(0.5f) ? DType::i64 : DType::i32), 0,
              static_cast<double>(most));
}

// The same; perhaps none.
Tensor lengths_for(Builder& model, const Tensor& x, std::int64_t most) {
  return model.chance(0.4f) ? Tensor() : whole_of_rows(model, x, most);
}

bool draw_recurrent(Builder& model) {
  Value x = model.pick(3);
  RecurrentLayerOptions options{.units = model.between(1, 9), .lengths = {}, .initial = {}};
  if (x.tensor.size(1) > 16 || !model.small(x.tensor.size(1) * 8 * options.units)) return false;
  options.layers = model.chance(0.2f) ? 2 : 1;
  options.bidirectional = model.chance(0.3f);
  options.use_bias = model.chance(0.7f);
  options.recurrent_bias = model.chance(0.3f);
  options.lengths = lengths_for(model, x.tensor, x.tensor.size(1));
  static constexpr std::array cells = {RecurrentCell::lstm, RecurrentCell::gru, RecurrentCell::tanh,
                                       RecurrentCell::relu};
  RecurrentCell cell = cells[static_cast<std::size_t>(model.below(cells.size()))];
  RecurrentResult out = recurrent_layers(model.next("recurrent"), x.tensor, cell, options);
  if (model.chance(0.3f)) model.add(out.last, 3);
  if (model.chance(0.3f)) model.add(out.states[0].h, 3);
  return model.add(out.y, cell == RecurrentCell::relu ? 8 : 1);
}

bool draw_scan(Builder& model) {
  Value x = model.pick(3);
  if (x.tensor.size(1) > 5 || !model.small(x.tensor.size(2) * x.tensor.size(1) * 4)) return false;
  ScanCell cell = [](const Scope& s, const Tensor& in, std::span<const Tensor> states) {
    Tensor h = tanh(dense(s, concat({in, states[0]}, -1), {.units = states[0].size(-1)}));
    return std::pair(h * 2, std::vector{cast(h, states[0].dtype())});
  };
  ScanResult out = scan(
      model.next("scan"), cell, x.tensor, {mean(x.tensor, {.axes = {1}})},
      {.reverse = model.chance(0.3f), .lengths = lengths_for(model, x.tensor, x.tensor.size(1))});
  return model.add(out.y, 2);
}

bool draw_attention(Builder& model) {
  Value x = model.pick(3);
  std::int64_t t = x.tensor.size(1), c = x.tensor.size(2);
  if (!model.small(t * t * 4) || !model.small(4 * t * c)) return false;
  Scope s = model.next("attention");
  bool training = model.chance(0.3f);
  if (model.chance(0.5f)) {
    std::int64_t heads = model.divisor_of(c);
    Tensor bias = model.chance(0.3f) ? alibi_bias(s, heads, t, t) : Tensor();
    if (bias.defined()) bias = cast(bias, x.tensor.dtype());
    Tensor lengths = lengths_for(model, x.tensor, t);
    Tensor mask = lengths.defined() ? padding_mask(lengths, t) : Tensor();
    return model.add(multi_head_attention(s, x.tensor, x.tensor, tanh(x.tensor),
                                          {.heads = heads,
                                           .use_bias = model.chance(0.7f),
                                           .mask = mask,
                                           .bias = bias,
                                           .dropout = training ? 0.25f : 0,
                                           .training = training}),
                     2 * x.size);
  }
  Tensor q = dense(s / "q", x.tensor, {.units = 4}), k = dense(s / "k", x.tensor, {.units = 4});
  return model.add(
      attention(s, q, k, x.tensor, {.dropout = training ? 0.25f : 0, .training = training}),
      x.size);
}

bool draw_dot_product_attention(Builder& model) {
  Value x = model.pick(4);
  Tensor q = x.tensor;  // [n, t, heads, d]
  std::int64_t t = q.size(1), heads = q.size(2), d = q.size(3);
  if (!model.small(t * t * heads) || !model.small(t * heads * d * 3)) return false;
  std::int64_t kv_heads = model.divisor_of(heads);
  Tensor few = slice(q, {.begin = {0, 0, 0, 0}, .size = {-1, -1, kv_heads, -1}});
  if (d % 2 == 0 && model.chance(0.5f))
    q = rotary(q, {.first = model.below(5), .interleaved = model.chance(0.5f)});
  Tensor flat = reshape(x.tensor, {q.size(0), t, heads * d});
  bool training = model.chance(0.3f);
  return model.add(
      scaled_dot_product_attention(model.next("dot"), q, few, tanh(few),
                                   {.causal = model.chance(0.4f),
                                    .window = model.chance(0.3f) ? model.between(1, 4) : 0,
                                    .lengths = lengths_for(model, flat, t),
                                    .dropout = training ? 0.25f : 0,
                                    .training = training}),
      x.size);
}

bool draw_loss(Builder& model) {
  Value x = model.pick(2);
  std::int64_t k = x.tensor.size(1);
  Tensor flat = reshape(x.tensor, {x.tensor.size(0), 1, k});
  Tensor labels = lengths_for(model, flat, k - 1);
  if (!labels.defined()) return false;
  float smoothing = model.chance(0.3f) ? 0.125f : 0;
  switch (model.below(4)) {
    case 0:
      return model.add(
          cast(sparse_softmax_cross_entropy(x.tensor, labels, {.label_smoothing = smoothing}),
               model.floating),
          x.size + 3);
    case 1:
      return model.add(sigmoid_cross_entropy(x.tensor, sigmoid(x.tensor * 2)), x.size + 1);
    case 2:
      return model.add(huber(x.tensor, tanh(x.tensor), {.delta = 0.5}), x.size);
    default:
      return model.add(dice_loss(x.tensor, sigmoid(x.tensor)), 1);
  }
}

// ---- sequences of labels

// So many labels for each row of x: numbers from `first` on, `count` of them.
Tensor labels_for(Builder& model, const Tensor& x, std::int64_t length, std::int64_t first,
                  std::int64_t count) {
  std::vector<Tensor> places;
  for (std::int64_t i = 0; i < length; ++i)
    places.push_back(cast(whole_of_rows(model, x, count - 1), DType::i64) + first);
  return stack(places, 1);
}

bool draw_ctc_loss(Builder& model) {
  Value x = model.pick(3);
  std::int64_t frames = x.tensor.size(1), classes = x.tensor.size(2);
  if (classes < 2 || frames > 16) return false;
  bool blank_is_last = model.chance(0.4f), unfitting = model.chance(0.3f);
  // So many labels fit whatever they are: with a blank between each two.
  std::int64_t most = unfitting ? frames + 1 : (frames + 1) / 2,
               length = std::min<std::int64_t>(most, model.between(1, 4));
  Tensor labels = labels_for(model, x.tensor, length, blank_is_last ? 0 : 1, classes - 1);
  Tensor logit_lengths = whole_of_rows(model, x.tensor, frames);
  if (!unfitting) logit_lengths = logit_lengths * 0 + frames;
  Tensor loss = ctc_loss(x.tensor, labels, logit_lengths, whole_of_rows(model, x.tensor, length),
                         {.blank = blank_is_last ? -1 : 0, .zero_infinity = unfitting});
  return model.add(cast(loss, model.floating), static_cast<double>(frames) * (2 * x.size + 3));
}

// The frames are those of an input: the class with the largest number jumps.
bool draw_edit_distance(Builder& model) {
  Tensor x = model.exact[static_cast<std::size_t>(model.below(std::ssize(model.exact)))].tensor;
  std::int64_t rows = model.rows_apart ? x.size(0) : 1, extent = model.extent(x.shape()),
               frames = model.divisor_of(extent), classes = extent / frames;
  x = reshape(x, {rows, frames, classes});
  Sequences read = ctc_greedy_decode(x, whole_of_rows(model, x, frames),
                                     {.blank = model.chance(0.5f) ? -1 : model.below(classes)});
  std::int64_t length = model.between(1, 6);
  Sequences truth{labels_for(model, x, length, 0, classes), whole_of_rows(model, x, length)};
  bool words = model.chance(0.4f);
  EditDistance apart =
      edit_distance(truth, read, {.words = words, .separator = words ? model.below(classes) : -1});
  return model.add_whole(read.labels) && model.add_whole(apart.distance + read.lengths)
         && model.add_whole(apart.length);
}

constexpr std::array<Draw, 10> layers = {
    draw_dense,      draw_dense,      draw_dense_again, draw_matmul, draw_matmul,
    draw_batch_norm, draw_batch_norm, draw_norm,        draw_swiglu, draw_loss};
constexpr std::array<Draw, 8> sequences = {draw_recurrent,
                                           draw_recurrent,
                                           draw_scan,
                                           draw_attention,
                                           draw_dot_product_attention,
                                           draw_dot_product_attention,
                                           draw_ctc_loss,
                                           draw_edit_distance};

}  // namespace

std::span<const Draw> layer_draws() { return layers; }
std::span<const Draw> sequence_draws() { return sequences; }

}  // namespace belfry::random_models
