#pragma once
// Transforms, which turn one dataset into another.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "belfry/data/dataset.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/tensor/features.h"

namespace belfry::data {

/// As many workers as keep the consumer from waiting, at most as many as the pipeline has threads;
/// adjusted while it runs. The elements do not depend on it.
inline constexpr int autotune = -1;

/// The function that map() applies: any callable Features(Features), or Features(Features,
/// PhiloxStream&) for one that draws random numbers.
class MapFunction {
 public:
  /// A null pointer or an empty std::function gives an empty object.
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, MapFunction>) MapFunction(F f) {
    if constexpr (requires { f == nullptr; })
      if (f == nullptr) return;
    draws_ = std::is_invocable_r_v<Features, F&, Features, PhiloxStream&>;
    if constexpr (requires { std::string(f.name()); }) name_ = f.name();
    if constexpr (std::is_invocable_r_v<Features, F&, Features, PhiloxStream&>) {
      call_ = std::move(f);
    } else {
      call_ = [f = std::move(f)](Features in, PhiloxStream&) mutable { return f(std::move(in)); };
    }
  }
  explicit operator bool() const { return call_ != nullptr; }  ///< false: empty
  bool draws() const { return draws_; }                        ///< whether it takes random numbers
  const std::string& name() const { return name_; }            ///< of an Augmentation, else empty
  /// The features it makes of `in`; `random` is used only if draws().
  Features operator()(Features in, PhiloxStream& random) const {
    return call_(std::move(in), random);
  }

 private:
  bool draws_ = false;
  std::string name_;
  std::function<Features(Features, PhiloxStream&)> call_;
};

/// Options of map().
struct MapOptions {
  /// How many elements are worked on at once, at most 256, or `autotune`. With 1 the function runs
  /// in the thread that asks for elements; otherwise several threads call it at once and it must
  /// allow that, and up to twice as many elements are read ahead before the first is yielded. A
  /// number brings so many threads of its own, also beyond the number of cores, unless threads(n)
  /// or with_options() bound the pipeline.
  int workers = 1;
  std::uint64_t seed = 0;  ///< of the random numbers the function is given
  /// false: elements come as they are ready. Each comes once, also over a restored position, with
  /// the same content, but the order depends on timing, and so does what follows from it.
  bool ordered = true;
  /// explain() and errors call it "map(name)"; empty: by the name of an Augmentation, or "map".
  /// Stages of the same name are numbered from the source on: "map 1", "map 2".
  std::string name = {};
};

/// Replaces each element's features by `function` of them, in the order of the source for any
/// number of workers. The function owns the arrays it gets and may overwrite them. Its random
/// numbers depend on the seed, the place in the pipeline, and the element's epoch and index alone.
/// Error: workers neither 1 to 256 nor autotune; whatever the function throws (but a lack of
/// memory), as an Error that names the element and is delivered in its place. Keeps random access,
/// if ordered.
Transform map(MapFunction function, MapOptions options = {});

/// The new state and the element to yield, of the state so far and an element.
using ScanFunction =
    std::function<std::pair<Features, Features>(const Features& state, Features element)>;

/// map with a state that goes from element to element, from `initial` on in each pass:
///
///   auto add = [](const Features& state, Features in) {
///     Features sum{{"sum", Array::scalar(state.at("sum").item() + in.at("value").item())}};
///     return std::pair(sum, sum);
///   };
///   range(5) | scan({{"sum", Array::scalar(0.0)}}, add)  // 0 1 3 6 10
///
/// An exception is delivered as map's are, and leaves the state as it was. A restored position
/// reads the source again from the start of the pass. Error: an empty function.
Transform scan(Features initial, ScanFunction function);

/// The last state of one pass: `state` is replaced by function(state, element) for each element.
///
///   auto add = [](double sum, const Features& f) { return sum + f.at("value").item(); };
///   reduce(range(5), 0.0, add)  // 10
///
/// Error: the dataset never ends; an element cannot be produced; what `function` throws.
template <class State, class Function>
State reduce(const Dataset& dataset, State state, Function function) {
  require(dataset.cardinality() != infinite,
          "reduce: the dataset never ends; put take(n) behind it");
  for (const Features& element : dataset) state = function(std::move(state), element);
  return state;
}

/// Keeps the elements for which `keep` is true. An exception from it is delivered as map's are.
Transform filter(std::function<bool(const Features&)> keep);

