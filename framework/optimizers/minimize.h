#pragma once
// Updates: which loss is minimised, by which optimizer, over which variables. Sets of them; and the
// changes to gradients between computing and applying them.

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "belfry/framework/base/error.h"
#include "belfry/framework/optimizers/optimizers.h"

namespace belfry {

/// Some of the updates of EstimatorSpec::train, by their index: {} is none of them, {0, 2} are the
/// first and the third. Iterates over the indices, in order.
class UpdateSet {
 public:
  static constexpr std::size_t most = 64;  ///< indices are below

  UpdateSet() = default;
  /// Error: an index is not below `most`.
  UpdateSet(std::initializer_list<std::size_t> updates) {
    for (std::size_t update : updates) {
      require(update < most, "UpdateSet: there is no update ", update, "; a step has at most ",
              most);
      bits_ |= bit(update);
    }
  }
  /// Every update, however many there are.
  static UpdateSet all() { return UpdateSet(~std::uint64_t{0}); }
  /// All whose index is below `count`.
  static UpdateSet first(std::size_t count) {
    return count < most ? UpdateSet(bit(count) - 1) : all();
  }

  bool empty() const { return bits_ == 0; }  ///< whether it has none
  /// Whether it has the update of this index; false from `most` on.
  bool contains(std::size_t update) const { return update < most && (bits_ & bit(update)) != 0; }
  /// `|`: the updates of either set; `&`: those of both.
  ///@{
  UpdateSet& operator|=(UpdateSet other) { return bits_ |= other.bits_, *this; }
  UpdateSet& operator&=(UpdateSet other) { return bits_ &= other.bits_, *this; }
  friend UpdateSet operator|(UpdateSet a, UpdateSet b) { return a |= b; }
  friend UpdateSet operator&(UpdateSet a, UpdateSet b) { return a &= b; }
  ///@}
  /// An order of sets, as keys of a map need it; it has no further meaning.
  auto operator<=>(const UpdateSet&) const = default;

  /// Walks over the indices of a set, the lowest first.
  class Iterator {
   public:
    /// Over the places of the bits set in `left`.
    explicit Iterator(std::uint64_t left) : left_(left) {}
    std::size_t operator*() const { return std::countr_zero(left_); }  ///< the index
    Iterator& operator++() { return left_ &= left_ - 1, *this; }       ///< to the next index
    bool operator==(const Iterator&) const = default;  ///< whether the same indices are left

   private:
    std::uint64_t left_;
  };
  Iterator begin() const { return Iterator(bits_); }  ///< at the lowest index
  Iterator end() const { return Iterator(0); }        ///< behind the highest one

 private:
  explicit UpdateSet(std::uint64_t bits) : bits_(bits) {}
  static std::uint64_t bit(std::size_t update) { return std::uint64_t{1} << update; }

  std::uint64_t bits_ = 0;
};

/// How the losses of towers and micro-batches become the loss of the step.
enum class TowerReduction : std::uint8_t {
  mean,  ///< weighted by rows: for a loss that is a mean over its rows
  sum,   ///< for a loss that is a sum over its rows
};

/// One update of a training step. A plain value; the gradients are built later, when hooks can edit
/// them. The updates of one step all read the variables as they were before it.
struct Update {
  Tensor loss;                                        ///< floating scalar
  Optimizer optimizer;                                ///< how gradients change the variables
  std::vector<Variable> variables;                    ///< parameters; the others stay as they are
  std::string name = {};                              ///< for reports; the optimizer's if empty
  TowerReduction over_towers = TowerReduction::mean;  ///< how towers' losses become the step's
  /// A variable of this name, i64 [], counts how often the update was made (also where its
  /// condition was false), and its rule counts by that in place of global_step: for updates that a
  /// step makes several times. Empty: none.
  std::string counter = {};
  bool schedule_by_counter = false;  ///< learning rates follow it too

  /// The name of the update in reports and messages.
  const std::string& title() const { return name.empty() ? optimizer.name : name; }
};

/// The update that changes `variables` so that `loss` falls. Error: the loss is not a floating
/// scalar; there are no variables (a Network has none before its first call), one is listed twice
/// or is not a parameter.
Update minimize(Tensor loss, Optimizer optimizer, std::vector<Variable> variables);
/// Over all parameters that the loss' graph has now.
Update minimize(Tensor loss, Optimizer optimizer);

/// The gradients of the update's loss, in the order of its variables, times `weight` (as the loss;
/// 1 if undefined). Error naming those that the loss does not depend on.
Gradients compute_gradients(const Update& update, Tensor weight = {});

/// Adds the nodes that apply these gradients: usually those of compute_gradients(), edited.
/// Variables without an entry stay as they are. In a step in which `condition` (bool []; undefined:
/// always true) is false, nothing changes: neither variables nor slots. Error: a gradient's type is
/// not its variable's; a rate is negative or not finite; the condition is of another type.
void apply_gradients(const Update& update, const Gradients& gradients, Tensor condition = {});

/// The updates of a training step: an optimizer alone stands for minimising the step's own loss
/// over all parameters.
///
///   .train = adam({.learning_rate = 1e-3f})
///   .train = {minimize(d_loss, opt, D.variables()), minimize(g_loss, opt, G.variables())}
class Updates {
 public:
  Updates() = default;  ///< none
  /// An optimizer for the step's own loss, or updates one by one.
  ///@{
  Updates(Optimizer optimizer) : optimizer_(std::move(optimizer)) {}      // NOLINT
  Updates(Update update) : updates_{std::move(update)} {}                 // NOLINT
  Updates(std::initializer_list<Update> updates) : updates_(updates) {}   // NOLINT
  Updates(std::vector<Update> updates) : updates_(std::move(updates)) {}  // NOLINT
  ///@}

