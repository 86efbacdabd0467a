#pragma once
// Datasets and how they are joined: source | transform | transform.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belfry/data/iterator.h"
#include "belfry/framework/tensor/features.h"

namespace belfry {

namespace data {

inline constexpr std::int64_t infinite = -1;  ///< cardinality of a dataset that never ends
inline constexpr std::int64_t unknown = -2;   ///< cardinality that only a full pass would tell

/// The facts about a dataset that are known before it is read.
struct DatasetInfo {
  std::int64_t cardinality = unknown;  ///< elements in one pass, or `infinite` or `unknown`
  /// Passes may be asked for in any order (Pass::order). Needs a known cardinality.
  bool random_access = false;
  /// The files of a source that reads them one after the other and heeds Pass::shard by file.
  std::vector<std::string> files = {};
  /// The policy by which several pipelines share the sources behind it; with_options() sets it.
  std::optional<ShardPolicy> shard = {};
  /// true: elements of the transform depend on the places of its inputs' elements, so that it
  /// cannot be made from shares of them (take, zip). Pipeline i of n gets its elements j with
  /// j % n == i, unless the sources behind it were told to share by file or not at all.
  bool whole = false;
  /// The transform makes several elements of each of its input's (flat_map, unbatch): where those
  /// are too few for the pipelines, its own elements are shared instead, unless the sources behind
  /// it were told to share by file or not at all.
  bool expands = false;
  /// false: every pipeline reads all of it, whatever the policy. This is for data that go with each
  /// element of a dataset that is shared (the choices of choose_from).
  bool sharded = true;
};

/// The elements of a stream, in a range-for. A move-only input iterator.
class FeaturesIterator {
 public:
  /// For std::input_iterator. The constructor reads the first element.
  ///@{
  using value_type = Features;
  using difference_type = std::ptrdiff_t;
  explicit FeaturesIterator(InputStreamPtr stream) : stream_(std::move(stream)) { ++*this; }
  Features& operator*() const& { return current_; }
  Features operator*() && { return std::move(current_); }  // *dataset.begin() outlives the iterator
  Features* operator->() const { return &current_; }
  FeaturesIterator& operator++() {
    ended_ = !stream_->next(current_);
    return *this;
  }
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const { return ended_; }
  ///@}

 private:
  InputStreamPtr stream_;
  mutable Features current_;
  bool ended_ = false;
};
static_assert(std::input_iterator<FeaturesIterator>);

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
  /// A source. `name` stands in explain(); `make` is called once for each pass, from any thread.
  Dataset(std::string name, data::MakeIterator make, data::DatasetInfo info = {});

  /// A dataset made from others: what a transform returns. `make` starts a pass, usually with
  /// iterate() of `inputs`; where there are several, with Pass::input(i) for the i-th.
  Dataset(std::string name, std::vector<Dataset> inputs, data::MakeIterator make,
          data::DatasetInfo info = {});

  const std::string& name() const;        ///< as explain() shows it
  const data::DatasetInfo& info() const;  ///< known before any element is read
  /// Elements in one pass, or data::infinite or data::unknown.
  std::int64_t cardinality() const { return info().cardinality; }
  const std::vector<Dataset>& inputs() const;  ///< none for a source

  /// Starts a pass. A source without files takes its share of `pass.shard` here, and so does a
  /// dataset that is shared as a whole.
  data::IteratorPtr iterate(data::Pass pass) const;

  /// A stream over one pass. Its wait_seconds() is the time spent in next(), stages() says where it
  /// went, save() is a short line of text. Destroying it requests Pass::stop and waits for calls in
  /// progress. Error: `context` leaves this pipeline without a file, or without an element.
  InputStreamPtr open(const InputContext& context = {}) const;
  /// As open() without a context.
  operator InputStreamPtr() const { return open(); }

  /// One pass, element by element:
  ///
  ///   for (const Features& batch : train_input()) std::cout << to_string(signature_of(batch));
  ///
  /// An element's memory is used again for the next one, unless somebody holds its arrays. Error:
  /// an element could not be produced.
  data::FeaturesIterator begin() const { return data::FeaturesIterator(open()); }
  std::default_sentinel_t end() const { return {}; }  ///< the end of any pass

 private:
  struct Node;
  std::shared_ptr<const Node> node_;
};

namespace data {

/// A function from dataset to dataset. Any callable of that form joins with `|`.
using Transform = std::function<Dataset(Dataset)>;

/// The usual way to write a transform: a function from iterator to iterator, called once for each
/// pass. `info` computes what is known about the result from what is known about the source; by
/// default nothing. It may keep `random_access` only if the i-th element of the result is computed
/// from the i-th element of the source alone.
Transform wrap(std::string name,
               std::function<IteratorPtr(IteratorPtr source, const Pass& pass)> iterator,
               std::function<DatasetInfo(const DatasetInfo& source)> info = {});

/// The info of a transform that changes neither the number of elements nor their order.
DatasetInfo same_elements(const DatasetInfo& source);

/// A description of the part that each of `pipelines` would read: a line for each source and
/// pipeline. Error: one of them would read nothing.
std::string describe_shards(const Dataset& dataset, int pipelines);

}  // namespace data

/// `source` seen through `transform`. Error: there is no transform.
Dataset operator|(Dataset source, const data::Transform& transform);

}  // namespace belfry
