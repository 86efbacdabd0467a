#include "belfry/models/gan/acgan.h"

#include <cmath>

#include "belfry/models/gan/auxiliary.h"

namespace belfry::gan {
namespace {

void check(const ClassificationOptions& o) {
  require(o.classes >= 1, "acgan: classes must be at least 1, got ", o.classes);
  for (double weight : {o.generator_weight, o.discriminator_weight})
    require(weight >= 0 && std::isfinite(weight),
            "acgan: weights of classification must be at least 0, got ", weight);
}

ClassificationOptions classification(const AcganOptions& o) {
  return {o.networks.classes, o.generator_weight, o.discriminator_weight};
}

// The networks that were not set.
void complete(AcganOptions& o) {
  DcganOptions judge = o.networks;
  judge.classes = 0;
  judge.logits = 1 + o.networks.classes;
  if (!o.gan.generator) o.gan.generator = dcgan_generator(o.networks);
  if (!o.gan.discriminator) o.gan.discriminator = dcgan_discriminator(judge);
}

MetricsFn accuracies(Tensor labels, std::int64_t classes) {
  return [=](const GanModel& m, const Batch&) -> NamedMetrics {
    auto of = [&](Tensor logits) {
      return sparse_categorical_accuracy(labels, further_logits("acgan", logits, classes));
    };
    return {{"real_accuracy", of(m.real_logits)}, {"generated_accuracy", of(m.generated_logits)}};
  };
}

}  // namespace

Loss with_classification(Loss loss, Tensor labels, const ClassificationOptions& o) {
  check(o);
  auto error = [labels, o](Tensor logits) {
    Tensor of_classes = further_logits("acgan", logits, o.classes);
    return mean(sparse_softmax_cross_entropy(of_classes, labels));
  };
  return with_further_logits(
      std::move(loss),
      {.generator =
           [=](const GanModel& m) { return error(m.generated_logits) * o.generator_weight; },
       .discriminator =
           [=](const GanModel& m) {
             return (error(m.real_logits) + error(m.generated_logits)) * o.discriminator_weight;
           }});
}

ModelFn acgan(AcganOptions options) {
  check(classification(options));
  complete(options);
  return [o = std::move(options)](Scope s, const Batch& batch, Mode mode) {
    if (mode == Mode::predict) return gan(o.gan)(s, batch, mode);
    Tensor labels = batch[o.networks.label];
    GanOptions with_labels = o.gan;
    with_labels.loss = with_classification(o.gan.loss, labels, classification(o));
    with_labels.metrics = both(accuracies(labels, o.networks.classes), o.gan.metrics);
    return gan(with_labels)(s, batch, mode);
  };
}

}  // namespace belfry::gan
