#include "belfry/framework/layers/loss_support.h"
#include "belfry/framework/layers/losses/losses.h"
#include "belfry/framework/ops/sequence/ctc_rows.h"

namespace belfry {

Tensor ctc(Tensor logits, Tensor labels, Tensor logit_lengths, Tensor label_lengths,
           CtcLossOptions o) {
  check_ctc_operands("ctc", {logits, labels, logit_lengths, label_lengths}, o.blank);
  Tensor losses = ctc_loss(logits, labels, logit_lengths, label_lengths,
                           {.blank = o.blank, .zero_infinity = o.zero_infinity});
  return layers::weigh("ctc", losses, o.weights);
}

}  // namespace belfry
