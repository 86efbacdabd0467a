#include "belfry/models/gan/infogan.h"

#include <cmath>
#include <numbers>

#include "belfry/models/gan/auxiliary.h"
#include "belfry/models/gan/conditioning.h"

namespace belfry::gan {
namespace {

void check(const CodeOptions& o) {
  require(o.categories >= 1 && o.continuous >= 0, "infogan: a code has at least 1 category and 0 ",
          "continuous numbers, got ", o.categories, " and ", o.continuous);
  for (double weight : {o.category_weight, o.continuous_weight})
    require(weight >= 0 && std::isfinite(weight), "infogan: a weight must be at least 0, got ",
            weight);
}

std::int64_t numbers_of(const CodeOptions& o) { return o.categories + o.continuous; }

Tensor categories_of(const Tensor& recognised, const CodeOptions& o) {
  return slice(recognised, {.begin = {0, 0}, .size = {-1, o.categories}});
}

Tensor recognised_in(const Tensor& logits, const CodeOptions& o) {
  return further_logits("infogan", logits, numbers_of(o));
}

void replace(Tensor& drawn, const Batch& batch, std::string_view feature) {
  if (!drawn.defined() || !batch.contains(feature)) return;
  Tensor asked = batch[feature];
  require(asked.type() == drawn.type(), "infogan: the feature `", feature, "` is ", asked.type(),
          "; expected ", drawn.type());
  drawn = asked;
}

// The code that the user asks for; the parts not asked for are drawn.
Code requested_code(const Scope& s, const Batch& batch, const CodeOptions& o) {
  Code code = random_code(s, batch.rows(), o);
  replace(code.category, batch, "category");
  replace(code.continuous, batch, "continuous");
  return code;
}

// The networks that were not set.
void complete(InfoganOptions& o) {
  require(!o.gan.generator, "infogan: set InfoganOptions::generator, which is given the code, in ",
          "place of GanOptions::generator");
  require(o.networks.classes == 0, "infogan: the networks are told no class, got ",
          o.networks.classes, " classes");
  DcganOptions judge = o.networks;
  judge.logits = 1 + numbers_of(o.code);
  if (!o.gan.discriminator) o.gan.discriminator = dcgan_discriminator(judge);
  if (o.generator) return;
  dcgan_generator(o.networks);  // checks the options
  o.generator = [networks = o.networks](Scope s, Tensor code, const Batch&, Mode mode) {
    Tensor z = random_uniform(s / "noise", {code.size(0), networks.noise}, -1, 1);
    return dcgan_images(s, concat({z, code}, 1), networks, mode);
  };
}

MetricsFn recognition(const Code& code, const CodeOptions& o) {
  return [=](const GanModel& m, const Batch&) -> NamedMetrics {
    Tensor found = recognised_in(m.generated_logits, o);
    Tensor penalty = mutual_information_penalty(found, code, o);
    return {
        {"category_accuracy", sparse_categorical_accuracy(code.category, categories_of(found, o))},
        {"mutual_information_penalty", mean_over_rows(penalty, found.size(0))}};
  };
}

}  // namespace

Code random_code(const Scope& s, std::int64_t rows, const CodeOptions& o) {
  check(o);
  Tensor any = random_uniform(s / "category", {rows}, 0, o.categories);
  Code code{.category = cast(any, DType::i64)};
  if (o.continuous > 0)
    code.continuous = random_uniform(s / "continuous", {rows, o.continuous}, -1, 1);
  return code;
}

Tensor code_numbers(const Code& code, const CodeOptions& o) {
  Tensor category = one_hot_codes(code.category, o.categories);
  return o.continuous > 0 ? concat({category, code.continuous}, 1) : category;
}

Tensor mutual_information_penalty(Tensor recognised, const Code& code, const CodeOptions& o) {
  check(o);
  require(recognised.rank() == 2 && recognised.size(1) == numbers_of(o),
          "mutual_information_penalty: expected [n, ", numbers_of(o), "], got ", recognised.type());
  Tensor penalty = mean(sparse_softmax_cross_entropy(categories_of(recognised, o), code.category))
                   * o.category_weight;
  if (o.continuous == 0) return penalty;
  Tensor means = slice(recognised, {.begin = {0, o.categories}, .size = {-1, o.continuous}});
  Tensor distance = mean(sum(square(cast(code.continuous, means.dtype()) - means), {.axes = {1}}));
  double constant = 0.5 * std::log(2 * std::numbers::pi) * o.continuous;
  return penalty + (distance * 0.5 + constant) * o.continuous_weight;
}

Loss with_mutual_information(Loss loss, Code code, const CodeOptions& o) {
  check(o);
  auto penalty = [code, o](const GanModel& m) {
    return mutual_information_penalty(recognised_in(m.generated_logits, o), code, o);
  };
  return with_further_logits(std::move(loss), {.generator = penalty, .discriminator = penalty});
}

ModelFn infogan(InfoganOptions options) {
  check(options.code);
  complete(options);
  return [o = std::move(options)](Scope s, const Batch& batch, Mode mode) {
    Code code = mode == Mode::predict ? requested_code(s / "code", batch, o.code)
                                      : random_code(s / "code", batch.rows(), o.code);
    GanOptions coded = o.gan;
    coded.generator = [&](Scope at, const Batch& b, Mode m) {
      Graph::PlacementGuard guard(at.graph(), at.placement());  // an error about a code says where
      return o.generator(std::move(at), code_numbers(code, o.code), b, m);
    };
    coded.loss = with_mutual_information(o.gan.loss, code, o.code);
    coded.metrics = both(recognition(code, o.code), o.gan.metrics);
    return gan(coded)(s, batch, mode);
  };
}

}  // namespace belfry::gan
