#include "belfry/framework/ops/recurrent/recurrence.h"

#include "belfry/framework/base/error.h"

namespace belfry {
namespace {

bool has_c(RecurrentCell cell) {
  return dispatch_cell(cell, [](auto c) { return decltype(c)::has_c; });
}
int kept_of(RecurrentCell cell) {
  return dispatch_cell(cell, [](auto c) { return decltype(c)::kept; });
}

}  // namespace

int recurrent_gates(RecurrentCell cell) {
  return dispatch_cell(cell, [](auto c) { return decltype(c)::gates; });
}

RecurrentIndices::RecurrentIndices(const RecurrentNodeOptions& o) {
  RecurrentCell cell = o.recurrent.cell;
  int output = 2;
  if (o.bias) bias = inputs++;
  if (o.initial) h = inputs++;
  if (o.initial && has_c(cell)) c = inputs++;
  if (o.lengths) lengths = inputs++;
  if (has_c(cell)) out_c = output++;
  if (kept_of(cell) > 0) kept = output++;
}

RecurrentGradIndices::RecurrentGradIndices(const RecurrentGradOptions& o) {
  RecurrentCell cell = o.recurrent.cell;
  int input = 2, output = 2;
  if (kept_of(cell) > 0) kept = input++;
  if (o.initial) h = input++;
  if (o.initial && has_c(cell)) c = input++;
  if (o.lengths) lengths = input++;
  if (o.dy) dy = input++;
  if (o.dh) dh = input++;
  if (o.dc) dc = input++;
  if (has_own_dq(cell)) dq = output++;
  if (o.initial) out_dh = output++;
  if (o.initial && has_c(cell)) out_dc = output++;
}

RecurrentSizes::RecurrentSizes(const Shape& y, RecurrentOptions options)
    : rows(y[0]),
      steps(y[1]),
      units(y[2]),
      gates(recurrent_gates(options.cell)),
      kept(kept_of(options.cell)),
      reverse(options.reverse) {}

void check_recurrent_lengths(const std::int64_t* lengths, const RecurrentSizes& sizes) {
  for (std::int64_t row = 0; lengths && row < sizes.rows; ++row)
    require(lengths[row] >= 0 && lengths[row] <= sizes.steps, recurrent_op.name, ": length ",
            lengths[row], " at row ", row, " is outside 0..", sizes.steps,
            "; it counts the steps of the row that are not padding");
}

}  // namespace belfry
