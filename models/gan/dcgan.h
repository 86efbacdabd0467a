#pragma once
// The networks of deep convolutional GANs.

#include "belfry/models/gan/gan.h"

namespace belfry::gan {

/// Options of dcgan_generator() and dcgan_discriminator().
struct DcganOptions {
  std::int64_t size = 32;     ///< rows and columns of an image: 8, 16, 32, ... 8192
  std::int64_t channels = 1;  ///< of an image
  std::int64_t filters =
      64;                    ///< of the layer next to the image; doubled with each layer further in
  std::int64_t noise = 100;  ///< numbers from which an image is made
  std::int64_t classes = 0;  ///< above 0: both networks are told the feature `label`, see below
  std::string label = "label";  ///< i64 [n], 0..classes-1; others: Error when the step runs
  std::int64_t logits = 1;      ///< of the discriminator, for losses that need more than one
  bool layer_norm = false;  ///< in place of the discriminator's batch norm: for gradient penalties
  bool sync_batch_norm = false;  ///< see BatchNormLayerOptions::sync
  BELFRY_FIELDS(size, channels, filters, noise, classes, label, layer_norm, sync_batch_norm)
};

/// The generator of Radford et al. ("Unsupervised representation learning with deep convolutional
/// generative adversarial networks", ICLR 2016): normal noise to 4 x 4 pixels of many filters, then
/// transposed 4 x 4 convolutions of stride 2, each with batch norm and ReLU, and tanh at the end:
/// images [n, size, size, channels] in (-1, 1). Kernels begin normal with deviation 0.02. With a
/// size of 64 and 3 channels it has 3,576,704 parameters.
///
/// With classes, the label's one-hot code stands beside the noise (Mirza and Osindero, "Conditional
/// generative adversarial nets", 2014). Error: size is no power of 2 from 8 to 8192, a number
/// below 1.
Generator dcgan_generator(const DcganOptions& options = {});
/// The same from given numbers [n, any] in place of noise and label.
Tensor dcgan_images(const Scope& scope, Tensor numbers, const DcganOptions& options, Mode mode);

/// Its counterpart: 4 x 4 convolutions of stride 2, each with leaky ReLU (slope 0.2) and, but for
/// the first, batch norm in front of it, down to 4 x 4 pixels and the logits, [n, logits].
/// 2,765,568 parameters for 64 x 64 pixels of 3 channels and one logit. With classes, their one-hot
/// code is on every pixel as channels of its own.
Discriminator dcgan_discriminator(const DcganOptions& options = {});

}  // namespace belfry::gan
