#pragma once
// A learning rate that follows an evaluation.

#include <cstdint>
#include <memory>
#include <string>

#include "belfry/framework/optimizers/optimizers.h"
#include "belfry/framework/train/hook.h"
#include "belfry/hooks/evaluate/early_stopping.h"

namespace belfry::hooks {

/// Options of plateau().
struct PlateauOptions {
  double factor = 0.1;  ///< the rate is multiplied by it, in (0, 1)
  std::int64_t patience =
      10;  ///< results in a row without a better one after which it is; at least 1
  Better better = Better::lower;  ///< lower or higher results
  double min_change = 0;          ///< a result is better if it is by more than this; at least 0
  std::int64_t cooldown = 0;      ///< so many results after that are not waited for; at least 0
  double least = 0;               ///< the product of all factors is at least this, in [0, 1)
  /// The name of the hook, and of the variable NAME/factor that holds the product.
  std::string name = "plateau";
};

/// A hook that lowers learning rates when nothing gets better: see plateau().
class Plateau : public Hook {
 public:
  /// `base` times the factor so far, for an optimizer of the model.
  virtual Schedule schedule(Schedule base) const = 0;
  /// The next result, from the training's thread, on the chief. One that is not finite is no
  /// better.
  virtual void add(double result) = 0;
};

/// The learning rate falls when an evaluation gets no better, as by ReduceLROnPlateau of Keras and
/// PyTorch (which waits for one result more):
///
///   auto plateau = hooks::plateau({.factor = 0.5, .patience = 3});
///   // in model_fn:  .train = adam({.learning_rate = plateau->schedule(1e-3)})
///   auto receive = [plateau](auto, const EvalResult& r) { plateau->add(r.at("loss")); };
///   train_and_evaluate(estimator, {train, {.max_steps = 10'000, .hooks = {plateau}}},
///                      {{.input_fn = test, .every = Steps(500), .receive = receive}});
///
/// The new rate counts from the step after the next on. A run that resumes goes on to the bit.
/// Error: options out of their range.
std::shared_ptr<Plateau> plateau(PlateauOptions options = {});

}  // namespace belfry::hooks
