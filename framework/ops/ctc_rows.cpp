#include "belfry/framework/ops/ctc_rows.h"

namespace belfry {
namespace {

void check_row(std::string_view op, const CtcBatch& b, std::int64_t r) {
  std::int64_t frames = b.logit_lengths[r], count = b.label_lengths[r], needed = count;
  require(frames >= 0 && frames <= b.frames, op, ": logit length ", frames, " at row ", r,
          " is outside 0..", b.frames, "; it counts the frames of the row that are not padding");
  require(count >= 0 && count <= b.places, op, ": label length ", count, " at row ", r,
          " is outside 0..", b.places, "; it counts the labels of the row that are not padding");
  const std::int64_t* labels = b.labels + r * b.places;
  for (std::int64_t i = 0; i < count; ++i) {
    require(labels[i] >= 0 && labels[i] < b.classes, op, ": label ", labels[i], " at row ", r,
            ", position ", i, " is outside 0..", b.classes - 1);
    require(labels[i] != b.blank, op, ": label ", labels[i], " at row ", r, ", position ", i,
            " is the blank; labels go without blanks, whose class CtcOptions::blank names");
    if (i > 0 && labels[i] == labels[i - 1]) ++needed;
  }
  require(needed <= frames || b.zero_infinity, op, ": the ", count, " labels at row ", r,
          " need at least ", needed, " frames but its logit length is ", frames, ctc_unfitting);
}

}  // namespace

void check_ctc_batch(std::string_view op, const CtcBatch& batch) {
  for (std::int64_t r = 0; r < batch.rows; ++r) check_row(op, batch, r);
}

}  // namespace belfry
