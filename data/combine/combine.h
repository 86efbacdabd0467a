#pragma once
// Several datasets as one, and datasets made from elements.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "belfry/data/dataset.h"
#include "belfry/data/transforms/transforms.h"

namespace belfry::data {

/// The i-th elements of all `datasets` as one element, until the shortest ends. Features keep their
/// names, which must differ: an element in which two datasets have the same name is an Error. One
/// that some dataset cannot produce is an Error too, and costs that row alone. An element is named
/// (index, epoch) as the first dataset names it.
///
///   zip({images, labels})                        // "image", "label"
///   zip({{"a", photos}, {"b", paintings}})       // "a/image", "b/image"
///
/// Random access if all datasets have it, with the cardinality of the smallest. Several pipelines
/// share the rows (ShardPolicy::data, also for `automatic`), so that those are the same for any
/// number of them. Error: no datasets.
Dataset zip(std::vector<Dataset> datasets);
/// The same with "<prefix>/" before the names of each dataset's features; nothing before those of
/// one with an empty prefix.
Dataset zip(std::vector<std::pair<std::string, Dataset>> datasets);

/// The elements of `first`, then those of `second`. That their features agree is not checked. An
/// element's index is its place in the whole.
///
/// Random access if both have it: read in another order (shuffle, take, skip), a pass keeps a table
/// of 8 bytes an element, made when it begins.
Dataset concatenate(Dataset first, Dataset second);
Transform concatenate(Dataset second);  ///< first | concatenate(second)

/// Options of sample_from().
struct SampleOptions {
  std::vector<double> weights = {};  ///< one a dataset, in any unit; empty: all the same
  std::uint64_t seed = 0;            ///< keys the draws
  /// true: the whole ends when an ended dataset is drawn, so that the proportions hold to the end.
  /// false: the others go on, in their proportions, until all have ended.
  bool stop_on_empty = false;
};

/// Each element comes from one of `datasets`, drawn at random with the probabilities weight / sum
/// of weights. The draws depend on the seed, the place in the pipeline, the epoch and the number of
/// the draw alone. An element's index is a running count. An element that fails counts as drawn.
/// A dataset whose weight is 0 is never read. Error: no datasets, a number of weights unlike that
/// of datasets, a weight below 0 or not finite, no weight above 0. Several pipelines share each
/// dataset, and each draws from its shares.
Dataset sample_from(std::vector<Dataset> datasets, SampleOptions options = {});

/// Options of choose_from().
struct ChooseOptions {
  /// true: the whole ends when an ended dataset is chosen. false: that choice is passed over; a
  /// million in a row are an Error, and the end.
  bool stop_on_empty = true;
};

/// Each element comes from the dataset that `choices` names: elements with one feature, an i32 or
/// i64 scalar from 0 to datasets.size() - 1. Ends when the choices do. With several pipelines each
/// reads all the choices and its part of every dataset. An element's index is a running count.
/// Error in place of an element: its choice cannot be read, is no such scalar, or out of range.
/// Error at once: no datasets.
Dataset choose_from(std::vector<Dataset> datasets, Dataset choices, ChooseOptions options = {});

/// The number of the dataset that element `step` = 0, 1, ... comes from. Each pass counts anew.
using Choose = std::function<std::int64_t(std::int64_t step)>;
/// The same with choices that a function makes. It never runs out of them.
Dataset choose_from(std::vector<Dataset> datasets, Choose choose, ChooseOptions options = {});

/// Makes a dataset from an element.
using MakeDataset = std::function<Dataset(Features)>;

/// The elements of `function(element)` for each element, one dataset after the other: interleave
/// with a cycle of 1.
///
///   files | flat_map([](Features f) { return text_lines({text_of(f.at("path"))}); })
///
/// The inner datasets draw random numbers of their own for each element. An element's index is a
/// running count over the pass. An element for which the function, or the dataset that it returns,
/// cannot begin is one Error; so is each element that an inner dataset fails to produce. A saved
/// position holds the source's before the oldest open element, and that within its dataset:
/// restoring calls the function for this element, and reads nothing twice.
Transform flat_map(MakeDataset function);

/// Options of interleave().
struct InterleaveOptions {
  std::int64_t cycle_length = 4;  ///< inner datasets that are open at once
  std::int64_t block_length = 1;  ///< elements taken from one before its turn is over
  /// 1: everything is read in the thread that asks. More: so many threads read ahead in the open
  /// datasets and in as many that come next, each up to two blocks (64 elements at most). The order
  /// is the same. `autotune`: as many as the pipeline has threads, at most one for each open
  /// dataset.
  int workers = 1;
};

/// As flat_map, with `cycle_length` inner datasets open at once, which take turns of `block_length`
/// elements. One that ends gives up its turn; its place is filled with the next element's dataset
/// when its turn comes again. This is the order of tf.data:
///
///   // elements 1, 2, 3, 4, 5, each made into a dataset of 6 copies
///   interleave(six_copies, {.cycle_length = 2, .block_length = 4})
///   // 1 1 1 1  2 2 2 2  1 1  2 2  3 3 3 3  4 4 4 4  3 3  4 4  5 5 5 5  5 5
///
/// An element that fails counts in its block. A saved position holds the source's before the oldest
/// open element and those of all open datasets: restoring calls the function for their elements
/// again and reads no inner element. Error: cycle_length or block_length below 1, workers neither 1
/// to 256 nor autotune.
Transform interleave(MakeDataset function, InterleaveOptions options = {});

}  // namespace belfry::data
