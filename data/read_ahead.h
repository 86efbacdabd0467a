#pragma once
// Elements read before the consumer asks for them.

#include <exception>

#include "belfry/data/iterator.h"

namespace belfry::data {

/// What an iterator that reads ahead keeps for each element.
struct ReadAhead {
  Element element;
  Position after;            ///< the source's, once it has yielded this element
  std::exception_ptr error;  ///< in place of the element

  /// Reads the next element of `source`, or what it threw. False at the end.
  bool read(Iterator& source) noexcept {
    bool more = true;
    try {
      more = source.next(element);
    } catch (...) {
      error = std::current_exception();
    }
    try {  // a source may have to open the next of its files to say where it stands
      after.clear();
      source.position(after);
    } catch (...) {
      if (!error) error = std::current_exception();
    }
    return more;
  }
};

}  // namespace belfry::data
