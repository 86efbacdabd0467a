#pragma once
// The optimizers, and how to write one. Formulas stand in framework/ops/update/update_functors.h. A
// learning rate is a number or a Schedule; each function throws Error for options outside their
// range.
//
// Wherever there is a `weight_decay`, variables of a rank below `decay_min_rank` are left alone:
// with 2, biases and the scales and offsets of normalisations; with 0, none.
//
// A step that looks up few rows of a table costs no more than those rows, provided that the rule
// leaves rows without a gradient as they are. adagrad() does, and sgd() without weight decay;
// momentum(), adam() and ftrl() do where `lazy` asks for it.
//
// Wherever there is a `lazy`, it says that in each step rows whose whole gradient is 0 are left as
// they are, slots included, as TensorFlow's LazyAdam and PyTorch's SparseAdam do with rows that
// were not looked up: their momentum waits for their next gradient. Rows are those along the first
// axis of variables with two axes or more; all other variables have the exact rule. What is
// computed is the same on all devices and towers and whatever is done to the gradient in between.
// (A row that was looked up and got a gradient of exactly 0 is left alone too; there those two
// decay moments.)
//
// Wherever there is a `state`, it says how the slots are kept
// (framework/ops/update/optimizer_state.h): by default as the variable, or of f32 variables in bf16
// or in eight bits by block, in half of the memory or a quarter. Memory is all that it saves on a
// CPU. Together with `lazy` it is an Error. A checkpoint holds slots as they are kept, and a run
// goes on from it to the bit; it cannot go on with another value of this option.

#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "belfry/framework/base/fields.h"
#include "belfry/framework/graph/graph.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/update/optimizer_state.h"

namespace belfry {

// ---- Learning rates that depend on the step.

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
  /// A function from the step, i64 [], to a floating scalar.
  using Function = std::function<Tensor(Tensor step)>;

