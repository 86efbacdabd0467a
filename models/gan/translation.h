#pragma once
// Networks that translate images, and that judge them patch by patch (Zhu et al., "Unpaired
// image-to-image translation using cycle-consistent adversarial networks", ICCV 2017, section 7.2).

#include "belfry/models/gan/gan.h"

namespace belfry::gan {

/// An image from an image, [n, h, w, c] -> [n, h, w, channels].
using Translator = std::function<Tensor(Scope, Tensor)>;

/// Options of resnet_translator().
struct ResnetTranslatorOptions {
  std::int64_t channels = 3;  ///< of the result
  std::int64_t filters = 64;  ///< of the layer next to the image, at least 1
  int blocks = 9;             ///< 9 for images from 256 x 256 on, 6 for smaller ones in the paper
  bool reflect = true;        ///< borders mirror the image; else they are zeros
};
/// 7 x 7 convolution, two 3 x 3 of stride 2 that double the filters, residual blocks of two 3 x 3
/// convolutions, two transposed ones of stride 2, 7 x 7 convolution and tanh: images in (-1, 1).
/// Behind each convolution but the last stands instance norm (group_norm() of as many groups as
/// channels, without scale and offset), then ReLU but for a block's second. Kernels begin normal
/// with deviation 0.02. 11,378,179 parameters for 3 channels on both sides, as the authors' program
/// has.
///
/// Error: a number is below 1 (blocks: 0); when the model is built, rows or columns of the image
/// are no multiple of 4, or fewer than 8.
Translator resnet_translator(const ResnetTranslatorOptions& options = {});

/// Options of patch_discriminator().
struct PatchDiscriminatorOptions {
  std::int64_t filters = 64;  ///< of the first layer; doubled with each further one, up to 8 times
  int layers = 3;             ///< of stride 2, at least 1; 3: a logit sees 70 x 70 pixels
};
/// Convolutions of 4 x 4: `layers` of stride 2, one more of stride 1, each with instance norm but
/// for the first, and leaky ReLU (slope 0.2); then one filter: a logit for each patch, 30 x 30 of
/// them for images of 256 x 256. 2,764,737 parameters for 3 channels. Reads the data alone. Error:
/// a number is below 1; when the model is built, an image too small for any patch.
Discriminator patch_discriminator(const PatchDiscriminatorOptions& options = {});

}  // namespace belfry::gan
