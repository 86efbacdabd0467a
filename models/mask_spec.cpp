#include "belfry/models/mask_spec.h"

#include <algorithm>
#include <numeric>

#include "belfry/framework/base/option_checks.h"
#include "belfry/models/feature_checks.h"

namespace belfry::models {
namespace {

Tensor is_above(Tensor x, double threshold) {
  return greater(x, constant(x.graph(), threshold, x.dtype()));
}

double quotient(double a, double b) { return b == 0 ? 0 : a / b; }

// Counts of one class, over a dataset: pixels set and marked, pixels set, pixels marked.
struct ClassCounts {
  ClassCounts(std::span<const double> state, std::size_t c)
      : both(state[c]), set(state[state.size() / 3 + c]), marked(state[state.size() / 3 * 2 + c]) {}
  double either() const { return set + marked - both; }
  double both, set, marked;
};

Array mean_iou_of(std::span<const double> state) {
  double sum = 0, classes = 0;
  for (std::size_t c = 0; c < state.size() / 3; ++c) {
    ClassCounts counts(state, c);
    if (counts.either() == 0) continue;
    sum += counts.both / counts.either();
    ++classes;
  }
  return Array::scalar(quotient(sum, classes));
}

// The metrics of classes, from bool [..., classes]. All have one state.
NamedMetrics class_metrics(Tensor set, Tensor marked) {
  std::vector<int> pixels(set.rank() - 1);
  std::iota(pixels.begin(), pixels.end(), 0);
  auto count = [&](Tensor x) { return sum(cast(x, DType::f64), {.axes = pixels}); };
  Tensor state = concat({count(logical_and(set, marked)), count(set), count(marked)}, 0);
  NamedMetrics all{{"mean_iou", {.state = state, .value = mean_iou_of}}};
  std::size_t classes = set.size(-1);
  for (std::size_t c = 0; c < classes && classes > 1; ++c) {
    auto dice = [c](std::span<const double> s) {
      ClassCounts counts(s, c);
      return Array::scalar(quotient(2 * counts.both, counts.set + counts.marked));
    };
    all.emplace_back(concat("dice/", c), Metric{.state = state, .value = dice});
  }
  return all;
}

EstimatorSpec independent(const Scope& s, Tensor logits, const Batch& batch, Mode mode,
                          const MaskOptions& o) {
  Tensor probability = sigmoid(logits), marked = is_above(probability, o.threshold);
  if (mode == Mode::predict)
    return {.predictions = {{"probability", probability}, {"mask", marked}}};
  Tensor mask = batch["mask"];
  at_scope(s.path(), [&] {
    bool of_classes = logits.size(-1) > 1 && !is_floating(mask.dtype())
                      && mask.shape().elements() * logits.size(-1) == logits.shape().elements();
    require(mask.shape() == logits.shape(), "mask_spec: the mask is ", mask.type(),
            " but its image needs ", logits.shape(),
            of_classes ? "; where it holds the class of each pixel set the option exclusive" : "");
    require(is_floating(mask.dtype()), "mask_spec: the mask must be of a floating type, got ",
            mask.type(), "; cast it first, for example by data::to_float()");
  });
  mask = checked_beside(logits, "mask", mask, 0, 1,
                        {.what = "mask_spec: the feature `mask`",
                         .remedy = "masks lie in [0, 1]; divide one of 0 and 255 by 255, for "
                                   "example by data::to_float()"});
  Tensor loss =
      mean(weighted_sigmoid_cross_entropy(logits, mask, {.positive_weight = o.positive_weight}));
  if (o.dice_weight != 0)
    loss = loss
           + mean(dice_loss(logits, mask, {.channels = MaskChannels::independent})) * o.dice_weight;
  if (mode == Mode::train) return {.loss = loss, .train = o.optimizer};
  Tensor set = is_above(mask, 0.5);
  NamedMetrics metrics = class_metrics(set, marked);
  metrics.emplace_back("dice", dice(set, probability, {.threshold = o.threshold}));
  metrics.emplace_back("background_dice",
                       dice(logical_not(set), 1 - probability, {.threshold = 1 - o.threshold}));
  return {.loss = loss, .metrics = std::move(metrics)};
}

// The class of each pixel, of the shape of the logits' leading axes.
Tensor classes_of(const Scope& s, const Batch& batch, const Tensor& logits) {
  Tensor mask = batch["mask"];
  Shape wanted(logits.shape().sizes().first(logits.rank() - 1));
  bool one_more = mask.rank() == logits.rank() && mask.size(-1) == 1;
  Tensor classes =
      one_more ? reshape(mask, Shape(mask.shape().sizes().first(mask.rank() - 1))) : mask;
  at_scope(s.path(), [&] {
    require(classes.shape() == wanted, "mask_spec: the mask is ", mask.type(),
            " but its image needs ", wanted, ", the class of each pixel");
    require(!is_floating(mask.dtype()) && mask.dtype() != DType::boolean,
            "mask_spec: the mask of exclusive classes must be of integers, got ", mask.type());
  });
  double highest = logits.size(-1) - 1;
  classes = checked_beside(logits, "mask", classes, 0, highest,
                           {.what = "mask_spec: the feature `mask`",
                            .remedy = concat("the option classes is ", logits.size(-1))});
  return cast(classes, DType::i64);
}

EstimatorSpec exclusive(const Scope& s, Tensor logits, const Batch& batch, Mode mode,
                        const MaskOptions& o) {
  Tensor marked = argmax(logits, -1);
  if (mode == Mode::predict)
    return {.predictions = {{"probability", softmax(logits)}, {"mask", marked}}};
  Tensor label = classes_of(s, batch, logits);
  Tensor losses = sparse_softmax_cross_entropy(logits, label);
  const std::vector<double>& w = o.positive_weight;
  if (w.size() == 1) {
    losses = losses * w[0];
  } else {
    Array of_classes = Array::of(std::span<const double>(w), Shape{std::ssize(w)});
    losses = losses * gather(constant(s.graph(), of_classes.cast(losses.dtype())), label);
  }
  Tensor loss = mean(losses);
  Tensor set = one_hot(label, {.depth = o.classes, .dtype = logits.dtype()});
  if (o.dice_weight != 0)
    loss =
        loss + mean(dice_loss(logits, set, {.channels = MaskChannels::exclusive})) * o.dice_weight;
  if (mode == Mode::train) return {.loss = loss, .train = o.optimizer};
  auto as_bool = [&](Tensor classes) {
    return cast(one_hot(classes, {.depth = o.classes, .dtype = DType::u8}), DType::boolean);
  };
  NamedMetrics metrics = class_metrics(as_bool(label), as_bool(marked));
  metrics.emplace_back("accuracy", accuracy(label, marked));
  return {.loss = loss, .metrics = std::move(metrics)};
}

}  // namespace

void check(std::string_view function, const MaskOptions& o) {
  require_at_least(o.exclusive ? 2 : 1, function, o.exclusive ? "classes (exclusive)" : "classes",
                   o.classes);
  require(o.positive_weight.size() == 1 || std::ssize(o.positive_weight) == o.classes, function,
          ": positive_weight has ", o.positive_weight.size(), " numbers for ", o.classes,
          " classes; give one for all or one for each");
  for (double w : o.positive_weight) require_not_negative(function, "positive_weight", w);
  require_not_negative(function, "dice_weight", o.dice_weight);
  require_fraction(function, "threshold", o.threshold);
}

EstimatorSpec mask_spec(const Scope& s, Tensor logits, const Batch& batch, Mode mode,
                        const MaskOptions& o) {
  return (o.exclusive ? exclusive : independent)(s, logits, batch, mode, o);
}

}  // namespace belfry::models
