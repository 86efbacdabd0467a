#include "belfry/framework/ops/sequence/ctc_rows.h"

#include "belfry/framework/ops/nn_checks.h"

namespace belfry {
namespace {

constexpr std::array<std::string_view, 4> operand_names{"logits", "labels", "logit_lengths",
                                                        "label_lengths"};

void require_whole(std::string_view op, std::string_view operand, const TensorType& type) {
  require(type.dtype == DType::i32 || type.dtype == DType::i64, op, ": ", operand,
          " must be i32 or i64, got ", type, "; cast them");
}

void check_row(std::string_view op, const CtcBatch& b, std::int64_t r) {
  std::int64_t frames = b.logit_lengths[r], count = b.label_lengths[r], needed = count;
  require(frames >= 0 && frames <= b.frames, op, ": logit length ", frames, " at row ", r,
          " is outside 0..", b.frames, "; it counts the frames of the row that are not padding");
  require(count >= 0 && count <= b.max_length, op, ": label length ", count, " at row ", r,
          " is outside 0..", b.max_length,
          "; it counts the labels of the row that are not padding");
  const std::int64_t* labels = b.labels + r * b.max_length;
  for (std::int64_t i = 0; i < count; ++i) {
    require(labels[i] >= 0 && labels[i] < b.classes, op, ": label ", labels[i], " at row ", r,
            ", position ", i, " is outside 0..", b.classes - 1);
    require(labels[i] != b.blank, op, ": label ", labels[i], " at row ", r, ", position ", i,
            " is the blank; labels go without blanks, whose class the option blank names");
    if (i > 0 && labels[i] == labels[i - 1]) ++needed;
  }
  require(needed <= frames || b.zero_infinity, op, ": the ", count, " labels at row ", r,
          " need at least ", needed, " frames but its logit length is ", frames, ctc_unfitting);
}

}  // namespace

void check_ctc_types(std::string_view op, std::span<const TensorType> types, std::int64_t blank) {
  const TensorType &logits = types[0], &labels = types[1];
  require_floating(op, "logits", logits);
  require_rank(op, "logits", logits, 3, "[n, t, classes]");
  require_rank(op, "labels", labels, 2, "[n, l]");
  std::int64_t n = logits.shape[0], classes = logits.shape[2];
  require(labels.shape[0] == n, op, ": labels ", labels, " must have a row for each of the ", n,
          " of logits ", logits);
  require_whole(op, "labels", labels);
  for (std::size_t i : {2, 3}) {
    require(types[i].shape == Shape{n}, op, ": ", operand_names.at(i), " must be [", n,
            "], one for each row of logits ", logits, ", got ", types[i]);
    require_whole(op, operand_names.at(i), types[i]);
  }
  require(blank >= -classes && blank < classes, op, ": blank ", blank, " is not a class of logits ",
          logits);
}

void check_ctc_operands(std::string_view op, const std::array<Tensor, 4>& operands,
                        std::int64_t blank) {
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    require(operands.at(i).defined(), op, ": input ", i, ", ", operand_names.at(i),
            ", is undefined");
    types.push_back(operands.at(i).type());
  }
  check_at(operands[0], [&] { check_ctc_types(op, types, blank); });
}

void check_ctc_batch(std::string_view op, const CtcBatch& batch) {
  for (std::int64_t r = 0; r < batch.rows; ++r) check_row(op, batch, r);
}

}  // namespace belfry
