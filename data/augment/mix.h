#pragma once
// Augmentations of whole batches, for a map() after batch(): each row is mixed with another.
//
//   ... | data::batch(128) | data::map(data::mixup({.alpha = 0.2, .classes = 10}))
//
// They overwrite the image array of the batch they are given, shared or not, which spares a copy:
// clone() what must stay. (A batch from a Dataset belongs to whoever received it.)

#include "belfry/data/augment/augmentation.h"
#include "belfry/framework/base/fields.h"

namespace belfry::data {

/// Options of mixup() and cutmix().
struct MixOptions {
  double alpha = 1;             ///< both parameters of the Beta distribution
  double probability = 1;       ///< that a batch is mixed; labels become soft in any case
  std::int64_t classes = 0;     ///< needed for i64 labels: how many classes there are
  std::string image = "image";  ///< name of the images among the features
  std::string label = "label";  ///< name of the labels among the features
  BELFRY_FIELDS(alpha, probability, classes, image, label)
};

/// Mixup: Zhang et al., "mixup: Beyond empirical risk minimization", ICLR 2018. Row i becomes
/// k x[i] + (1 - k) x[p(i)], and its label likewise, with one k of Beta(alpha, alpha) and one
/// random permutation p for the batch, as the authors' code. Small alpha (the paper has 0.1 to 0.4
/// for ImageNet) mixes little.
///
/// The image is u8 (rounded to nearest) or f32, [n, ...]. The label is f32 [n, classes], or i64 [n]
/// with `classes` given, which becomes that. Error: alpha outside [0.001, 1000]; labels of another
/// type or shape, or not in 0 .. classes - 1.
Augmentation mixup(MixOptions options = {});

/// CutMix: Yun et al., "CutMix: Regularization strategy to train strong classifiers with
/// localizable features", ICCV 2019, section 3.1. A rectangle of each row is replaced by that of
/// row p(i): its centre is any pixel, its sides are those of the image times sqrt(1 - k) before it
/// is cut at the borders; k is then computed anew as the part of the area that stays, and labels
/// are mixed as by mixup. As torchvision's CutMix but for p, which there is the next row. The image
/// is [n, h, w, c]; labels and errors are those of mixup.
Augmentation cutmix(MixOptions options = {});

}  // namespace belfry::data
