#pragma once
// Named arrays: an example, or a batch of them; and the seam between data and training, a stream of
// batches.

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "belfry/framework/base/units.h"
#include "belfry/framework/tensor/array.h"

namespace belfry {

/// An example, or a batch: arrays by name, in the order in which they were added. Small: look-up is
/// linear.
class Features {
 public:
  using Item = std::pair<std::string, Array>;  ///< a name and its array

  Features() = default;
  Features(std::initializer_list<Item> items);  ///< Error: a name twice

  bool contains(std::string_view name) const;    ///< whether there is an array of this name
  const Array& at(std::string_view name) const;  ///< Error listing the names when there is no such
  Array& at(std::string_view name);              ///< likewise
  void set(std::string_view name, Array value);  ///< replaces or appends

  std::size_t size() const { return items_.size(); }  ///< number of arrays, not of rows
  bool empty() const { return items_.empty(); }       ///< there are no arrays
  /// From the first Item to behind the last.
  ///@{
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  ///@}
  void clear() { items_.clear(); }  ///< removes all arrays

 private:
  std::vector<Item> items_;
};

/// The form of a batch: name and type of each array. Two batches with equal signatures run the same
/// plan.
using Signature = std::vector<std::pair<std::string, TensorType>>;

Signature signature_of(const Features& features);  ///< in the order of the features
/// signature_of(features) == signature, without making it.
bool matches(const Features& features, const Signature& signature);
std::string to_string(const Signature& signature);  ///< "image f32[64, 28, 28, 1], label i64[64]"

/// "unknown feature `lable`; this batch has image, label": the one wording of that error.
[[noreturn]] void fail_unknown_feature(std::string_view name,
                                       const std::vector<std::string>& known);

/// Allocates host memory that a device copies from without making the host wait (pinned memory);
/// Device::allocate_host is one. From any thread. OutOfMemory: there is no more.
using AllocateHost = std::function<std::shared_ptr<void>(Bytes)>;

/// The context of an input_fn: its place among others that read the same data.
struct InputContext {
  int pipelines = 1;  ///< how many read the data, each a part of it: one a worker
  int pipeline = 0;   ///< which of them this is, from 0
  int towers = 1;     ///< towers that share the batches of this pipeline
  /// Ends the stream, also while next() waits in another thread: a source that waits for something
  /// is told, and next() returns false from then on. A position saved then is that of the last
  /// batch that next() returned.
  std::stop_token stop = {};
  /// Where arrays of this input best lie: the devices copy them from there without the host copying
  /// them first. Memory outlives the devices if need be. Empty: plain memory does as well.
  AllocateHost allocate_host = {};
};

/// The work that one stage of an input pipeline has done so far. Times (in seconds) and bytes are
/// estimated from samples where a stage takes less than a few microseconds for an element.
struct InputStage {
  std::string name;           ///< "shuffle", or "map 2" where several have that name
  int depth = 0;              ///< 0 for the last stage, whose source has 1, and so on
  std::int64_t elements = 0;  ///< handed on
  std::int64_t bytes = 0;     ///< of the arrays in them
  double busy = 0;            ///< its own work, summed over workers
  double upstream = 0;        ///< waiting for its source
  double downstream = 0;      ///< holding finished elements that nobody takes; async stages only
  double queue = 0;           ///< finished elements waiting, on average; async stages only
  int buffer = 0;             ///< as many may wait at most, at present; async stages only
  int workers = 1;            ///< at once, at present
};

/// A table, one line a stage, sources last.
std::string to_string(const std::vector<InputStage>& stages);

/// Yields batches one after the other. data::Dataset converts to it; anything may implement it.
/// Arrays in memory of InputContext::allocate_host (or otherwise pinned) are read while the step of
/// their batch runs, which is after next() was called again. Their handles are held until then: a
/// stream that writes into arrays that it handed out does so once nobody else has a handle, or
/// keeps to plain memory, which is read before the step is under way.
/// Thread rules: used by one thread at a time; stages() may be called from any.
class InputStream {
 public:
  virtual ~InputStream() = default;

  /// Puts the next batch into `batch`, in place of all that is there, and returns true, or returns
  /// false at the end of data (and on every later call). Error: the element could not be produced;
  /// the next call goes on after it. OutOfMemory or std::bad_alloc: a Dataset's pass is over, and
  /// next() throws OutOfMemory until restore(), of this stream or a fresh one. save() then gives
  /// the position before the batch that failed, if the stream was opened with an
  /// InputContext::stop that may be requested; else it throws OutOfMemory too, and a position that
  /// was saved before serves.
  virtual bool next(Features& batch) = 0;

  /// The position as text: restored into a stream made by the same input_fn, it continues with the
  /// batch that this one would yield next. Streams that cannot resume return an empty string.
  /// Called when a checkpoint is written; in a job of several workers before every step.
  virtual std::string save() const { return {}; }
  /// Empty: to the beginning. Error when `state` is not one that such a stream saved; of a stream
  /// that cannot resume, any that is not empty.
  virtual void restore(const std::string& state);

  /// Whether it is known never to end.
  virtual bool endless() const { return false; }

  /// Seconds that next() has spent waiting for data, in total.
  virtual double wait_seconds() const { return 0; }
  /// Where that time went. Streams that do not measure themselves return nothing.
  virtual std::vector<InputStage> stages() const { return {}; }
};

using InputStreamPtr = std::unique_ptr<InputStream>;  ///< owns a stream

/// Where the time of `stream` went so far, as a table of its stages(), and what was tuned by
/// itself: to pin it, give the number in the column `workers` to map, interleave or the source that
/// decodes (a `map` above it), and that in `buffer` to prefetch.
std::string explain(const InputStream& stream);

/// Something that opens a stream for its place among several: data::Dataset does.
template <class T>
concept OpensInput = requires(T t, const InputContext& context) {
  { t.open(context) } -> std::convertible_to<InputStreamPtr>;
};

/// Makes a fresh stream; called once per train, evaluate or predict call. A Dataset is one, and so
/// is any callable, with or without a parameter `const InputContext&`, whose result is a Dataset or
/// converts to InputStreamPtr. Datasets shard themselves when there are several pipelines
/// (data::ShardPolicy), except those of a callable that took the context: that one has seen to it.
class InputFn {
 public:
  /// Empty.
  ///@{
  InputFn() = default;
  InputFn(std::nullptr_t) {}
  ///@}
  /// From a Dataset or a callable, as above; a null one makes it empty.
  template <class F>
  requires(
      !std::same_as<
          std::remove_cvref_t<F>,
          InputFn> && (OpensInput<F> || std::invocable<F&> || std::invocable<F&, const InputContext&>))
      InputFn(F f) {
    if constexpr (requires { f == nullptr; })
      if (f == nullptr) return;
    if constexpr (OpensInput<F>) {
      open_ = [f = std::move(f)](const InputContext& context) { return f.open(context); };
    } else if constexpr (std::invocable<F&, const InputContext&>) {
      open_ = [f = std::move(f)](const InputContext& context) mutable -> InputStreamPtr {
        return f(context);
      };
    } else {
      open_ = [f = std::move(f)](const InputContext& context) mutable -> InputStreamPtr {
        if constexpr (OpensInput<std::invoke_result_t<F&>>) {
          return f().open(context);
        } else {
          return f();
        }
      };
    }
  }

  /// A fresh stream. The InputFn must not be empty.
  InputStreamPtr operator()(const InputContext& context = {}) const { return open_(context); }
  explicit operator bool() const { return open_ != nullptr; }  ///< not empty

 private:
  std::function<InputStreamPtr(const InputContext&)> open_;
};

}  // namespace belfry
