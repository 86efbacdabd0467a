#include "belfry/models/gan/losses.h"

#include <cmath>

#include "belfry/framework/optimizers/minimize.h"
#include "belfry/models/gan/auxiliary.h"

namespace belfry::gan {
namespace {

// Losses of logits for data that should look real (target 1 - smoothing / 2), and generated.
Tensor as_real(Tensor logits, double smoothing = 0) {
  Tensor loss = softplus(-logits);
  return mean(smoothing == 0 ? loss : loss + logits * (smoothing / 2));
}
Tensor as_generated(Tensor logits) { return mean(softplus(logits)); }

std::function<Tensor(const GanModel&)> minimax_discriminator(const MinimaxOptions& o) {
  require(o.label_smoothing >= 0 && o.label_smoothing <= 1,
          "gan: label smoothing must be in [0, 1], got ", o.label_smoothing);
  return [o](const GanModel& m) {
    return as_real(m.real_logits, o.label_smoothing) + as_generated(m.generated_logits);
  };
}

// x minus the mean of y over the rows of all towers.
Tensor above_mean(Tensor x, Tensor y) { return x - tower_mean(mean(y)); }

void check(const GradientPenaltyOptions& o) {
  require(o.target > 0 && std::isfinite(o.target),
          "gradient_penalty: the target must be above 0, got ", o.target);
  require(o.epsilon >= 0, "gradient_penalty: epsilon must be at least 0, got ", o.epsilon);
}

// The gradient of `loss` over all towers.
std::vector<Tensor> gradients_of(Tensor loss, const std::vector<Variable>& variables) {
  std::vector<Tensor> values(variables.begin(), variables.end());
  std::vector<Tensor> found = gradients(loss, values), defined;
  for (const Tensor& g : found)
    if (g.defined()) defined.push_back(g);
  require(!defined.empty(), "combine_adversarial_loss: a loss depends on none of the variables");
  return tower_mean(std::move(defined), "gradients of a loss");
}

}  // namespace

Loss minimax(const MinimaxOptions& options) {
  return {.generator = [](const GanModel& m) { return -as_generated(m.generated_logits); },
          .discriminator = minimax_discriminator(options)};
}

Loss modified(const MinimaxOptions& options) {
  return {.generator = [](const GanModel& m) { return as_real(m.generated_logits); },
          .discriminator = minimax_discriminator(options)};
}

Loss least_squares(const LeastSquaresOptions& o) {
  auto half_square = [](Tensor logits, double target) {
    return mean(square(logits - target)) * 0.5;
  };
  return {.generator = [=](const GanModel& m) { return half_square(m.generated_logits, o.wanted); },
          .discriminator =
              [=](const GanModel& m) {
                return half_square(m.real_logits, o.real) + half_square(m.generated_logits, o.fake);
              }};
}

Loss wasserstein() {
  return {.generator = [](const GanModel& m) { return -mean(m.generated_logits); },
          .discriminator =
              [](const GanModel& m) { return mean(m.generated_logits) - mean(m.real_logits); }};
}

Loss hinge() {
  return {.generator = [](const GanModel& m) { return -mean(m.generated_logits); },
          .discriminator =
              [](const GanModel& m) {
                return mean(relu(1 - m.real_logits)) + mean(relu(1 + m.generated_logits));
              }};
}

Loss relativistic_average() {
  auto prefers = [](Tensor better, Tensor worse) {
    return as_real(above_mean(better, worse)) + as_generated(above_mean(worse, better));
  };
  return {
      .generator = [=](const GanModel& m) { return prefers(m.generated_logits, m.real_logits); },
      .discriminator =
          [=](const GanModel& m) { return prefers(m.real_logits, m.generated_logits); }};
}

Tensor gradient_penalty(const GanModel& m, const GradientPenaltyOptions& o) {
  check(o);
  require(m.real.type() == m.generated.type(), "gradient_penalty: real data are ", m.real.type(),
          " but generated data ", m.generated.type());
  std::vector<std::int64_t> one_a_row(m.real.rank(), 1);
  one_a_row[0] = m.real.size(0);
  Tensor u = cast(random_uniform(m.scope / "gradient_penalty", Shape(one_a_row)), m.real.dtype());
  Tensor x = m.real + u * (m.generated - m.real);
  Tensor g = gradients(sum(m.discriminator(x)), std::vector{x})[0];
  require(g.defined(), "gradient_penalty: the discriminator's logits do not depend on its input");
  Tensor squares = sum(flatten(square(g)), {.axes = {1}});  // [n]
  Tensor excess = sqrt(squares + o.epsilon) * (1 / o.target) - 1;
  return mean(square(o.one_sided ? relu(excess) : excess));
}

Loss with_gradient_penalty(Loss loss, const GradientPenaltyOptions& o) {
  require_set("with_gradient_penalty", loss);
  require(o.weight >= 0 && std::isfinite(o.weight),
          "gradient_penalty: the weight must be at least 0, got ", o.weight);
  check(o);
  auto discriminator = [own = loss.discriminator, o](const GanModel& m) {
    return own(m) + gradient_penalty(m, o) * o.weight;
  };
  return {.generator = std::move(loss.generator), .discriminator = discriminator};
}

Tensor cycle_consistency(Tensor x, Tensor x_back, Tensor y, Tensor y_back) {
  return mean(abs(x - x_back)) + mean(abs(y - y_back));
}

Tensor combine_adversarial_loss(Tensor main, Tensor adversarial, const CombineOptions& o) {
  require(o.weight.has_value() != o.gradient_ratio.has_value(),
          "combine_adversarial_loss: set one of weight and gradient_ratio");
  if (o.weight) {
    require(*o.weight >= 0, "combine_adversarial_loss: the weight is ", *o.weight,
            "; it must be at least 0");
    return main + adversarial * *o.weight;
  }
  require(*o.gradient_ratio > 0, "combine_adversarial_loss: the gradient ratio is ",
          *o.gradient_ratio, "; it must be above 0");
  require(!o.variables.empty(),
          "combine_adversarial_loss: a gradient ratio needs variables to take the gradients of");
  Tensor of_main = l2_norm(gradients_of(main, o.variables));
  Tensor of_adversarial = l2_norm(gradients_of(adversarial, o.variables));
  Tensor weight = of_main / (of_adversarial + o.epsilon) * (1 / *o.gradient_ratio);
  return main + stop_gradient(weight) * adversarial;
}

}  // namespace belfry::gan
