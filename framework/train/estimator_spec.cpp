#include "belfry/framework/train/estimator_spec.h"

#include <algorithm>
#include <set>

#include "belfry/framework/ops/movement/shape_ops.h"

namespace belfry {
namespace {

void check_loss(const EstimatorSpec& spec, Mode mode) {
  require(spec.loss.defined(), "model_fn: no loss in ", mode, " mode; set EstimatorSpec::loss");
  require(
      spec.loss.shape().elements() == 1 && spec.loss.rank() <= 1 && is_floating(spec.loss.dtype()),
      "model_fn: the loss must be a floating scalar, got ", spec.loss.type(),
      "; reduce it, for example with mean()");
}

template <class Named>
void check_names(const Named& list, std::string_view field) {
  std::set<std::string_view> seen;
  for (const auto& [name, value] : list) {
    require(!name.empty(), "model_fn: a name in ", field, " is empty");
    require(seen.insert(name).second, "model_fn: the name `", name, "` is twice in ", field);
  }
}

void check_summary(const Summary& summary) {
  const Tensor& value = summary.value;
  auto expect = [&](bool fits, std::string_view what) {
    require(fits, "model_fn: summary `", summary.name, "` must be ", what, ", got ", value.type());
  };
  require(value.defined(), "model_fn: summary `", summary.name, "` is undefined");
  switch (summary.kind) {
    case SummaryKind::scalar:
      return expect(
          value.shape().elements() == 1 && value.rank() <= 1 && is_floating(value.dtype()),
          "a floating scalar");
    case SummaryKind::histogram:
      return;
    case SummaryKind::image: {
      std::int64_t channels = value.rank() == 4 ? value.size(3) : 0;
      bool colours = channels == 1 || channels == 3 || channels == 4;
      expect(colours && value.shape().elements() > 0
                 && (is_floating(value.dtype()) || value.dtype() == DType::u8),
             "an image [n, h, w, 1 | 3 | 4], floating or u8");
      require(summary.images >= 1, "model_fn: summary `", summary.name, "` shows ", summary.images,
              " images; it must be at least 1");
      return;
    }
    case SummaryKind::text:
      return expect(value.dtype() == DType::u8 && (value.rank() == 1 || value.rank() == 2),
                    "text, u8 [bytes] or [n, bytes]");
  }
}

void check_summaries(const std::vector<Summary>& summaries) {
  std::vector<std::pair<std::string_view, int>> names;
  for (const Summary& summary : summaries) names.emplace_back(summary.name, 0);
  check_names(names, "summaries");
  for (const Summary& summary : summaries) check_summary(summary);
}

void check_train(const EstimatorSpec& spec) {
  check_loss(spec, Mode::train);
  require(!spec.train.empty(),
          "model_fn: no update in train mode; set EstimatorSpec::train, for "
          "example to adam()");
  check_names(spec.values, "values");
  for (const auto& [name, value] : spec.values)
    require(value.defined() && value.shape().elements() == 1 && is_floating(value.dtype()),
            "model_fn: value `", name, "` must be a floating scalar");
  check_summaries(spec.summaries);
  for (const auto& hook : spec.hooks) require(hook, "model_fn: a hook is null");
  if (spec.round.empty()) return;
  std::size_t count = spec.train.list(spec.loss).size();
  for (std::size_t i = 0; i < spec.round.size(); ++i)
    require(!(spec.round[i].updates & UpdateSet::first(count)).empty(), "model_fn: sub-step ", i,
            " of the round makes none of the ", count, " updates");
  require(spec.round[0].fresh_batch, "model_fn: the first sub-step of a round takes a fresh batch");
}

void check_evaluate(const EstimatorSpec& spec) {
  check_loss(spec, Mode::evaluate);
  check_names(spec.metrics, "metrics");
  for (const auto& [name, metric] : spec.metrics) {
    require(name != "loss" && name != "global_step", "model_fn: a metric may not be named `", name,
            "`: evaluate() reports that itself");
    require(metric.state.defined() && metric.value, "model_fn: metric `", name, "` is undefined");
  }
}

void check_predict(const EstimatorSpec& spec) {
  require(!spec.predictions.empty(),
          "model_fn: no predictions in predict mode; set "
          "EstimatorSpec::predictions");
  check_names(spec.predictions, "predictions");
  for (const auto& [name, value] : spec.predictions)
    require(value.defined(), "model_fn: prediction `", name, "` is undefined");
}

}  // namespace

Batch::Batch(Graph& graph, const Signature& signature) {
  for (const auto& [name, type] : signature) items_.emplace_back(name, input(graph, name, type));
}

Batch Batch::rows(std::int64_t first, std::int64_t count) const {
  std::int64_t all = rows();
  Batch part;
  for (const auto& [name, tensor] : items_) {
    if (tensor.rank() == 0) {
      part.items_.emplace_back(name, tensor);
      continue;
    }
    require(tensor.size(0) == all, "batch: feature `", name, "` is ", tensor.type(),
            " but the batch has ", all,
            " rows, so it cannot be cut; give it one row an example, or none (a scalar)");
    SliceOptions range{.begin = {first}, .size = {count}};
    range.begin.resize(tensor.rank(), 0);
    range.size.resize(tensor.rank(), -1);
    part.items_.emplace_back(name, slice(tensor, std::move(range)));
  }
  return part;
}

Batch Batch::with(std::string_view name, Tensor value) const {
  Batch out = *this;
  for (auto& [n, tensor] : out.items_)
    if (n == name) {
      tensor = std::move(value);
      return out;
    }
  out.items_.emplace_back(name, std::move(value));
  return out;
}

const Tensor& Batch::operator[](std::string_view name) const {
  for (const auto& [n, tensor] : items_)
    if (n == name) return tensor;
  fail_unknown_feature(name, names());
}

bool Batch::contains(std::string_view name) const {
  return std::any_of(items_.begin(), items_.end(), [&](const auto& i) { return i.first == name; });
}

std::vector<std::string> Batch::names() const {
  std::vector<std::string> out;
  for (const auto& item : items_) out.push_back(item.first);
  return out;
}

std::int64_t Batch::rows() const {
  for (const auto& [name, tensor] : items_)
    if (tensor.rank() > 0) return tensor.size(0);
  return 1;
}

void validate(const EstimatorSpec& spec, Mode mode) {
  switch (mode) {
    case Mode::train:
      return check_train(spec);
    case Mode::evaluate:
      return check_evaluate(spec);
    case Mode::predict:
      return check_predict(spec);
  }
}

}  // namespace belfry
