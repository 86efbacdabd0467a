#pragma once
// The rows of batches, one after the other: what unbatch and rebatch share. Internal to data/.

#include <string_view>
#include <utility>

#include "belfry/data/transforms/read_ahead.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {

class RowReader {
 public:
  /// `what` names the transform, `field` its part of a position; both are kept, not copied.
  RowReader(IteratorPtr source, const char* what, std::string_view field)
      : source_(std::move(source)), what_(what), field_(field) {}

  /// Sees to it that there is a row, and reads the next batch if need be. False at the end. Error:
  /// that batch could not be read or is none, and is done with.
  bool load() {
    while (left_ == 0) {
      std::int64_t row = std::exchange(row_, 0);
      before_.note(*source_);
      if (!source_->next(batch_)) return false;
      for_element(what_, batch_, [&] { look_at(batch_.features); });
      std::int64_t rows = batch_type_[0].second.shape[0];
      require(row == 0 || row < rows, "input: the saved position is row ", row, " of ",
              to_string(batch_), ", which now has ", rows, " rows");
      row_ = row;
      left_ = rows - row;
    }
    return true;
  }

  Features& batch() { return batch_.features; }
  const Signature& row_type() const { return row_type_; }
  std::int64_t row() const { return row_; }    ///< the next one's number in batch()
  std::int64_t left() const { return left_; }  ///< rows from that on

  /// Goes on by `count` rows, 0 <= count <= left().
  void advance(std::int64_t count) {
    left_ -= count;
    row_ = left_ == 0 ? 0 : row_ + count;
  }

  /// Within a batch: where that begins, to be read again.
  void position(Position& at) {
    at.field(field_, row_);
    if (at.saving() && left_ > 0)
      before_.append_to(at);
    else
      source_->position(at);
  }

 private:
  void look_at(const Features& batch) {
    if (!batch.empty() && matches(batch, batch_type_)) return;
    Signature type = signature_of(batch), row;
    require(!type.empty(), what_, ": a batch without features");
    for (const auto& [name, t] : type) {
      require(t.shape.rank() >= 1, what_, ": `", name, "` is a scalar; a batch has rows");
      require(t.shape[0] == type[0].second.shape[0], what_,
              ": features must agree in axis 0, but `", type[0].first, "` is ",
              type[0].second.shape, " and `", name, "` is ", t.shape);
      row.emplace_back(name, TensorType{Shape(t.shape.sizes().subspan(1)), t.dtype});
    }
    batch_type_ = std::move(type);
    row_type_ = std::move(row);
  }

  IteratorPtr source_;
  const char* what_;
  std::string_view field_;
  Element batch_;
  Signature batch_type_, row_type_;
  Place before_;  // the source's, before the batch
  std::int64_t row_ = 0, left_ = 0;
};

}  // namespace belfry::data
