#pragma once
// The formulas of update ops, written once, with the options they need. As functors.h, nvcc reads
// this file too: it includes little and uses no exceptions. Options are plain values, so that a
// kernel can take them by value.

#include <cmath>
#include <cstdint>
#include <string_view>

#include "belfry/framework/base/fields.h"
#include "belfry/framework/ops/elementwise/functors.h"
#include "belfry/framework/ops/update/update_state.h"

namespace belfry {

// Wherever `weight_decay` occurs, variables of a rank below `decay_min_rank` are left alone: with
// 2, biases and the scales and offsets of normalisations; with 0, none.

struct SgdUpdateOptions {
  double weight_decay = 0;  ///< L2: adds weight_decay * variable to the gradient
  int decay_min_rank = 2;
  BELFRY_FIELDS(weight_decay, decay_min_rank)
};

struct MomentumUpdateOptions {
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;  ///< L2: adds weight_decay * variable to the gradient
  int decay_min_rank = 2;
  bool lazy = false;
  OptimizerState state = OptimizerState::as_variable;  ///< another one: not with lazy
  BELFRY_FIELDS(momentum, nesterov, weight_decay, decay_min_rank, lazy, state)
};

struct AdamUpdateOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  ///< decoupled: subtracts rate * weight_decay * variable
  int decay_min_rank = 2;
  bool lazy = false;
  OptimizerState state = OptimizerState::as_variable;  ///< another one: not with lazy
  BELFRY_FIELDS(beta1, beta2, epsilon, weight_decay, decay_min_rank, lazy, state)
};

struct RmspropUpdateOptions {
  double decay = 0.9;  ///< of the moving means
  double momentum = 0;
  double epsilon = 1e-10;
  bool centered = false;
  BELFRY_FIELDS(decay, momentum, epsilon, centered)
};

struct AdagradUpdateOptions {
  static void fields(auto&, auto&&) {}
};

struct FtrlUpdateOptions {
  double learning_rate_power = -0.5;
  double l1 = 0;
  double l2 = 0;
  bool lazy = false;
  BELFRY_FIELDS(learning_rate_power, l1, l2, lazy)
};

struct LambUpdateOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0;  ///< part of the direction that the trust ratio scales
  int decay_min_rank = 2;
  BELFRY_FIELDS(beta1, beta2, epsilon, weight_decay, decay_min_rank)
};

/// Whether idle rows of a variable of this rank are left as they are because the options say so.
template <class Options>
constexpr bool is_lazy(const Options& options, int rank) {
  if constexpr (requires { options.lazy; })
    return options.lazy && rank >= 2;
  else
    return false;
}

/// How the slots are kept.
template <class Options>
constexpr OptimizerState state_of(const Options& options) {
  if constexpr (requires { options.state; })
    return options.state;
  else
    return OptimizerState::as_variable;
}

/// The scalars of one step.
struct UpdateScalars {
  double learning_rate = 0;
  std::int64_t step = 0;  ///< finished steps: 0 at the first; zero for ops that do not take it
};

/// A rule has the name of its op, the number of scalars (1: learning rate; 2: the step as well),
/// the number of slots, constants that make() works out once a step and variable, and the formula
/// for one element: `apply<M>(variable, gradient, slots)` changes the variable and its slots. T is
/// the type in which it computes; M is as in functors.h. Rules that can be applied to single rows
/// of a table say for which options that is the same: where `keeps_idle_rows`, applying the rule to
/// a row whose gradient is 0 changes no bit of it. Rules whose options have a `state` say which of
/// their slots may be below 0.
namespace update {

/// variable -= rate * gradient. A decay of 0 leaves the variable out, whose infinity it would make
/// NaN.
template <class T>
struct Sgd {
  using Options = SgdUpdateOptions;
  static constexpr std::string_view name = "sgd_update";
  static constexpr int scalars = 1;
  static constexpr int max_slots = 0;
  static constexpr int slot_count(const Options&) { return 0; }
  static constexpr bool keeps_idle_rows(const Options& o, int rank) {
    return o.weight_decay == 0 || rank < o.decay_min_rank;
  }

