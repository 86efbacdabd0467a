#pragma once
// CycleGAN: translations between two kinds of images of which no pairs are known (Zhu et al., ICCV
// 2017).

#include "belfry/models/gan/tensor_pool.h"
#include "belfry/models/gan/translation.h"

namespace belfry::gan {

/// Options of cyclegan().
struct CycleganOptions {
  std::string a = "a",            ///< a feature: images [n, h, w, a_channels] in [-1, 1]
      b = "b";                    ///< the other one: images of the same size, with b_channels
  std::int64_t a_channels = 3,    ///< at least 1
      b_channels = 3;             ///< likewise
  std::int64_t filters = 32;      ///< of both kinds of networks next to the image; theirs have 64
  int blocks = 6;                 ///< see ResnetTranslatorOptions
  bool reflect = true;            ///< likewise
  int patch_layers = 3;           ///< see PatchDiscriminatorOptions
  Loss loss = least_squares();    ///< adversarial, in both directions
  double adversarial_weight = 2;  ///< of a generator's loss: 2 undoes the half in least_squares()
  double cycle_weight = 10;       ///< at least 0, as the others
  double identity_weight = 0;     ///< 5 in their paintings (section 5.2), where it keeps colours
  TensorPoolOptions pool = {};    ///< of each direction
  bool use_pool = true;  ///< false: discriminators see the generated images of the step alone
  /// For both networks of a kind at once.
  ///@{
  Optimizer generator_optimizer = adam({.learning_rate = 2e-4, .beta1 = 0.5});
  Optimizer discriminator_optimizer = adam({.learning_rate = 2e-4, .beta1 = 0.5});
  ///@}
  /// Most fields, and the size of the pool as pool_size: see OptionStruct.
  static void fields(auto& o, auto&& field) {
    field("a", o.a);
    field("b", o.b);
    field("a_channels", o.a_channels);
    field("b_channels", o.b_channels);
    field("filters", o.filters);
    field("blocks", o.blocks);
    field("reflect", o.reflect);
    field("patch_layers", o.patch_layers);
    field("adversarial_weight", o.adversarial_weight);
    field("cycle_weight", o.cycle_weight);
    field("identity_weight", o.identity_weight);
    field("pool_size", o.pool.size);
    field("use_pool", o.use_pool);
    field("generator_optimizer", o.generator_optimizer);
    field("discriminator_optimizer", o.discriminator_optimizer);
  }
};

/// The model_fn of a CycleGAN: two generators, resnet_translator(), in a_to_b/generator/ and
/// b_to_a/generator/; behind each a patch_discriminator() for what it makes, in
/// a_to_b/discriminator/ (which knows b) and b_to_a/discriminator/, and its tensor_pool(). Defaults
/// are those of the paper, but for the size of the networks.
///
/// A step trains all four networks on one batch, with what the others were before it, as the
/// authors' program does:
///
///   generators:      adversarial_weight (loss of both) + cycle_weight cycle_consistency(a, b)
///                    + identity_weight (E|a_to_b(b) - b| + E|b_to_a(a) - a|)
///   discriminators:  loss of both, with generated images out of the pools
///
/// Training reports the generators' loss as the loss and the values generator_loss,
/// discriminator_loss and cycle_loss; they are the metrics of evaluate() too, where no pool is
/// used.
///
/// predict() takes batches with one of the features or both, and builds what they need: a feature
/// `a` gives the prediction "a_to_b", a feature `b` "b_to_a".
///
/// Error: an option is out of range; when the model is built, an image has other channels than
/// stated, the two differ in number of channels and identity_weight is not 0, or predict() has
/// neither.
ModelFn cyclegan(CycleganOptions options = {});

}  // namespace belfry::gan
