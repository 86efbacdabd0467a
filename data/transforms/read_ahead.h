#pragma once
// Elements read before the consumer asks for them. Internal to data/.

#include <cstdint>
#include <exception>
#include <string_view>
#include <utility>

#include "belfry/data/iterator.h"

namespace belfry::data {

/// Where a source stood at some moment, or why it could not say so.
class SourcePosition {
 public:
  /// A source may have to open the next of its files for this, and fail. Throws where memory is
  /// short, which ends the pass.
  void note(Iterator& source) {
    error_ = nullptr;
    try {
      position_.clear();
      source.position(position_);
    } catch (...) {
      if (is_shortage()) throw;
      error_ = std::current_exception();
    }
  }

  void append_to(Position& at) const {
    if (error_) std::rethrow_exception(error_);
    at.append(position_);
  }

 private:
  Position position_;
  std::exception_ptr error_;
};

/// Error naming `what` unless so many elements may be read ahead.
void require_ahead(std::string_view what, std::int64_t elements);

/// The entry that an iterator that reads ahead keeps for each element.
struct ReadAhead {
  Element element;
  SourcePosition after;      ///< the source's, once it has yielded this element
  std::exception_ptr error;  ///< in place of the element

  /// Reads the next element of `source`, or what it threw. False at the end. Throws where memory is
  /// short, which ends the pass.
  bool read(Iterator& source) {
    bool more = true;
    try {
      more = source.next(element);
    } catch (...) {
      if (is_shortage()) throw;
      error = std::current_exception();
    }
    after.note(source);
    return more;
  }
};

}  // namespace belfry::data
