#pragma once
// Telling a network of a GAN what its data are to be: labels as one-hot codes.

#include "belfry/framework/framework.h"

namespace belfry::gan {

/// x [n, ..., c] with a code [n, k] beside its last axis, at every place: [n, ..., c + k] (Mirza
/// and Osindero, "Conditional generative adversarial nets", 2014; Radford et al. for images). The
/// code is cast to the type of x. Error: the code is no matrix, or has other rows than x.
Tensor concat_code(Tensor x, Tensor code);

/// Labels (i32 or i64 [n], 0..classes-1) as f32 [n, classes]: a 1 at the label, else 0. A label
/// outside is an Error when the step runs, unlike one_hot().
Tensor one_hot_codes(Tensor labels, std::int64_t classes);

/// x [n, ..., c] and labels: concat_code() of their one_hot_codes().
Tensor concat_one_hot(Tensor x, Tensor labels, std::int64_t classes);

/// x [n, ...] plus the layer dense() of a code [n, ...] under `s`, with an output for each element
/// of a row of x: TF-GAN's condition_tensor(). Variables `kernel` and `bias`. Error: x has one axis
/// or other rows than the code.
Tensor condition_on(const Scope& s, Tensor x, Tensor code);

/// Options of condition_on_one_hot().
struct OneHotConditionOptions {
  std::int64_t classes;          ///< required
  std::int64_t embedding = 256;  ///< numbers that are learnt for each class
};
/// condition_on() of a vector that is learnt for each label, embedding() under `s` / "embedding":
/// TF-GAN's condition_tensor_from_onehot(), whose product of one-hot codes with a table this is.
/// Labels: i32 or i64 [n]; one outside 0..classes-1 is an Error when the step runs.
Tensor condition_on_one_hot(const Scope& s, Tensor x, Tensor labels,
                            const OneHotConditionOptions& options);

}  // namespace belfry::gan