  /// Always `value`. Error: it is negative or not finite.
  Schedule(double value);  // NOLINT(google-explicit-constructor): .learning_rate = 1e-3f
  /// The values of `function`, which takes and gives the same as Function.
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
/// The schedule that ExponentialDecayOptions describes.
Schedule exponential_decay(const ExponentialDecayOptions& options);

/// values[0] while step <= boundaries[0], values[1] while step <= boundaries[1], ..., and the last
/// one after all boundaries, as tf.compat.v1.train.piecewise_constant. Error: boundaries do not
/// increase, or values are not one more than boundaries.
struct PiecewiseConstantOptions {
  std::vector<std::int64_t> boundaries = {};  ///< steps behind which the rate changes
  std::vector<double> values = {};            ///< rates, at least 0
  BELFRY_FIELDS(boundaries, values)
};
/// The schedule that PiecewiseConstantOptions describes.
Schedule piecewise_constant(const PiecewiseConstantOptions& options);

/// (initial - end) * (1 - min(step, n) / n) ^ power + end with n = decay_steps, as
/// tf.compat.v1.train.polynomial_decay. With `cycle`, n is the smallest positive multiple of
/// decay_steps that is not below the step, and the rate jumps up again after each.
struct PolynomialDecayOptions {
  double initial = 0;            ///< above 0
  std::int64_t decay_steps = 0;  ///< at least 1
  double end = 1e-4;             ///< the rate at the end, at least 0
  double power = 1;              ///< above 0
  bool cycle = false;            ///< jump up again after each decay_steps; else stay at `end`
  BELFRY_FIELDS(initial, decay_steps, end, power, cycle)
};
/// The schedule that PolynomialDecayOptions describes.
Schedule polynomial_decay(const PolynomialDecayOptions& options);

/// initial * ((1 - alpha) * (1 + cos(pi * min(step, n) / n)) / 2 + alpha) with n = decay_steps, as
/// tf.compat.v1.train.cosine_decay (Loshchilov and Hutter, ICLR 2017, without restarts).
struct CosineDecayOptions {
  double initial = 0;            ///< above 0
  std::int64_t decay_steps = 0;  ///< at least 1
  double alpha = 0;              ///< the share of `initial` that is left at the end, in [0, 1]
  BELFRY_FIELDS(initial, decay_steps, alpha)
};
/// The schedule that CosineDecayOptions describes.
Schedule cosine_decay(const CosineDecayOptions& options);

/// Rises to `peak` and falls again, both along half a cosine, in one cycle that is the whole
/// training (Smith and Topin, 2019), as torch.optim.lr_scheduler.OneCycleLR: from start * peak at
/// step 0 to peak at step rising * steps - 1, from there to end * peak at step steps - 1, where it
/// stays.
struct OneCycleOptions {
  double peak = 0;         ///< above 0
  std::int64_t steps = 0;  ///< of the training, at least 2
  double rising = 0.3;     ///< the share of the steps in which it rises; rising * steps above 1
  double start = 1 / 25.;  ///< of the peak, in [0, 1]
  double end = 4e-6;       ///< of the peak, in [0, 1]
  BELFRY_FIELDS(peak, steps, rising, start, end)
};
/// The schedule that OneCycleOptions describes.
Schedule one_cycle(const OneCycleOptions& options);

/// from * (to / from) ^ (step / (steps - 1)), and `to` behind that: to see at which learning rates
/// a model learns before the loss goes up (Smith, 2017). hooks::range_test() says what came of it.
struct RangeTestOptions {
  double from = 1e-6;        ///< above 0
  double to = 1;             ///< above `from`
  std::int64_t steps = 200;  ///< at least 2
  BELFRY_FIELDS(from, to, steps)
};
/// The schedule that RangeTestOptions describes.
Schedule range_test(const RangeTestOptions& options = {});

/// Linear from `from` at step 0 to after(0) at step `steps`; from there `after`, which counts its
/// own steps from 0, as the warm-up of tf.keras.optimizers.schedules.CosineDecay:
///
///   warmup(cosine_decay({.initial = 0.1, .decay_steps = 9'000}), {.steps = 1'000})
struct WarmupOptions {
  std::int64_t steps = 0;  ///< at least 1
  double from = 0;         ///< with 0, the first step changes nothing
  BELFRY_FIELDS(steps, from)
};
/// `after` behind the rise that WarmupOptions describes.
Schedule warmup(Schedule after, const WarmupOptions& options);

// ---- The type of an optimizer, and how to write one.

struct UpdateGroup;  // framework/ops/update/updates.h

/// A variable and the gradient of a loss with respect to it, of the same type.
struct VariableGradient {
  Variable variable;  ///< the one to change
  Tensor gradient;    ///< as edited so far
  double rate = 1;    ///< times the optimizer's learning rate, for this variable alone; at least 0
};
/// Gradients of variables of one graph.
using Gradients = std::vector<VariableGradient>;

/// When an update changes something, and what it counts by.
struct ApplyArgs {
  /// Bool []: in a step in which it is false nothing changes; undefined: true.
  Tensor condition = {};
  /// Finished steps, i64 [], by which a rule counts (Adam's t is one more). Undefined: global_step.
  Tensor step = {}, schedule_step = {};  ///< the same for the schedule of learning rates
};

/// A way to change variables by their gradients: a plain value, made by adam() and its like or by
/// make_optimizer(). It may serve any number of updates.
struct Optimizer {
  std::string name;  ///< part of the slots' names
  /// Adds the nodes that update these variables (and the slots that they need) to their graph.
  /// apply_gradients() calls it after checking the gradients.
  std::function<void(const Gradients&, const ApplyArgs&)> apply;
  Schedule learning_rate;  ///< the one that `apply` uses, for reports
};

/// A variable that an optimizer keeps beside each variable it updates, of slot_type().
struct SlotSpec {
  std::string_view name;  ///< outlives the optimizer; usually a literal
  double initial = 0;     ///< the value before the first step; 0 unless kept as_variable
};

/// Adds one update node for these groups; the slots are those of the specs, in their order. Effects
/// must change nothing where `condition` is defined and false; update ops take it and see to that.
using UpdateMaker = std::function<void(Tensor learning_rate, Tensor step,
                                       std::span<const UpdateGroup> groups, Tensor condition)>;

/// An optimizer from its slots and its update op. Variables that agree in device, dtype,
/// VariableGradient::rate and kind of state (state_of()) are handed to `update` in one call, so
/// there is usually one call; each node runs where its variables are. `learning_rate` is the
/// schedule's times that rate, rounded to f32 once. `step` is ApplyArgs::step: global_step unless
/// the update has a counter, which counts finished steps, 0 at the first, and those too at which
/// the update was left out or its condition was false.
///
/// Slots are variables of kind slot, on the device of their variable, named
/// VARIABLE/OPTIMIZER/SLOT, for example conv1/kernel/adam/m. A second optimizer of the same
/// name on the same variable has slots of its own: conv1/kernel/adam_1/m. Error: there is no
/// update; a state other than as_variable with slots that do not begin at 0 or, when it is applied,
/// variables that are not f32.
Optimizer make_optimizer(std::string name, Schedule learning_rate, std::vector<SlotSpec> slots,
                         UpdateMaker update, OptimizerState state = OptimizerState::as_variable);

// ---- The optimizers that there are.

/// Options of sgd().
struct SgdOptions {
  Schedule learning_rate = 0.01;  ///< a number, or a Schedule
  double weight_decay = 0;        ///< L2: added to the gradient, times the variable
  int decay_min_rank = 2;         ///< see the top of this file
  BELFRY_FIELDS(learning_rate, weight_decay, decay_min_rank)
};
/// Gradient descent. No slots.
Optimizer sgd(const SgdOptions& options = {});

/// Options of momentum().
struct MomentumOptions {
  Schedule learning_rate = 0.01;  ///< a number, or a Schedule
  double momentum = 0.9;          ///< in [0, 1)
  bool nesterov = false;          ///< step by gradient + momentum * accumulator
  double weight_decay = 0;        ///< L2: added to the gradient, times the variable
  int decay_min_rank = 2;         ///< see the top of this file
  bool lazy = false;  ///< leaves rows without a gradient alone; see the top of this file
  OptimizerState state = OptimizerState::as_variable;  ///< see the top of this file
  BELFRY_FIELDS(learning_rate, momentum, nesterov, weight_decay, decay_min_rank, lazy)
};
/// Gradient descent with momentum as in tf.compat.v1.train.MomentumOptimizer: the learning rate is
/// not part of the accumulator. Slot: accumulator, from 0.
Optimizer momentum(const MomentumOptions& options = {});

/// Options of adam().
struct AdamOptions {
  Schedule learning_rate = 1e-3;  ///< a number, or a Schedule
  double beta1 = 0.9;             ///< in [0, 1)
  double beta2 = 0.999;           ///< in [0, 1)
  double epsilon = 1e-8;          ///< above 0; beside sqrt(v) before it is corrected for bias
  bool lazy = false;  ///< leaves rows without a gradient alone; see the top of this file
  OptimizerState state = OptimizerState::as_variable;  ///< see the top of this file
  BELFRY_FIELDS(learning_rate, beta1, beta2, epsilon, lazy)
};
/// Adam (Kingma and Ba, ICLR 2015); epsilon as in tf.compat.v1.train.AdamOptimizer. Slots: m, v,
/// from 0. The correction for bias counts from the run's first step.
Optimizer adam(const AdamOptions& options = {});

/// Options of adamw().
struct AdamWOptions {
  Schedule learning_rate = 1e-3;  ///< a number, or a Schedule
  double beta1 = 0.9;             ///< in [0, 1)
  double beta2 = 0.999;           ///< in [0, 1)
  double epsilon = 1e-8;          ///< above 0; as in AdamOptions
  double weight_decay = 1e-2;     ///< decoupled, times the learning rate of the step
  int decay_min_rank = 2;         ///< see the top of this file
  OptimizerState state = OptimizerState::as_variable;  ///< see the top of this file
  BELFRY_FIELDS(learning_rate, beta1, beta2, epsilon, weight_decay, decay_min_rank)
};
/// Adam with decoupled weight decay (Loshchilov and Hutter, ICLR 2019). Slots: m, v, from 0.
Optimizer adamw(const AdamWOptions& options = {});

/// Options of rmsprop().
struct RmspropOptions {
  Schedule learning_rate = 1e-3;  ///< a number, or a Schedule
  double decay = 0.9;             ///< of the moving means, in [0, 1)
  double momentum = 0;            ///< in [0, 1)
  double epsilon = 1e-10;         ///< above 0; under the square root
  bool centered = false;  ///< divide by the standard deviation in place of the root mean square
  BELFRY_FIELDS(learning_rate, decay, momentum, epsilon, centered)
};
/// RMSProp as in tf.compat.v1.train.RMSPropOptimizer (Hinton, lecture 6e; centered: Graves 2013).
/// Slots: mean_square, from 1 as there; velocity, from 0, with momentum only; mean_gradient, from
/// 0, if centered.
Optimizer rmsprop(const RmspropOptions& options = {});

/// Options of adagrad().
struct AdagradOptions {
  Schedule learning_rate = 1e-3;     ///< a number, or a Schedule
  double initial_accumulator = 0.1;  ///< above 0
  BELFRY_FIELDS(learning_rate, initial_accumulator)
};
/// Adagrad (Duchi, Hazan and Singer, JMLR 2011) as in tf.compat.v1.train.AdagradOptimizer. Slot:
/// accumulator.
Optimizer adagrad(const AdagradOptions& options = {});

/// Options of ftrl().
struct FtrlOptions {
  Schedule learning_rate = 1e-3;      ///< a number, or a Schedule
  double learning_rate_power = -0.5;  ///< at most 0
  double initial_accumulator = 0.1;   ///< above 0
  double l1 = 0;                      ///< at least 0; the penalty is l1 * the sum of magnitudes
  double l2 = 0;                      ///< at least 0; the penalty is l2 * |variable|^2
  bool lazy = false;  ///< leaves rows without a gradient alone; see the top of this file
  BELFRY_FIELDS(learning_rate, learning_rate_power, initial_accumulator, l1, l2, lazy)
};
/// FTRL-proximal (McMahan et al., KDD 2013) as in tf.compat.v1.train.FtrlOptimizer. Slots:
/// accumulator; linear, from 0. A step with a learning rate of 0 changes nothing. A gradient of 0
/// changes the variable, which follows the learning rate; one that did not begin at 0 jumps at its
/// first step. With `lazy` it stays as it is until its first gradient that is not 0, as with
/// TensorFlow's sparse gradients.
/// For variables that began at 0 and a learning rate that stays the same, `lazy` changes no bit,
/// whatever the penalties are.
Optimizer ftrl(const FtrlOptions& options = {});

/// Options of lamb().
struct LambOptions {
  Schedule learning_rate = 1e-3;  ///< a number, or a Schedule
  double beta1 = 0.9;             ///< in [0, 1)
  double beta2 = 0.999;           ///< in [0, 1)
  double epsilon = 1e-6;          ///< above 0; beside sqrt(v) corrected for bias
  double weight_decay = 1e-2;     ///< inside the trust ratio
  int decay_min_rank = 2;         ///< see the top of this file
  BELFRY_FIELDS(learning_rate, beta1, beta2, epsilon, weight_decay, decay_min_rank)
};
/// LAMB (You et al., ICLR 2020, algorithm 2): each variable's step has the length learning rate
/// times norm of the variable; the plain Adam direction where that norm, or the direction's, is 0.
/// Slots: m, v, from 0.
Optimizer lamb(const LambOptions& options = {});

/// Options of clip_weights().
struct ClipWeightsOptions {
  double limit = 0.01;  ///< above 0
};
/// Weights that are kept in a box (Arjovsky et al., "Wasserstein GAN", ICML 2017, algorithm 1):
/// `optimizer`, whose updates are each followed by clipping to [-limit, limit]. What is clipped are
/// all variables that the update changes, biases and the scales of normalisations among them, and
/// nothing else: neither slots nor moving statistics, nor variables that a hook freezes. An update
/// that is left out, or whose condition is false, clips nothing. Before its first update a variable
/// is as it was initialised. Moving averages take the clipped values.
///
/// Slots have the names that the optimizer alone gives them, so a checkpoint fits both. Error: the
/// limit is not above 0.
///
///   minimize(critic_loss, clip_weights(rmsprop({.learning_rate = 5e-5})), critic.variables())
Optimizer clip_weights(Optimizer optimizer, const ClipWeightsOptions& options = {});

/// The average of the variable `conv1/kernel` is the variable `conv1/kernel/moving_average`.
inline constexpr std::string_view moving_average_suffix = "/moving_average";

/// Moving averages of variables often predict better than the variables themselves (Polyak and
/// Juditsky 1992). Adds an exponential moving average for each of these variables (of one graph)
/// and the effects that update them, by update::MovingAverage in
/// framework/ops/update/update_functors.h. Called after an optimizer's nodes were made, it averages
/// what their update leaves. In a step in which `condition` (bool []; undefined: always true) is
/// false, averages stay as they are.
///
/// An average is a variable of kind slot, of its variable's type and on its device. It begins as
/// zeros and takes its variable's value at its first update, after which it was updated once: it
/// has its own count of updates, `conv1/kernel/moving_average_count`, an i64 [] of kind slot. So it
/// weighs nothing from before its beginning, and warms up from there, wherever in training that is.
///
/// Error: the decay is outside [0, 1); a variable has an average already or is not floating.
void add_moving_averages(std::span<const Variable> variables,
                         const MovingAverageUpdateOptions& options = {}, Tensor condition = {});

}  // namespace belfry
