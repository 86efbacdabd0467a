#pragma once
// Learning rates that depend on the step.

#include <concepts>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "belfry/framework/base/fields.h"
#include "belfry/framework/graph/graph.h"

namespace belfry {

/// A learning rate as a function of the number of finished steps (0 at the first step), built into
/// the plan: nothing is fed. A plain number is a constant schedule, and so is any function from the
/// step (i64 []) to a floating scalar:
///
///   sgd({.learning_rate = 0.1})
///   sgd({.learning_rate = [](Tensor step) { return rsqrt(cast(step, DType::f32) + 1); }})
///
/// A value; copies share the function. Values are computed in f64 and rounded to f32 once, at the
/// end.
class Schedule {
 public:
  using Function = std::function<Tensor(Tensor step)>;

  /// Always `value`. Error: it is negative or not finite.
  Schedule(double value);  // NOLINT(google-explicit-constructor): .learning_rate = 1e-3f
  template <class F>
  requires(std::is_invocable_r_v<Tensor, F&, Tensor> && !std::same_as<F, Schedule>)
      Schedule(F function)  // NOLINT
      : function_(std::move(function)) {}

  /// The learning rate at `step`, f32 []. Error: the function gives no floating scalar.
  Tensor operator()(Tensor step) const;
  /// The same in f64: for schedules made from others.
  Tensor exact(Tensor step) const;

 private:
  Function function_;
};

/// initial * decay_rate ^ (step / decay_steps), as tf.compat.v1.train.exponential_decay.
struct ExponentialDecayOptions {
  double initial = 0;            ///< above 0
  std::int64_t decay_steps = 0;  ///< at least 1
  double decay_rate = 0;         ///< above 0
  bool staircase = false;        ///< the exponent is rounded down to a whole number
  BELFRY_FIELDS(initial, decay_steps, decay_rate, staircase)
};
Schedule exponential_decay(const ExponentialDecayOptions& options);

/// values[0] while step <= boundaries[0], values[1] while step <= boundaries[1], ..., and the last
/// one after all boundaries, as tf.compat.v1.train.piecewise_constant. Error: boundaries do not
/// increase, or values are not one more than boundaries.
struct PiecewiseConstantOptions {
  std::vector<std::int64_t> boundaries = {};
  std::vector<double> values = {};
  BELFRY_FIELDS(boundaries, values)
};
Schedule piecewise_constant(const PiecewiseConstantOptions& options);

/// (initial - end) * (1 - min(step, n) / n) ^ power + end with n = decay_steps, as
/// tf.compat.v1.train.polynomial_decay. With `cycle`, n is the smallest positive multiple of
/// decay_steps that is not below the step, and the rate jumps up again after each.
struct PolynomialDecayOptions {
  double initial = 0;            ///< above 0
  std::int64_t decay_steps = 0;  ///< at least 1
  double end = 1e-4;
  double power = 1;  ///< above 0
  bool cycle = false;
  BELFRY_FIELDS(initial, decay_steps, end, power, cycle)
};
Schedule polynomial_decay(const PolynomialDecayOptions& options);

/// initial * ((1 - alpha) * (1 + cos(pi * min(step, n) / n)) / 2 + alpha) with n = decay_steps, as
/// tf.compat.v1.train.cosine_decay (Loshchilov and Hutter, ICLR 2017, without restarts).
struct CosineDecayOptions {
  double initial = 0;            ///< above 0
  std::int64_t decay_steps = 0;  ///< at least 1
  double alpha = 0;              ///< the share of `initial` that is left at the end, in [0, 1]
  BELFRY_FIELDS(initial, decay_steps, alpha)
};
Schedule cosine_decay(const CosineDecayOptions& options);

/// Linear from `from` at step 0 to after(0) at step `steps`; from there `after`, which counts its
/// own steps from 0, as the warm-up of tf.keras.optimizers.schedules.CosineDecay:
///
///   warmup(cosine_decay({.initial = 0.1, .decay_steps = 9'000}), {.steps = 1'000})
struct WarmupOptions {
  std::int64_t steps = 0;  ///< at least 1
  double from = 0;         ///< with 0, the first step changes nothing
  BELFRY_FIELDS(steps, from)
};
Schedule warmup(Schedule after, const WarmupOptions& options);

}  // namespace belfry
