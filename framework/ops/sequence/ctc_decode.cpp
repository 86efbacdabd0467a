#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/nn_checks.h"
#include "belfry/framework/ops/sequence/sequence_rows.h"
#include "belfry/framework/ops/sequence/sequences.h"

namespace belfry {
namespace {

std::vector<TensorType> shape(const ShapeContext& c) {
  check_sequences(c.op, "path", c.inputs[0], c.inputs[1]);
  return {c.inputs[0], c.inputs[1]};
}

void reference(const KernelContext& c) {
  auto path = SequenceRows::of(c.input(0).shape(), c.input(0).data, c.input(1).data);
  std::int64_t rows = c.input(0).shape()[0];
  check_lengths(c.op, "path", path, rows);
  auto *labels = c.output(0).as<std::int64_t>(), *lengths = c.output(1).as<std::int64_t>();
  for (std::int64_t row = 0; row < rows; ++row)
    lengths[row] =
        collapse_row(path, row, c.as<CtcCollapseOptions>().blank, labels + row * path.max_length);
}

}  // namespace

const OpDef ctc_collapse_op{
    .name = "ctc_collapse", .shape = shape, .gradient = no_gradient, .reference = reference};

Sequences ctc_collapse(Tensor path, Tensor lengths, std::int64_t blank) {
  auto x = whole_sequences("ctc_collapse", "path", {path, lengths});
  Node& node = apply(ctc_collapse_op, {x.labels, x.lengths}, CtcCollapseOptions{.blank = blank});
  return {Tensor(node, 0), Tensor(node, 1)};
}

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
