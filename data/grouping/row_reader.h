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

  /// Sees to it that there is a row, and reads batches if need be. False at the end. Error: a batch
  /// could not be read or is none, and is done with.
  bool load() {
    while (left_ == 0)
      if (!read()) return false;
    return true;
  }

  /// Sees to it that row_type() is known, and reads a batch if need be. False and Error: as above.
  bool look() { return !row_type_.empty() || read(/*last=*/true); }

  Features& batch() { return batch_.features; }
  const Signature& row_type() const { return row_type_; }
  std::int64_t row() const { return row_; }    ///< the next one's number in batch()
  std::int64_t left() const { return left_; }  ///< rows from that on

  /// Goes on by `count` rows, 0 <= count <= left().
  void advance(std::int64_t count) {
    left_ -= count;
    row_ += count;
  }

  /// Goes on by so many, once `use` has been called with the batch and the number of the first;
  /// also if that fails.
  template <class Use>
  void consume(std::int64_t count, Use use) {
    struct Advance {
      RowReader& self;
      std::int64_t count;
      ~Advance() { self.advance(count); }
    } advance{*this, count};
    for_element(what_, batch_, [&] { use(std::as_const(batch_.features), row_); });
  }

  /// Within a batch: where that begins, to be read again. Also behind its last row, if `look` says
  /// that look() will be asked first.
  void position(Position& at, bool look = false) {
    bool again = left_ > 0 || (look && !row_type_.empty());
    std::int64_t row = again ? row_ : resume_;
    at.field(field_, row);
    if (!at.saving()) resume_ = row;
    if (at.saving() && again)
      before_.append_to(at);
    else
      source_->position(at);
  }

 private:
  // `last`: a restored position may be behind the last row.
  bool read(bool last = false) {
    std::int64_t row = std::exchange(resume_, 0);
    before_.note(*source_);
    try {
      if (!source_->next(batch_)) return false;
      for_element(what_, batch_, [&] { look_at(batch_.features); });
    } catch (...) {
      batch_type_.clear();  // nothing is known any more, as after a restored position
      row_type_.clear();
      throw;
    }
    std::int64_t rows = batch_type_[0].second.shape[0];
    require(row == 0 || row < rows + last, "input: the saved position is row ", row, " of ",
            to_string(batch_), ", which now has ", rows, " rows");
    row_ = row;
    left_ = rows - row;
    return true;
  }

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
  SourcePosition before_;  // the source's, before the batch
  std::int64_t row_ = 0, left_ = 0;
  std::int64_t resume_ = 0;  // row of the next batch to go on with, after a restored position
};

}  // namespace belfry::data
