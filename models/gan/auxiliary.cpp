#include "belfry/models/gan/auxiliary.h"

namespace belfry::gan {
namespace {

Tensor first_logit(Tensor logits) {
  return slice(logits, {.begin = {0, 0}, .size = {-1, 1}});  // [n, 1]
}

GanModel of_first_logit(const GanModel& model) {
  GanModel out = model;
  out.real_logits = first_logit(model.real_logits);
  out.generated_logits = first_logit(model.generated_logits);
  if (model.discriminator)
    out.discriminator = [all = model.discriminator](Tensor data) { return first_logit(all(data)); };
  return out;
}

}  // namespace

Tensor further_logits(std::string_view what, const Tensor& logits, std::int64_t count) {
  require(logits.rank() == 2 && logits.size(1) == 1 + count, what,
          ": the discriminator must give logits [n, ", 1 + count, "], got ", logits.type());
  return slice(logits, {.begin = {0, 1}, .size = {-1, count}});
}

void require_set(std::string_view what, const Loss& loss) {
  require(loss.generator && loss.discriminator, what,
          ": the loss is not set; set its function for the generator and for the discriminator");
}

Loss with_further_logits(Loss loss, Loss further) {
  for (const Loss& part : {loss, further}) require_set("with_further_logits", part);
  auto sum = [](auto own, auto more) {
    return [own, more](const GanModel& m) {
      Tensor added = more(m);  // says first what is wrong with the logits
      return own(of_first_logit(m)) + added;
    };
  };
  return {.generator = sum(loss.generator, further.generator),
          .discriminator = sum(loss.discriminator, further.discriminator)};
}

Metric mean_over_rows(Tensor mean, std::int64_t rows) {
  return mean_metric(mean, constant(mean.graph(), rows, DType::f32));
}

MetricsFn both(MetricsFn first, MetricsFn second) {
  return [=](const GanModel& m, const Batch& batch) {
    NamedMetrics all = first(m, batch);
    if (second)
      for (auto& metric : second(m, batch)) all.push_back(std::move(metric));
    return all;
  };
}

}  // namespace belfry::gan
