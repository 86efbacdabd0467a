#include "belfry/framework/ops/sequence/sequence_rows.h"

#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/nn_checks.h"

namespace belfry {
namespace {

void require_whole(std::string_view op, std::string_view operand, const Tensor& x) {
  require(x.dtype() == DType::i32 || x.dtype() == DType::i64, op, ": ", operand,
          " must be i32 or i64, got ", x.type(), "; cast them");
}

}  // namespace

void check_sequences(std::string_view op, std::string_view operand, const TensorType& labels,
                     const TensorType& lengths) {
  require_rank(op, operand, labels, 2, "[n, l]");
  std::int64_t rows = labels.shape[0];
  require(lengths.shape == Shape{rows}, op, ": the lengths of ", operand, " must be [", rows,
          "], one for each row of ", labels, ", got ", lengths);
  require_type(op, operand, labels, {labels.shape, DType::i64});
  require_type(op, concat("lengths of ", operand), lengths, {{rows}, DType::i64});
}

void check_lengths(std::string_view op, std::string_view operand, const SequenceRows& rows,
                   std::int64_t count) {
  for (std::int64_t row = 0; row < count; ++row)
    require(!rows.is_bad(row), op, ": length ", rows.lengths[row], " of ", operand, " at row ", row,
            " is outside 0..", rows.max_length, "; it counts what is not padding");
}

Sequences whole_sequences(std::string_view op, std::string_view operand, Sequences x) {
  require(x.labels.defined() && x.lengths.defined(), op, ": ", operand,
          " or its lengths are undefined");
  check_at(x.labels, [&] {
    require_whole(op, operand, x.labels);
    require_whole(op, concat("lengths of ", operand), x.lengths);
  });
  return {cast(x.labels, DType::i64), cast(x.lengths, DType::i64)};
}

}  // namespace belfry