/// Options of shuffle().
struct ShuffleOptions {
  std::uint64_t seed = 0;                ///< keys the order, with the place in the pipeline
  bool reshuffle_each_iteration = true;  ///< a new order for each epoch; else always the same
};

/// Yields the elements in random order: each is drawn uniformly from a buffer that holds the next
/// `buffer` elements of the source. Put before repeat it keeps epochs apart, after it blends them.
///
/// A buffer at least as large as a source with random access holds no elements and gives a keyed
/// permutation instead: every element exactly once, and the result has random access too.
/// Otherwise elements stay in memory while they are in the buffer, and a restored position reads
/// the source again from the start of the pass up to that point: shuffle before what is slow.
/// Error: buffer below 1; above 2^40 for a source of which elements would stay in memory.
Transform shuffle(std::int64_t buffer, ShuffleOptions options = {});

/// The source `count` times over, or for ever. Each time is one epoch: a new pass, which shuffle
/// and map see. A pass without elements ends it, so an empty source stays empty.
Transform repeat();
Transform repeat(std::int64_t count);  ///< Error: count below 0

/// Fills one row of a batch: `row` holds arrays over the memory of the batch, uninitialised, with
/// the names and types that were promised.
using RowFunction = std::function<void(Features in, Features& row, PhiloxStream& random)>;

/// Options of map_and_batch().
struct MapAndBatchOptions {
  int workers = autotune;       ///< elements worked on at once, as in map
  std::uint64_t seed = 0;       ///< as in map
  bool drop_remainder = false;  ///< as in batch
  std::string name = {};        ///< as in map
};

/// map and batch in one: the worker that has computed an element puts it into its row of the batch,
/// so that no single thread copies them all. Elements, order, random numbers and errors are those
/// of map(function) | batch(size), with the name of map_and_batch.
Transform map_and_batch(MapFunction function, std::int64_t size, MapAndBatchOptions options = {});
/// The same for a function that writes its result where it belongs. `row` says what a row is.
Transform map_and_batch(RowFunction function, Signature row, std::int64_t size,
                        MapAndBatchOptions options = {});

/// Options of batch().
struct BatchOptions {
  bool drop_remainder = false;  ///< drop a last batch that is short
};

/// Stacks `size` consecutive elements: shapes [...] become [size, ...], the last batch may have
/// fewer rows. Memory follows the rows that there are, however large `size` is; that of earlier
/// batches is used again once nobody holds them. An element that
/// cannot be read or does not fit (names, types or shapes unlike the first one's: Error) fails its
/// batch, and only that. Error: size below 1.
Transform batch(std::int64_t size, BatchOptions options = {});

/// The first `count` elements; one that fails counts. Keeps random access. Error: count below 0
/// (there is no -1 for all).
Transform take(std::int64_t count);

/// All but the first `count` elements. Those skipped are not read from a source with random access;
/// from others they are, and failures among them are not reported. Keeps random access.
/// Error: count below 0.
Transform skip(std::int64_t count);

/// Reads up to `buffer` elements ahead in a thread of its own. Order and errors stay as they are;
/// an error is delivered in place of its element. `autotune`: 2 at first, and twice as many, up to
/// 64, whenever the consumer had to wait although the buffer had been full, as long as the
/// pipeline's memory suffices. Error: buffer neither 1 to 2^20 nor autotune. Keeps random access.
Transform prefetch(std::int64_t buffer = 2);

/// Options of prefetch_to_device().
struct PrefetchToDeviceOptions {
  std::int64_t buffers = 2;    ///< batches ahead of the consumer
  AllocateHost allocate = {};  ///< none: that of the InputContext, or else plain memory
};

/// prefetch into memory that is allocated once and goes round: the last transform before training.
/// Where it trains on a GPU the memory is pinned, and batches travel from there. A batch's memory
/// is used again when nobody has a handle to its arrays; a consumer that keeps batches makes it
/// allocate more. Error: buffers below 1 or above 2^20.
Transform prefetch_to_device(PrefetchToDeviceOptions options = {});

/// Lets the pipeline before it use `count` threads for all its parallel transforms together.
/// Without it those that are tuned share default_threads(), and one that was told a number of
/// workers has so many of its own. Changes no element. Error: count below 1 or above 256. Keeps
/// random access.
Transform threads(int count);

}  // namespace belfry::data
