#include "belfry/models/heads.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>

#include "belfry/framework/base/option_checks.h"
#include "belfry/models/feature_checks.h"

namespace belfry::models {
namespace {

// Losses of logits in less than f32 would be compared with labels that have lost digits.
DType loss_type(const Tensor& logits) {
  return logits.dtype() == DType::f64 ? DType::f64 : DType::f32;
}

Shape without_last(const Shape& shape) { return Shape(shape.sizes().first(shape.rank() - 1)); }
Shape rows(const Tensor& x) { return Shape{x.size(0)}; }
Tensor drop_last(Tensor x) { return reshape(x, without_last(x.shape())); }

// A feature of the shape that goes with the logits. One more axis, of size 1, goes.
Tensor feature(std::string_view head, const Batch& batch, const std::string& name,
               const Shape& wanted) {
  Tensor x = batch[name];
  if (x.rank() == wanted.rank() + 1 && x.size(-1) == 1) x = drop_last(x);
  require(x.shape() == wanted, head, ": feature `", name, "` is ", x.type(),
          " but the logits go with ", wanted);
  return x;
}

// The weights of losses of this shape: as many of its leading axes as the feature has. One more
// axis, of size 1, goes.
Tensor weights(std::string_view head, const Batch& batch, const std::string& name,
               const Shape& losses) {
  if (name.empty()) return Tensor();
  Tensor x = batch[name];
  auto fits = [&] {
    auto sizes = x.shape().sizes();
    return x.rank() <= losses.rank()
           && std::ranges::equal(sizes, losses.sizes().first(sizes.size()));
  };
  if (!fits() && x.rank() > 1 && x.size(-1) == 1) x = drop_last(x);
  require(fits(), head, ": the weights `", name, "` are ", batch[name].type(),
          " but the losses are ", losses);
  return x;
}

// The labels, each from 0 to `highest`, as the type of the logits.
Tensor labels(std::string_view head, const Batch& batch, const std::string& name,
              const Tensor& logits, double highest, std::string_view remedy) {
  Tensor x = feature(head, batch, name, logits.shape());
  x = checked_beside(
      logits, name, x, 0, highest,
      {.what = concat(head, ": the label `", name, "`"), .remedy = std::string(remedy)});
  return cast(x, logits.dtype());
}

constexpr std::string_view zero_to_one = "labels are 0 or 1, or floating numbers between them";

void check_reduction(std::string_view head, Reduction reduction) {
  require(reduction != Reduction::none, head,
          ": a loss is one number; the reduction `none` leaves as many as there are rows");
}

// The part of a spec that all heads have.
EstimatorSpec spec_of(Mode mode, Tensor losses, Tensor weights, Reduction reduction) {
  EstimatorSpec spec{.loss = reduce_loss(losses, reduction, weights)};
  if (reduction == Reduction::sum) spec.loss_over_towers = TowerReduction::sum;
  if (mode == Mode::evaluate)
    spec.metrics.emplace_back("average_loss", mean_metric(losses, weights));
  return spec;
}

void append(NamedMetrics& to, const NamedMetrics& more) {
  to.insert(to.end(), more.begin(), more.end());
}

NamedMetrics means(Tensor label, Tensor prediction, Tensor weights) {
  return {{"label/mean", mean_metric(label, weights)},
          {"prediction/mean", mean_metric(prediction, weights)}};
}

// How often a constant answer would be right.
Metric accuracy_baseline(Tensor truth, Tensor weights) {
  Metric fraction = mean_metric(truth, weights);
  return {.state = fraction.state, .value = [mean = fraction.value](std::span<const double> state) {
            double positive = mean(state).item();
            return Array::scalar(std::max(positive, 1 - positive));
          }};
}

void check_thresholds(std::string_view head, const std::vector<double>& thresholds) {
  std::set<double> known;
  for (double t : thresholds) {
    require_fraction(head, "thresholds", t);
    require(known.insert(t).second, head, ": the threshold ", t, " is there twice");
  }
}

NamedMetrics metrics_of_threshold(Tensor truth, Tensor probability, const BinaryMetricOptions& o,
                                  std::string_view suffix) {
  return {{concat("accuracy", suffix), binary_accuracy(truth, probability, o)},
          {concat("precision", suffix), precision(truth, probability, o)},
          {concat("recall", suffix), recall(truth, probability, o)}};
}

// Options is that of a head with two answers.
template <class Options>
NamedMetrics binary_metrics(Tensor truth, Tensor probability, Tensor weights, const Options& o) {
  NamedMetrics all = metrics_of_threshold(truth, probability, {o.threshold, weights}, "");
  Metric roc = auc(truth, probability, {.weights = weights});
  Metric pr = auc_pr(truth, probability, {.weights = weights});
  pr.state = roc.state;  // the same counts, made once
  all.insert(all.end(), {{"auc", roc}, {"auc_pr", pr}});
  for (double t : o.thresholds)
    append(all, metrics_of_threshold(truth, probability, {t, weights},
                                     concat("/positive_threshold_", t)));
  return all;
}

// As EvalResult has "loss": batches weigh as much as they have rows, and so do the towers' parts of
// a mean; those of a sum weigh as much as the batch.
Metric loss_metric(const EstimatorSpec& spec, std::int64_t rows) {
  Graph& graph = spec.loss.graph();
  Tensor own = constant(graph, rows, DType::f64), weight = own;
  if (spec.loss_over_towers == TowerReduction::sum) weight = own / tower_weight(graph);
  Tensor loss = cast(reshape(spec.loss, {}), DType::f64);
  Tensor total = rows > 0 ? loss * weight : constant(graph, 0, DType::f64);  // of none: perhaps NaN
  return {.state = stack({total, own}), .value = [](std::span<const double> state) {
            return Array::scalar(state[1] == 0 ? 0 : state[0] / state[1]);
          }};
}

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor is_above(Tensor x, double threshold) {
  return greater(x, constant(x.graph(), threshold, x.dtype()));
}

}  // namespace

EstimatorSpec Head::operator()(Tensor logits, const Batch& batch, Mode mode, Updates train) const {
  require_set("head", *this);
  require(is_floating(logits.dtype()) && logits.rank() >= 2 && logits.size(-1) == units,
          "head: the logits are ", logits.type(), " but should be floating [n, ..., ", units, "]");
  EstimatorSpec spec = build(cast(logits, loss_type(logits)), batch, mode);
  spec.train = std::move(train);
  return spec;
}

void require_set(std::string_view function, const Head& head) {
  require(head.build && head.units > 0, function,
          ": there is no head; make it with binary_head() or its like");
}

Head binary_head(BinaryHeadOptions o) {
  require_fraction("binary_head", "label_smoothing", o.label_smoothing);
  require_fraction("binary_head", "threshold", o.threshold);
  check_thresholds("binary_head", o.thresholds);
  check_reduction("binary_head", o.reduction);
  auto build = [o](Tensor logits, const Batch& batch, Mode mode) -> EstimatorSpec {
    Tensor logit = drop_last(logits);
    Tensor probability = sigmoid(logit);
    if (mode == Mode::predict)
      return {.predictions = {{"probability", probability},
                              {"class", cast(is_above(probability, o.threshold), DType::i64)}}};
    Tensor label = labels("binary_head", batch, o.label, logit, 1, zero_to_one);
    Tensor w = weights("binary_head", batch, o.weight, rows(logits));
    Tensor losses = sigmoid_cross_entropy(logit, label, {.label_smoothing = o.label_smoothing});
    EstimatorSpec spec = spec_of(mode, losses, w, o.reduction);
    if (mode == Mode::train) return spec;
    Tensor truth = is_above(label, 0.5);
    append(spec.metrics, binary_metrics(truth, probability, w, o));
    append(spec.metrics, means(label, probability, w));
    spec.metrics.emplace_back("accuracy_baseline", accuracy_baseline(truth, w));
    return spec;
  };
  return {.units = 1, .build = build};
}

Head multi_class_head(MultiClassHeadOptions o) {
  require(o.classes >= 2, "multi_class_head: classes must be at least 2, got ", o.classes);
  require_fraction("multi_class_head", "label_smoothing", o.label_smoothing);
  require(o.class_weights.empty() || std::ssize(o.class_weights) == o.classes,
          "multi_class_head: there are ", o.class_weights.size(), " class_weights for ", o.classes,
          " classes");
  check_reduction("multi_class_head", o.reduction);
  auto build = [o](Tensor logits, const Batch& batch, Mode mode) -> EstimatorSpec {
    Tensor guess = argmax(logits, -1);
    if (mode == Mode::predict)
      return {.predictions = {{"class", guess}, {"probabilities", softmax(logits)}}};
    Tensor label = feature("multi_class_head", batch, o.label, guess.shape());
    Tensor w = weights("multi_class_head", batch, o.weight, guess.shape());
    Tensor losses =
        sparse_softmax_cross_entropy(logits, label, {.label_smoothing = o.label_smoothing});
    Tensor of_loss = w;
    if (!o.class_weights.empty()) {
      Tensor by_class = cast(class_weights(label, o.class_weights), losses.dtype());
      of_loss = w.defined() ? reduce_loss(by_class, Reduction::none, w) : by_class;
    }
    EstimatorSpec spec = spec_of(mode, losses, of_loss, o.reduction);
    if (mode == Mode::evaluate) spec.metrics.emplace_back("accuracy", accuracy(label, guess, w));
    return spec;
  };
  return {.units = o.classes, .build = build};
}

Head multi_label_head(MultiLabelHeadOptions o) {
  require(o.classes >= 1, "multi_label_head: classes must be at least 1, got ", o.classes);
  require_fraction("multi_label_head", "label_smoothing", o.label_smoothing);
  require_fraction("multi_label_head", "threshold", o.threshold);
  check_thresholds("multi_label_head", o.thresholds);
  check_reduction("multi_label_head", o.reduction);
  auto build = [o](Tensor logits, const Batch& batch, Mode mode) -> EstimatorSpec {
    Tensor probabilities = sigmoid(logits);
    if (mode == Mode::predict)
      return {.predictions = {{"classes", is_above(probabilities, o.threshold)},
                              {"probabilities", probabilities}}};
    Tensor label = labels("multi_label_head", batch, o.label, logits, 1, zero_to_one);
    Tensor w = weights("multi_label_head", batch, o.weight, rows(logits));
    Tensor losses = sigmoid_cross_entropy(logits, label, {.label_smoothing = o.label_smoothing});
    EstimatorSpec spec = spec_of(mode, losses, w, o.reduction);
    if (mode == Mode::evaluate)
      append(spec.metrics, binary_metrics(is_above(label, 0.5), probabilities, w, o));
    return spec;
  };
  return {.units = o.classes, .build = build};
}

Head regression_head(RegressionHeadOptions o) {
  require(o.units >= 1, "regression_head: units must be at least 1, got ", o.units);
  check_reduction("regression_head", o.reduction);
  auto build = [o](Tensor logits, const Batch& batch, Mode mode) -> EstimatorSpec {
    Tensor value = o.units == 1 ? drop_last(logits) : logits;
    if (mode == Mode::predict) return {.predictions = {{"value", value}}};
    Tensor label = cast(feature("regression_head", batch, o.label, value.shape()), value.dtype());
    Tensor w = weights("regression_head", batch, o.weight, rows(logits));
    EstimatorSpec spec = spec_of(mode, mean_squared_error(value, label), w, o.reduction);
    if (mode == Mode::evaluate) append(spec.metrics, means(label, value, w));
    return spec;
  };
  return {.units = o.units, .build = build};
}

Head poisson_head(PoissonHeadOptions o) {
  check_reduction("poisson_head", o.reduction);
  auto build = [o](Tensor logits, const Batch& batch, Mode mode) -> EstimatorSpec {
    Tensor log_rate = drop_last(logits), rate = exp(log_rate);
    if (mode == Mode::predict) return {.predictions = {{"mean", rate}}};
    Tensor label = labels("poisson_head", batch, o.label, rate, infinity, "labels are counts");
    Tensor w = weights("poisson_head", batch, o.weight, rows(logits));
    EstimatorSpec spec = spec_of(mode, poisson_loss(log_rate, label), w, o.reduction);
    if (mode == Mode::evaluate) append(spec.metrics, means(label, rate, w));
    return spec;
  };
  return {.units = 1, .build = build};
}

Head multi_head(std::vector<NamedHead> heads) {
  require(!heads.empty(), "multi_head: there are no heads");
  std::vector<std::int64_t> sizes;
  std::set<std::string> names;
  for (const auto& [name, head, weight] : heads) {
    require(!name.empty() && names.insert(name).second, "multi_head: the name `", name,
            "` is empty or there twice");
    require(weight >= 0, "multi_head: the weight of `", name, "` is ", weight,
            "; it must be at least 0");
    require(head.units > 0, "multi_head: `", name,
            "` is no head; make it with binary_head() or its"
            " like");
    sizes.push_back(head.units);
  }
  auto build = [heads, sizes](Tensor logits, const Batch& batch, Mode mode) {
    std::vector<Tensor> parts = split(logits, sizes, -1);
    EstimatorSpec all;
    for (std::size_t i = 0; i < heads.size(); ++i) {
      const NamedHead& part = heads[i];
      EstimatorSpec one = with_context(concat("in head ", part.name),
                                       [&] { return part.head(parts[i], batch, mode); });
      for (const auto& [name, value] : one.predictions)
        all.predictions.emplace_back(concat(part.name, "/", name), value);
      for (const auto& [name, value] : one.metrics)
        all.metrics.emplace_back(concat(part.name, "/", name), value);
      if (mode == Mode::predict) continue;
      if (mode == Mode::evaluate)
        all.metrics.emplace_back(part.name + "/loss", loss_metric(one, batch.rows()));
      require(i == 0 || one.loss_over_towers == all.loss_over_towers, "multi_head: the losses of `",
              heads[0].name, "` and `", part.name,
              "` cannot be added, as one is a sum over rows and the other is not; choose the "
              "reduction of both so");
      all.loss = i == 0 ? one.loss * part.weight : all.loss + one.loss * part.weight;
      all.loss_over_towers = one.loss_over_towers;
    }
    return all;
  };
  std::int64_t units = 0;
  for (std::int64_t size : sizes) units += size;
  return {.units = units, .build = build};
}

}  // namespace belfry::models