  bool empty() const { return !optimizer_ && updates_.empty(); }  ///< whether there are none
  /// The updates in order; that of an optimizer alone has `loss`, reduced so over towers.
  std::vector<Update> list(Tensor loss, TowerReduction over_towers = TowerReduction::mean) const;

 private:
  std::optional<Optimizer> optimizer_;
  std::vector<Update> updates_;
};

/// The Euclidean norm of all tensors taken as one vector, f32 []; f64 [] if any is f64. Exact to
/// rounding wherever the norm itself is a number of that type: the squares are scaled, so that they
/// neither overflow nor vanish. Error: there are none.
Tensor l2_norm(std::span<const Tensor> tensors);
/// The l2_norm() of all gradients.
Tensor global_norm(const Gradients& gradients);

/// The results of clip_by_global_norm().
struct ClippedGradients {
  Gradients gradients;  ///< clipped
  Tensor norm;          ///< global_norm before clipping
};
/// Multiplies all gradients by min(1, max_norm / global_norm) (Pascanu, Mikolov and Bengio, ICML
/// 2013). When the norm is not finite all gradients become NaN, as in tf.clip_by_global_norm: the
/// step that spoilt them is not hidden. Error: max_norm is not above 0.
ClippedGradients clip_by_global_norm(const Gradients& gradients, double max_norm);

/// The same for each gradient with its own norm.
Gradients clip_by_norm(const Gradients& gradients, double max_norm);

/// Each element to [-limit, limit]. Error: limit is not above 0.
Gradients clip_by_value(const Gradients& gradients, double limit);

/// Options of clip_adaptive().
struct AdaptiveClippingOptions {
  double limit = 0.01;    ///< of a unit's gradient norm to its weights' norm
  double epsilon = 1e-3;  ///< the least that a weights' norm counts as, so that zeros can be left
};
/// Scales down the gradient of each unit whose norm is above limit * max(|weights|, epsilon) (Brock
/// et al., "High-Performance Large-Scale Image Recognition Without Normalization", 2021, section
/// 4.1). A unit is one element of the last axis, where kernels have their outputs; a variable of
/// rank 0 or 1 is one unit. The paper leaves out the last layer: give its variables to another
/// update, or leave them out of `gradients`. A gradient norm that is not finite makes its unit NaN.
/// Error: a number that is not above 0.
Gradients clip_adaptive(const Gradients& gradients, const AdaptiveClippingOptions& options = {});

/// Takes the mean of each unit's gradient from it (Yong et al., "Gradient Centralization", ECCV
/// 2020, equation 1). A unit is one element of the last axis; variables of rank 0 or 1 are left
/// alone.
Gradients centralize(const Gradients& gradients);

/// Options of add_gradient_noise().
struct GradientNoiseOptions {
  double eta = 0.01;    ///< the variance at step 0; the paper chose 0.01, 0.3 or 1.0
  double gamma = 0.55;  ///< how fast it falls
};
/// Adds normal noise of mean 0 and variance eta / (1 + global_step)^gamma to each element
/// (Neelakantan et al., "Adding Gradient Noise Improves Learning for Very Deep Networks", 2015,
/// section 3). The numbers are keyed by seed, step and the variable's name: they depend neither on
/// the list's order nor on the tower. Error: eta is not above 0, gamma is negative.
Gradients add_gradient_noise(const Gradients& gradients, const GradientNoiseOptions& options = {});

/// Divides by `scale`: gradients of `loss * scale` become those of `loss`. Error: scale is not
/// above 0.
Gradients unscale(const Gradients& gradients, double scale);

/// Whether every element of every gradient is finite, bool [].
Tensor all_finite(const Gradients& gradients);

/// Options of add_weight_decay().
struct WeightDecayOptions {
  double rate = 0;   ///< at least 0
  int min_rank = 2;  ///< variables of a lower rank (biases, scales of norms) are left alone
};
/// Adds rate * variable: the gradient of the penalty rate / 2 * |variable|^2.
Gradients add_weight_decay(const Gradients& gradients, const WeightDecayOptions& options);

}  // namespace belfry
