#pragma once
// GANs whose discriminator classifies as well (Odena et al., "Conditional image synthesis with
// auxiliary classifier GANs", ICML 2017).

#include "belfry/models/gan/dcgan.h"

namespace belfry::gan {

/// Options of with_classification().
struct ClassificationOptions {
  std::int64_t classes = 10;     ///< at least 1
  double generator_weight = 1,   ///< of the term in its loss, at least 0
      discriminator_weight = 1;  ///< likewise
};
/// For a discriminator with logits [n, 1 + classes]: `loss` of the first, plus the mean
/// cross-entropy of the others with `labels` (i64 [n], of real and generated rows alike): that of
/// generated data in the generator's loss, those of real and of generated data in the
/// discriminator's. Error: a number out of range; logits of another shape; when the step runs, a
/// label outside 0..classes-1.
Loss with_classification(Loss loss, Tensor labels, const ClassificationOptions& options = {});

/// Options of acgan().
struct AcganOptions {
  DcganOptions networks = {.classes = 10};  ///< classes: at least 1
  /// `loss` is of the first logit; networks that are not set are DCGAN's, of which the
  /// discriminator is not told the class. One of your own gives logits [n, 1 + classes].
  GanOptions gan = {};
  double generator_weight = 1,   ///< see ClassificationOptions
      discriminator_weight = 1;  ///< likewise
  /// The fields of all parts as its own: see OptionStruct.
  static void fields(auto& o, auto&& field) {
    DcganOptions::fields(o.networks, field);
    field("generator_weight", o.generator_weight);
    field("discriminator_weight", o.discriminator_weight);
    GanOptions::fields(o.gan, field);
  }
};
/// A GAN with classification: features "image" (GanOptions::real) and "label"
/// (DcganOptions::label), of which predict() needs the second. Metrics beside those of gan():
/// "real_accuracy" and "generated_accuracy", how often the class of an image is recognised. Error:
/// as with_classification(), dcgan_generator() and gan().
ModelFn acgan(AcganOptions options = {});

}  // namespace belfry::gan