  T rate, decay;

  template <class M>
  BELFRY_HOST_DEVICE static Sgd make(const Options& o, UpdateScalars s, int rank) {
    return {T(s.learning_rate), T(rank >= o.decay_min_rank ? o.weight_decay : 0)};
  }
  template <class M>
  BELFRY_HOST_DEVICE void apply(T& variable, T gradient, T*) const {
    variable -= rate * (decay == T(0) ? gradient : gradient + decay * variable);
  }
};

/// Slot: accumulator. As TensorFlow's ApplyMomentum: accumulator = momentum * accumulator +
/// gradient; variable -= rate * accumulator, or with Nesterov's look-ahead (Sutskever et al., ICML
/// 2013) variable -= rate * (gradient + momentum * accumulator).
template <class T>
struct Momentum {
  using Options = MomentumUpdateOptions;
  static constexpr std::string_view name = "momentum_update";
  static constexpr int scalars = 1;
  static constexpr int max_slots = 1;
  static constexpr int slot_count(const Options&) { return 1; }
  static constexpr bool keeps_idle_rows(const Options& o, int rank) { return is_lazy(o, rank); }
  static constexpr bool is_signed(int) { return true; }

  T rate, momentum, decay;
  bool nesterov;

  template <class M>
  BELFRY_HOST_DEVICE static Momentum make(const Options& o, UpdateScalars s, int rank) {
    return {T(s.learning_rate), T(o.momentum), T(rank >= o.decay_min_rank ? o.weight_decay : 0),
            o.nesterov};
  }
  template <class M>
  BELFRY_HOST_DEVICE void apply(T& variable, T gradient, T* slots) const {
    T g = gradient + decay * variable;
    slots[0] = momentum * slots[0] + g;
    variable -= rate * (nesterov ? g + momentum * slots[0] : slots[0]);
  }
};

/// Slots: m, v. Kingma and Ba (ICLR 2015), in the form of the note after their algorithm 1, which
/// is TensorFlow's: with t = step + 1,
///   rate_t = rate * sqrt(1 - beta2^t) / (1 - beta1^t)
///   variable -= rate_t * m / (sqrt(v) + epsilon)
/// so epsilon stands beside the uncorrected sqrt(v). (PyTorch adds it to sqrt(v / (1 - beta2^t)):
/// its epsilon is ours divided by sqrt(1 - beta2^t).) weight_decay is decoupled (Loshchilov and
/// Hutter, ICLR 2019): variable -= rate * weight_decay * variable besides.
template <class T>
struct Adam {
  using Options = AdamUpdateOptions;
  static constexpr std::string_view name = "adam_update";
  static constexpr int scalars = 2;
  static constexpr int max_slots = 2;
  static constexpr int slot_count(const Options&) { return 2; }
  static constexpr bool keeps_idle_rows(const Options& o, int rank) { return is_lazy(o, rank); }
  static constexpr bool is_signed(int slot) { return slot == 0; }

  T rate_t, one_minus_beta1, one_minus_beta2, epsilon, decay;

  template <class M>
  BELFRY_HOST_DEVICE static Adam make(const Options& o, UpdateScalars s, int rank) {
    double t = static_cast<double>(s.step) + 1;
    double correction = M::sqrt(1 - M::pow(o.beta2, t)) / (1 - M::pow(o.beta1, t));
    double decay = rank >= o.decay_min_rank ? o.weight_decay : 0;
    return {T(s.learning_rate * correction), T(1 - o.beta1), T(1 - o.beta2), T(o.epsilon),
            T(s.learning_rate * decay)};
  }
  template <class M>
  BELFRY_HOST_DEVICE void apply(T& variable, T gradient, T* slots) const {
    T& m = slots[0];
    T& v = slots[1];
    m += one_minus_beta1 * (gradient - m);
    v += one_minus_beta2 * (gradient * gradient - v);
    variable -= rate_t * m / (M::sqrt(v) + epsilon) + decay * variable;
  }
};

/// Slots: mean_square; then velocity if momentum is not 0; then mean_gradient if centered. As
/// TensorFlow's ApplyRMSProp and ApplyCenteredRMSProp: velocity = momentum * velocity + rate *
/// gradient / sqrt(mean_square [- mean_gradient^2] + epsilon); variable -= velocity. The variance
/// is kept from falling below 0 by rounding.
template <class T>
struct Rmsprop {
  using Options = RmspropUpdateOptions;
  static constexpr std::string_view name = "rmsprop_update";
  static constexpr int scalars = 1;
  static constexpr int max_slots = 3;
  static constexpr int slot_count(const Options& o) {
    return 1 + (o.momentum != 0 ? 1 : 0) + (o.centered ? 1 : 0);
  }

