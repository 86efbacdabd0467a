#include <cmath>

#include "belfry/framework/ops/update/update_rule.h"

namespace belfry {
namespace {

void reference(const KernelContext& c) {
  for_each_group<update::Lamb>(c, [&](auto t, const auto& rule, auto variable, auto* gradient,
                                      const auto& slots) {
    using T = decltype(t);
    using C = compute_type<T>;
    auto direction = [&](std::size_t i) {
      return rule.template direction<StdMath>(
          static_cast<C>(variable[i]), static_cast<C>(slots[0][i]), static_cast<C>(slots[1][i]));
    };
    double variable_norm = 0, direction_norm = 0;  // squared until the loop ends
    for (std::size_t i = 0; i < variable.size(); ++i) {
      C m = static_cast<C>(slots[0][i]), v = static_cast<C>(slots[1][i]);
      rule.moments(static_cast<C>(gradient[i]), m, v);
      slots[0][i] = static_cast<T>(m);
      slots[1][i] = static_cast<T>(v);
      double x = static_cast<double>(static_cast<C>(variable[i])), d = direction(i);
      variable_norm += x * x;
      direction_norm += d * d;
    }
    C step = rule.step(std::sqrt(variable_norm), std::sqrt(direction_norm));
    for (std::size_t i = 0; i < variable.size(); ++i)
      variable[i] = static_cast<T>(static_cast<C>(variable[i]) - step * direction(i));
  });
}

}  // namespace

const OpDef lamb_update_op{.name = update::Lamb<float>::name,
                           .shape = update_shape<update::Lamb>,
                           .reference = reference,
                           .mutates = update_mutates<update::Lamb>};

Node& lamb_update(Tensor learning_rate, Tensor step, std::span<const UpdateGroup> groups,
                  const LambUpdateOptions& options, Tensor condition) {
  return apply_update<update::Lamb>(lamb_update_op, {learning_rate, step}, groups, options,
                                    condition);
}

}  // namespace belfry
