#pragma once
// Elements named anew. Internal to data/.

#include "belfry/data/element.h"

namespace belfry::data {

/// Names `out` when it goes out of scope, also when the element could not be produced.
class Named {
 public:
  Named(Element& out, std::int64_t index, std::uint64_t epoch)
      : out_(out), index_(index), epoch_(epoch) {
    out.file = nullptr;  // unless the source says it
  }
  ~Named() {
    out_.index = index_;
    out_.epoch = epoch_;
  }
  Named(const Named&) = delete;
  Named& operator=(const Named&) = delete;

 private:
  Element& out_;
  std::int64_t index_;
  std::uint64_t epoch_;
};

}  // namespace belfry::data
