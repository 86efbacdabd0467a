#include "belfry/framework/ops/ctc.h"

#include "belfry/framework/layers/losses.h"
#include "belfry/framework/layers/weighting.h"

namespace belfry {

Tensor ctc(Tensor logits, Tensor labels, Tensor logit_lengths, Tensor label_lengths,
           CtcLossOptions o) {
  Tensor losses = ctc_loss(logits, labels, logit_lengths, label_lengths,
                           {.blank = o.blank, .zero_infinity = o.zero_infinity});
  return layers::weigh("ctc", losses, o.weights);
}

}  // namespace belfry