  T rate, one_minus_decay, momentum, epsilon;
  int velocity, mean_gradient;  // which slot; 0: none

  template <class M>
  BELFRY_HOST_DEVICE static Rmsprop make(const Options& o, UpdateScalars s, int) {
    int velocity = o.momentum != 0 ? 1 : 0;
    return {T(s.learning_rate), T(1 - o.decay), T(o.momentum),
            T(o.epsilon),       velocity,       o.centered ? velocity + 1 : 0};
  }
  template <class M>
  BELFRY_HOST_DEVICE void apply(T& variable, T gradient, T* slots) const {
    slots[0] += one_minus_decay * (gradient * gradient - slots[0]);
    T variance = slots[0];
    if (mean_gradient) {
      T& mean = slots[mean_gradient];
      mean += one_minus_decay * (gradient - mean);
      variance -= mean * mean;
      if (variance < T(0)) variance = T(0);
    }
    T change = rate * gradient / M::sqrt(variance + epsilon);
    if (velocity) change = slots[velocity] = momentum * slots[velocity] + change;
    variable -= change;
  }
};

/// Slot: accumulator. Duchi, Hazan and Singer (JMLR 2011), as TensorFlow's ApplyAdagrad:
/// accumulator += gradient^2; variable -= rate * gradient / sqrt(accumulator). There is no epsilon:
/// the accumulator starts above 0.
template <class T>
struct Adagrad {
  using Options = AdagradUpdateOptions;
  static constexpr std::string_view name = "adagrad_update";
  static constexpr int scalars = 1;
  static constexpr int max_slots = 1;
  static constexpr int slot_count(const Options&) { return 1; }
  static constexpr bool keeps_idle_rows(const Options&, int) { return true; }

  T rate;

  template <class M>
  BELFRY_HOST_DEVICE static Adagrad make(const Options&, UpdateScalars s, int) {
    return {T(s.learning_rate)};
  }
  template <class M>
  BELFRY_HOST_DEVICE void apply(T& variable, T gradient, T* slots) const {
    slots[0] += gradient * gradient;
    variable -= rate * gradient / M::sqrt(slots[0]);
  }
};

/// Slots: accumulator, linear. McMahan et al. (KDD 2013), as TensorFlow's ApplyFtrl: with p =
/// -learning_rate_power and a' = accumulator + gradient^2,
///   linear += gradient - (a'^p - accumulator^p) / rate * variable
///   variable = |linear| > l1 ? (sign(linear) * l1 - linear) / (a'^p / rate + 2 * l2) : 0
/// A step with a learning rate of 0 changes nothing. One with a gradient of 0 does: the variable
/// follows the learning rate, and one that did not begin at 0 becomes what `linear` says.
template <class T>
struct Ftrl {
  using Options = FtrlUpdateOptions;
  static constexpr std::string_view name = "ftrl_update";
  static constexpr int scalars = 1;
  static constexpr int max_slots = 2;
  static constexpr int slot_count(const Options&) { return 2; }
  static constexpr bool keeps_idle_rows(const Options& o, int rank) { return is_lazy(o, rank); }

  T rate, power, l1, l2;

