#pragma once
// Datasets and how they are joined: source | transform | transform.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "belfry/data/iterator.h"
#include "belfry/framework/tensor/input_stream.h"

namespace belfry {

namespace data {

inline constexpr std::int64_t infinite = -1;  ///< cardinality of a dataset that never ends
inline constexpr std::int64_t unknown = -2;   ///< cardinality that only a full pass would tell

/// What is known about a dataset before it is read.
struct DatasetInfo {
  std::int64_t cardinality = unknown;  ///< elements in one pass, or `infinite` or `unknown`
  /// Passes may be asked for in any order (Pass::order). Needs a known cardinality.
  bool random_access = false;
};

/// Starts a pass.
using MakeIterator = std::function<IteratorPtr(const Pass&)>;

}  // namespace data

/// The description of an input pipeline: a value, cheap to copy, that reads nothing by itself. Each
/// stream made from it starts from the beginning, with the same elements in the same order.
///
///   Dataset digits = data::mnist(dir, data::Split::train) | data::shuffle(60'000)
///                    | data::repeat() | data::batch(128) | data::prefetch();
///
/// Thread rules: any number of threads may make streams from one dataset.
class Dataset {
 public:
  /// A source. `make` is called once for each pass, from any thread.
  explicit Dataset(data::MakeIterator make, data::DatasetInfo info = {});

  /// A dataset that follows this one in a pipeline: what a transform returns. `make` starts its
  /// passes, usually with iterate() of this dataset.
  Dataset then(data::MakeIterator make, data::DatasetInfo info = {}) const;

  const data::DatasetInfo& info() const { return info_; }
  std::int64_t cardinality() const { return info_.cardinality; }

  /// Starts a pass.
  data::IteratorPtr iterate(data::Pass pass) const;

  /// A stream over one pass, so that a function returning a Dataset is an InputFn. Its
  /// wait_seconds() is the time spent in next(); its save() is a short line of text.
  operator InputStreamPtr() const;
  /// The same: a Dataset is an InputFn too.
  InputStreamPtr operator()() const { return *this; }

 private:
  data::MakeIterator make_;
  data::DatasetInfo info_;
  int stage_ = 0;
};

namespace data {

/// A function from dataset to dataset. Any callable of that form joins with `|`.
using Transform = std::function<Dataset(Dataset)>;

/// The usual way to write a transform: a function from iterator to iterator, called once for each
/// pass. `info` computes what is known about the result from what is known about the source; by
/// default nothing. It may keep `random_access` only if the i-th element of the result is computed
/// from the i-th element of the source alone.
Transform wrap(std::function<IteratorPtr(IteratorPtr source, const Pass& pass)> iterator,
               std::function<DatasetInfo(const DatasetInfo& source)> info = {});

}  // namespace data

/// `source` seen through `transform`.
inline Dataset operator|(Dataset source, const data::Transform& transform) {
  return transform(std::move(source));
}

}  // namespace belfry
