#pragma once
// Sets of a model's updates.

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "belfry/framework/base/error.h"

namespace belfry {

/// Some of the updates of EstimatorSpec::train, by their index: {} is none of them, {0, 2} are the
/// first and the third. Iterates over the indices, in order.
class UpdateSet {
 public:
  static constexpr std::size_t most = 64;  ///< indices are below

  UpdateSet() = default;
  /// Error: an index is not below `most`.
  UpdateSet(std::initializer_list<std::size_t> updates) {
    for (std::size_t update : updates) {
      require(update < most, "UpdateSet: there is no update ", update, "; a step has at most ",
              most);
      bits_ |= bit(update);
    }
  }
  /// Every update, however many there are.
  static UpdateSet all() { return UpdateSet(~std::uint64_t{0}); }
  /// All whose index is below `count`.
  static UpdateSet first(std::size_t count) {
    return count < most ? UpdateSet(bit(count) - 1) : all();
  }

  bool empty() const { return bits_ == 0; }
  bool contains(std::size_t update) const { return update < most && (bits_ & bit(update)) != 0; }
  UpdateSet& operator|=(UpdateSet other) { return bits_ |= other.bits_, *this; }
  UpdateSet& operator&=(UpdateSet other) { return bits_ &= other.bits_, *this; }
  friend UpdateSet operator|(UpdateSet a, UpdateSet b) { return a |= b; }
  friend UpdateSet operator&(UpdateSet a, UpdateSet b) { return a &= b; }
  auto operator<=>(const UpdateSet&) const = default;

  class Iterator {
   public:
    explicit Iterator(std::uint64_t left) : left_(left) {}
    std::size_t operator*() const { return std::countr_zero(left_); }
    Iterator& operator++() { return left_ &= left_ - 1, *this; }
    bool operator==(const Iterator&) const = default;

   private:
    std::uint64_t left_;
  };
  Iterator begin() const { return Iterator(bits_); }
  Iterator end() const { return Iterator(0); }

 private:
  explicit UpdateSet(std::uint64_t bits) : bits_(bits) {}
  static std::uint64_t bit(std::size_t update) { return std::uint64_t{1} << update; }

  std::uint64_t bits_ = 0;
};

}  // namespace belfry
