#include "belfry/models/mask_spec.h"

namespace belfry::models {

EstimatorSpec mask_spec(const Scope& s, Tensor logits, const Batch& batch, Mode mode,
                        const MaskOptions& o) {
  Tensor probability = sigmoid(logits);
  if (mode == Mode::predict)
    return {.predictions = {{"probability", probability},
                            {"mask", greater(probability, constant(logits.graph(), o.threshold,
                                                                   logits.dtype()))}}};
  Tensor mask = batch["mask"];
  require(mask.shape() == logits.shape(), "the mask is ", mask.type(), " but its image needs ",
          logits.shape(), at(s));
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

std::string at(const Scope& s) { return s.path().empty() ? "" : concat(" (at ", s.path(), ")"); }

void require_multiple(const Scope& s, std::string_view model, const Tensor& x, std::int64_t unit,
                      std::string_view why) {
  for (int axis = 1; axis < x.rank() - 1; ++axis)
    require(x.size(axis) > 0 && x.size(axis) % unit == 0, model, ": axis ", axis, " of ", x.type(),
            " is no multiple of ", unit, ", as ", why, "; pad or crop it", at(s));
}

}  // namespace belfry::models
