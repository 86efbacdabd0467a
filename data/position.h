#pragma once
// Where an iterator stands, as text.

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::data {

/// The named numbers that say where a chain of iterators stands: "batch.index=3 indexed.next=24".
/// One object either saves or restores, and an iterator's position() describes both at once, by
/// naming its fields and then handing the object to its source:
///
///   void position(Position& at) override {
///     at.field("take.left", left_);
///     source_->position(at);
///   }
class Position {
 public:
  /// Saves.
  Position() = default;
  /// Restores from what text() returned.
  explicit Position(std::string saved) : saved_(std::move(saved)), saving_(false) {}

  bool saving() const { return saving_; }  ///< false: restoring

  /// Saving: notes `value`. Restoring: sets it. `name` is a string literal (it is kept, not
  /// copied). Error when restoring and the saved text has another field here, is damaged, or holds
  /// a value outside [low, high]; of what is named *.index, one above half of what fits.
  void field(std::string_view name, std::int64_t& value, std::int64_t low = 0,
             std::int64_t high = std::numeric_limits<std::int64_t>::max());
  void field(std::string_view name, bool& value);  ///< the same, as 0 or 1
  /// Notes a value that must still be the same when restoring: Error otherwise.
  void constant(std::string_view name, std::int64_t value);
  /// As field(), for any number of values: "bucket.waiting=3,0,4,9" holds 0, 4 and 9.
  void list(std::string_view name, std::vector<std::int64_t>& values, std::int64_t low = 0,
            std::int64_t high = std::numeric_limits<std::int64_t>::max());

  /// Saving: adds all fields of `other`, which was saved before.
  void append(const Position& other);
  /// Saving: forgets all fields and keeps the memory.
  void clear() { fields_.clear(); }

  /// Restoring: Error unless every field has been read.
  void finish() const;

  /// Saving: all fields so far, as one line.
  std::string text() const;

 private:
  struct Field {
    std::string_view name;  // empty: one more value of the list before it
    std::int64_t value;
  };
  std::int64_t read(std::string_view name);
  std::int64_t read_number(std::string_view rest, std::size_t begin);

  std::vector<Field> fields_;
  std::string saved_;
  std::size_t cursor_ = 0;  // into saved_
  bool saving_ = true;
};

}  // namespace belfry::data