  template <class M>
  BELFRY_HOST_DEVICE static Ftrl make(const Options& o, UpdateScalars s, int) {
    return {T(s.learning_rate), T(-o.learning_rate_power), T(o.l1), T(o.l2)};
  }
  template <class M>
  BELFRY_HOST_DEVICE void apply(T& variable, T gradient, T* slots) const {
    power == T(0.5) ? apply_power<M, true>(variable, gradient, slots)
                    : apply_power<M, false>(variable, gradient, slots);
  }
  /// apply() for a power of 1/2 or another one, known to the compiler.
  template <class M, bool Root>
  BELFRY_HOST_DEVICE void apply_power(T& variable, T gradient, T* slots) const {
    if (rate == T(0)) return;
    T& accumulator = slots[0];
    T& linear = slots[1];
    T squared = gradient * gradient;
    T grown = accumulator + squared;
    T before = Root ? M::sqrt(accumulator) : M::pow(accumulator, power);
    T after = Root ? M::sqrt(grown) : M::pow(grown, power);
    // Square roots that hardly differ would cancel; the summand keeps 0 / 0 away.
    T growth = Root ? squared / (after + before + T(1e-37)) : after - before;
    linear += gradient - growth / rate * variable;
    accumulator = grown;
    T shrunk = linear > l1 ? l1 - linear : linear < -l1 ? -l1 - linear : T(0) * linear;
    variable = shrunk == T(0) ? T(0) : shrunk / (after / rate + T(2) * l2);  // no 0 / 0
  }
};

/// Slots: m, v. You et al. (ICLR 2020), algorithm 2 with phi(x) = x: moments as in Adam, corrected
/// for bias with t = step + 1, then
///   direction = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + weight_decay * variable
///   variable -= rate * |variable| / |direction| * direction
/// with Euclidean norms over the whole variable; the ratio is 1 where either norm is 0. Kernels run
/// moments() over a variable, then take the norms, then step().
template <class T>
struct Lamb {
  using Options = LambUpdateOptions;
  static constexpr std::string_view name = "lamb_update";
  static constexpr int scalars = 2;
  static constexpr int max_slots = 2;
  static constexpr int slot_count(const Options&) { return 2; }

  T rate, one_minus_beta1, one_minus_beta2, correction1, correction2, epsilon, decay;

  template <class M>
  BELFRY_HOST_DEVICE static Lamb make(const Options& o, UpdateScalars s, int rank) {
    double t = static_cast<double>(s.step) + 1;
    return {T(s.learning_rate),
            T(1 - o.beta1),
            T(1 - o.beta2),
            T(1 / (1 - M::pow(o.beta1, t))),
            T(1 / (1 - M::pow(o.beta2, t))),
            T(o.epsilon),
            T(rank >= o.decay_min_rank ? o.weight_decay : 0)};
  }
  BELFRY_HOST_DEVICE void moments(T gradient, T& m, T& v) const {
    m += one_minus_beta1 * (gradient - m);
    v += one_minus_beta2 * (gradient * gradient - v);
  }
  template <class M>
  BELFRY_HOST_DEVICE T direction(T variable, T m, T v) const {
    return m * correction1 / (M::sqrt(v * correction2) + epsilon) + decay * variable;
  }
  /// rate * trust ratio, from the two norms.
  BELFRY_HOST_DEVICE T step(double variable_norm, double direction_norm) const {
    bool zero = variable_norm == 0 || direction_norm == 0;
    return rate * T(zero ? 1.0 : variable_norm / direction_norm);
  }
};

/// The rule of moving_average_update, which is no optimizer's: with n the number of updates so far,
///   average = decay * average + (1 - decay) * variable
/// in the form of tf.train.ExponentialMovingAverage, which leaves an average alone that has its
/// variable's value. The first takes the variable itself, whatever the average was. With warm_up
/// the decay is min(decay, (1 + n) / (10 + n)).
template <class T>
struct MovingAverage {
  T fraction;  ///< 1 - decay
  bool first;

  BELFRY_HOST_DEVICE static MovingAverage make(const MovingAverageUpdateOptions& o,
                                               std::int64_t count) {
    double n = count, most = (1 + n) / (10 + n);
    return {T(1 - (o.warm_up && most < o.decay ? most : o.decay)), count == 0};
  }
  BELFRY_HOST_DEVICE void apply(T& average, T variable) const {
    average = first ? variable : average - fraction * (average - variable);
  }
};

}  // namespace update
}  // namespace belfry
