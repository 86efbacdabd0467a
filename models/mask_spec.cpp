#include "belfry/models/mask_spec.h"

#include "belfry/framework/base/option_checks.h"
#include "belfry/models/feature_checks.h"

namespace belfry::models {

void check(std::string_view function, const MaskOptions& o) {
  require_not_negative(function, "positive_weight", o.positive_weight);
  require_not_negative(function, "dice_weight", o.dice_weight);
  require_share(function, "threshold", o.threshold);
}

EstimatorSpec mask_spec(const Scope& s, Tensor logits, const Batch& batch, Mode mode,
                        const MaskOptions& o) {
  Tensor probability = sigmoid(logits);
  if (mode == Mode::predict)
    return {.predictions = {{"probability", probability},
                            {"mask", greater(probability, constant(logits.graph(), o.threshold,
                                                                   logits.dtype()))}}};
  Tensor mask = batch["mask"];
  at_scope(s.path(), [&] {
    require(mask.shape() == logits.shape(), "mask_spec: the mask is ", mask.type(),
            " but its image needs ", logits.shape());
    require(is_floating(mask.dtype()), "mask_spec: the mask must be of a floating type, got ",
            mask.type(), "; cast it first, for example by data::to_float()");
  });
  mask = checked_beside(logits, "mask", mask, 0, 1,
                        {.what = "mask_spec: the feature `mask`",
                         .remedy = "masks lie in [0, 1]; divide one of 0 and 255 by 255, for "
                                   "example by data::to_float()"});
  Tensor loss =
      mean(weighted_sigmoid_cross_entropy(logits, mask, {.positive_weight = o.positive_weight}));
  if (o.dice_weight != 0) loss = loss + mean(dice_loss(logits, mask)) * o.dice_weight;
  Tensor set = greater(mask, constant(mask.graph(), 0.5, mask.dtype()));
  return {.loss = loss,
          .train = o.optimizer,
          .metrics = {{"dice", dice(set, probability, {.threshold = o.threshold})},
                      {"background_dice",
                       dice(logical_not(set), 1 - probability, {.threshold = 1 - o.threshold})}}};
}

}  // namespace belfry::models
