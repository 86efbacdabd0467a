#pragma once
// Which of the elements read ahead have been handed out, when that is not done in order. Internal
// to data/.

#include <cstdint>
#include <deque>
#include <utility>

#include "belfry/data/transforms/read_ahead.h"

namespace belfry::data {

/// Elements are numbered in the order in which the source yields them. All before the first missing
/// one have been handed out, and some of the next `window`.
class Delivered {
 public:
  static constexpr std::int64_t window = 62;  // bits of a field of Position

  std::int64_t first_missing() const { return first_; }

  /// To be called before `source` is read, also after a position was restored.
  void begin(Iterator& source) {
    if (!std::exchange(begun_, true)) position_.note(source);
  }

  /// Element `number`, less than `window` from the first missing one, is handed out (perhaps was so
  /// before the position was saved); `after` is where the source stood once it had yielded it.
  void add(std::int64_t number, SourcePosition after) {
    while (std::ssize(later_) <= number - first_) later_.emplace_back();
    later_[number - first_] = {true, true, std::move(after)};
    while (!later_.empty() && later_.front().filled) {
      position_ = std::move(later_.front().after);
      later_.pop_front();
      ++first_;
    }
  }

  /// Whether element `number` was handed out.
  bool contains(std::int64_t number) const {
    std::size_t i = number - first_;
    return i < later_.size() && later_[i].delivered;
  }

  /// Saves where the first missing element is read and which later ones are not missing; or
  /// restores it. Before begin(), and for restoring, `source` is asked.
  void position(Position& at, Iterator& source) {
    std::int64_t ahead = 0;
    for (std::size_t i = 0; i < later_.size(); ++i)
      if (later_[i].delivered) ahead |= std::int64_t{1} << i;
    at.field("map.ahead", ahead, 0, (std::int64_t{1} << window) - 1);
    if (at.saving() && begun_)
      position_.append_to(at);
    else
      source.position(at);
    if (at.saving()) return;
    for (later_.clear(); ahead != 0; ahead >>= 1) later_.push_back({(ahead & 1) != 0, false, {}});
  }

 private:
  struct Entry {
    bool delivered = false;
    bool filled = false;  // `after` is known: not yet so for what a restored position says
    SourcePosition after;
  };

  std::int64_t first_ = 0;
  std::deque<Entry> later_;  // from the first missing one on
  SourcePosition position_;  // of the source before the first missing one, once `begun_`
  bool begun_ = false;
};

}  // namespace belfry::data
