#include "belfry/framework/layers/loss_support.h"
#include "belfry/framework/layers/losses.h"
#include "belfry/framework/ops/math.h"

namespace belfry {

// p^gamma = exp(gamma log p), and -log p = softplus(-x).
Tensor focal_loss(Tensor logits, Tensor targets, FocalLossOptions o) {
  constexpr std::string_view name = "focal_loss";
  require(o.gamma >= 0, name, ": gamma must be at least 0, got ", o.gamma);
  require(o.alpha >= 0 && o.alpha <= 1, name, ": alpha must be in [0, 1], got ", o.alpha);
  layers::require_pair(name, logits, targets);
  Tensor minus_log_p = softplus(-logits), minus_log_q = softplus(logits);
  Tensor of_ones = exp(minus_log_q * -o.gamma) * minus_log_p * o.alpha;
  Tensor of_zeros = exp(minus_log_p * -o.gamma) * minus_log_q * (1 - o.alpha);
  return layers::per_example(name, targets * of_ones + (1 - targets) * of_zeros, o.weights);
}

}  // namespace belfry
