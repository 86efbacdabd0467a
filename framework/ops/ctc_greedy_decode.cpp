#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/ops/reduce.h"
#include "belfry/framework/ops/sequences.h"

namespace belfry {

Sequences ctc_greedy_decode(Tensor logits, Tensor lengths, CtcDecodeOptions o) {
  constexpr std::string_view op = "ctc_greedy_decode";
  require_defined(op, {logits, lengths});
  check_at(logits, [&] {
    require_floating(op, "logits", logits.type());
    require_rank(op, "logits", logits.type(), 3, "[n, t, classes]");
    std::int64_t classes = logits.size(2);
    require(o.blank >= -classes && o.blank < classes, op, ": blank ", o.blank,
            " is not a class of logits ", logits.type());
  });
  return ctc_collapse(argmax(logits, 2), lengths, o.blank < 0 ? o.blank + logits.size(2) : o.blank);
}

}  // namespace belfry
