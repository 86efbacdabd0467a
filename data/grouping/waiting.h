#pragma once
// Elements that wait for others while later ones are read: what buckets and packed rows share.
// Internal to data/.

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/data/transforms/read_ahead.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {

/// Reads a source, of which some elements wait while later ones are done with, in any order. They
/// are numbered as the source yields them. A restored position begins at the oldest that waited,
/// number 0: of the first `replayed_` it takes those in `replay_` and skips the others, which were
/// done with before the position was saved.
class WaitingReader {
 public:
  /// The names are those of fields of a position; they are kept, not copied.
  WaitingReader(IteratorPtr source, std::string_view waiting, std::string_view read)
      : source_(std::move(source)), waiting_name_(waiting), read_name_(read) {}

  /// Reads the next element and calls use(element). What either throws is that element's Error,
  /// whose name `out` gets. False at the end.
  template <class Use>
  bool read(Element& out, Use use) {
    pass_over_done();
    before_.note(*source_);
    ++number_;          // also if it fails
    fresh_.index = -1;  // not the name of an older element
    fresh_.file = nullptr;
    try {
      if (source_->next(fresh_)) {
        use(std::as_const(fresh_));
        return true;
      }
    } catch (...) {
      copy_name(fresh_, out);
      throw;
    }
    --number_;
    return false;
  }

  /// The element read last.
  ///@{
  std::int64_t number() const { return number_ - 1; }
  Element& element() { return fresh_; }         ///< may be taken, in exchange for memory
  SourcePosition& before() { return before_; }  ///< where the source stood before it; likewise
  ///@}

  /// `waiting`: the numbers of those that wait. `before`: where the source stood before the lowest
  /// of them; null if there are none.
  void save(Position& at, std::vector<std::int64_t> waiting, const SourcePosition* before) {
    std::int64_t first = number_;
    for (std::int64_t number : waiting) first = std::min(first, number);
    for (std::size_t i = next_replay_; i < replay_.size(); ++i)
      if (replay_[i] >= number_) waiting.push_back(replay_[i]);
    std::sort(waiting.begin(), waiting.end());
    for (std::int64_t& number : waiting) number -= first;
    std::int64_t read = std::max(number_, replayed_) - first;
    at.list(waiting_name_, waiting);
    at.field(read_name_, read);
    if (before)
      before->append_to(at);
    else
      source_->position(at);
  }

  void restore(Position& at) {
    at.list(waiting_name_, replay_);
    at.field(read_name_, replayed_);
    std::int64_t least = 0;  // they ascend
    for (std::int64_t number : replay_) {
      require(number >= least && number < replayed_,
              "input: the saved position is damaged: ", waiting_name_, " has ", number,
              ", expected ", least, " to ", replayed_ - 1);
      least = number + 1;
    }
    source_->position(at);
  }

 private:
  void pass_over_done() {
    if (number_ >= replayed_) return;
    while (next_replay_ < replay_.size() && replay_[next_replay_] < number_) ++next_replay_;
    std::int64_t until = next_replay_ < replay_.size() ? replay_[next_replay_] : replayed_;
    number_ += source_->skip(until - number_);
  }

  IteratorPtr source_;
  std::string_view waiting_name_, read_name_;
  Element fresh_;
  SourcePosition before_;
  std::int64_t number_ = 0;  // of the source's next element
  std::vector<std::int64_t> replay_;
  std::int64_t replayed_ = 0;
  std::size_t next_replay_ = 0;
};

}  // namespace belfry::data
