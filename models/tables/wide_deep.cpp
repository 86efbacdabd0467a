#include "belfry/models/tables/wide_deep.h"

#include "belfry/models/tables/mlp.h"

namespace belfry::models {
namespace {

Tensor deep_logits(const Scope& s, const Batch& batch, Mode mode, const Columns& columns,
                   const HiddenOptions& hidden, const Head& head) {
  Tensor x = hidden_layers(s, deep_columns(s / "columns", batch, columns), mode, hidden);
  return dense(s / "logits", x, {.units = head.units});
}

Update update_of(std::string name, const Scope& part, const EstimatorSpec& spec,
                 const Optimizer& optimizer) {
  Update update = minimize(spec.loss, optimizer, trainable_variables(part.graph(), part.path()));
  update.over_towers = spec.loss_over_towers;
  update.name = std::move(name);
  return update;
}

}  // namespace

ModelFn dnn(DnnOptions o) {
  with_context("in dnn: columns", [&] { validate(o.columns); });
  check("dnn", {o.hidden, o.dropout});
  require_set("dnn", o.head);
  return [o](Scope s, const Batch& batch, Mode mode) {
    Tensor logits = deep_logits(s / "deep", batch, mode, o.columns, {o.hidden, o.dropout}, o.head);
    return o.head(logits, batch, mode, o.optimizer);
  };
}

ModelFn wide_deep(WideDeepOptions o) {
  with_context("in wide_deep: wide", [&] { validate(o.wide); });
  with_context("in wide_deep: deep", [&] { validate(o.deep); });
  check("wide_deep", {o.hidden, o.dropout});
  require_set("wide_deep", o.head);
  return [o](Scope s, const Batch& batch, Mode mode) {
    Scope wide = s / "wide", deep = s / "deep";
    Tensor logits = linear_columns(wide, batch, o.wide, o.head.units)
                    + deep_logits(deep, batch, mode, o.deep, {o.hidden, o.dropout}, o.head);
    EstimatorSpec spec = o.head(logits, batch, mode);
    if (mode == Mode::train)
      spec.train = {update_of("wide", wide, spec, o.wide_optimizer),
                    update_of("deep", deep, spec, o.deep_optimizer)};
    return spec;
  };
}

}  // namespace belfry::models
