#pragma once
// Elements that come from one of several datasets each: what sample_from and choose_from share.
// Internal to data/.

#include <cstdint>
#include <vector>

#include "belfry/data/dataset.h"

namespace belfry::data {

/// Takes each element from the input that choose() names.
class Mixture : public Iterator {
 public:
  /// Begins a pass over each of `datasets`.
  Mixture(const std::vector<Dataset>& datasets, bool stop_on_empty, const Pass& pass);

  bool next(Element& out) final;
  std::int64_t skip(std::int64_t count) final;
  void position(Position& at) override;

 protected:
  static constexpr std::int64_t none = -1;

  /// The input that the element comes from, or `none` at the end. If that has ended, either all
  /// ends or this is called again. Calls are numbered by `step`, from 0. May throw, in place of the
  /// element.
  virtual std::int64_t choose(std::int64_t step) = 0;

  std::int64_t inputs() const { return std::ssize(inputs_); }
  bool has_ended(std::int64_t input) const { return !inputs_[input]; }

 private:
  bool read(Element* out);

  std::vector<IteratorPtr> inputs_;  // null once they have ended
  bool stop_on_empty_, ended_ = false;
  std::uint64_t epoch_;
  std::int64_t step_ = 0, index_ = 0;
};

}  // namespace belfry::data
