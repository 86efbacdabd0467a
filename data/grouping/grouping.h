#pragma once
// Elements put together to batches, and batches taken apart. See batch() in transforms.h for the
// plain one.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belfry/data/dataset.h"
#include "belfry/data/transforms/transforms.h"

namespace belfry::data {

/// Options of window().
struct WindowOptions {
  std::int64_t shift = 0;       ///< elements from one window's first to the next one's; 0: `size`
  std::int64_t stride = 1;      ///< elements from one in a window to the next
  bool drop_remainder = false;  ///< leave out the windows at the end that are not full
};

/// Window k stacks the elements k * shift + j * stride, 0 <= j < size: shapes [...] become
/// [size, ...], or fewer rows at the end of the data.
///
///   range(7) | window(3, {.shift = 2})               // [0 1 2] [2 3 4] [4 5 6] [6]
///   range(5) | window(2, {.shift = 1, .stride = 2})  // [0 2] [1 3] [2 4] [3] [4]
///
/// In tf.data a window is a dataset, to be batched by flat_map; here it is that batch, which is
/// what one wants of it, and elements are read once. Up to (size - 1) * stride + 1 elements stay in
/// memory, and are read again when a position is restored. An element that cannot be read or does
/// not fit (see batch) fails the windows that it is in, and only those. Error: size, stride below
/// 1, shift below 0.
Transform window(std::int64_t size, WindowOptions options = {});

/// The rows of each element as elements: shapes [n, ...] become n times [...]; n may differ between
/// elements. An element's index is a running count over the pass. Error in place of an element: a
/// scalar among its features, or features that disagree in n. A position saved within a batch reads
/// that batch again.
Transform unbatch();

/// Options of rebatch().
struct RebatchOptions {
  bool drop_remainder = false;  ///< drop a last batch that is short
};

/// The same rows in batches of other sizes: `size` each, or `sizes` in turn, from the first on
/// again after the last. A size of 0 gives a batch without rows, also behind the last row, but not
/// after a batch that came short. The last batch may have fewer rows. Rows are copied once, and not
/// at all where a batch of the source is just one of the result. A batch of the source that cannot
/// be read fails the batch in progress; so does one whose rows are unlike those collected (dtype,
/// shape), which then begins the next. Error: no sizes, one below 0, none above 0.
///@{
Transform rebatch(std::int64_t size, RebatchOptions options = {});
Transform rebatch(std::vector<std::int64_t> sizes, RebatchOptions options = {});
///@}

/// How elements of different sizes are made equal. Features are named; those that are not follow
/// the defaults. A name that an element lacks is an Error for its batch.
struct PaddedBatchOptions {
  /// The value put in at the end of each axis. Error unless the feature's type can hold it.
  double default_padding = 0;
  /// By feature, the value put in instead of default_padding.
  std::map<std::string, double> padding = {};
  /// Sizes that the axes get: one each, -1 for the longest in the batch. {{"tokens", {128}}}. A
  /// longer element is an Error for its batch.
  std::map<std::string, std::vector<std::int64_t>> pad_to = {};
  /// The size of axis 0, unless pad_to says it, is rounded up to a multiple of this.
  std::map<std::string, std::int64_t> multiple_of = {};
  /// {{"tokens", "length"}} adds "length" i64 [n]: the sizes of axis 0 of "tokens" before padding.
  std::map<std::string, std::string> lengths = {};
  bool drop_remainder = false;  ///< drop a last batch that is short
};

/// Stacks `size` consecutive elements whose shapes may differ: every feature is padded, in each
/// axis, to the largest in the batch. Shapes [a, ...] become [size, max a, ...]. Elements must
/// agree in names, dtypes and ranks: Error with both types, which costs that batch and no other. Up
/// to `size` elements are in memory. Error: size below 1, a multiple below 1, a size in pad_to
/// below -1.
Transform padded_batch(std::int64_t size, PaddedBatchOptions options = {});

/// Options of bucket_by_length().
struct BucketOptions {
  /// Rising lengths: bucket i holds boundaries[i - 1] <= length < boundaries[i].
  std::vector<std::int64_t> boundaries;
  /// Rows of a batch from each bucket: one more than there are boundaries. None with `tokens`.
  std::vector<std::int64_t> batch_sizes = {};
  /// Above 0, in place of batch_sizes: the rows of a batch times their padded length are at most
  /// this. A bucket's batch size is then tokens / (boundaries[i] - 1), rounded down; where the
  /// length is that of a feature, `padded` may ask for longer rows of it, which count. An element
  /// as long as the last boundary is an Error in its place, and so there is no last bucket without
  /// one.
  std::int64_t tokens = 0;
  PaddedBatchOptions padded = {};  ///< its drop_remainder leaves out buckets not full
  /// Features whose axis 0 is padded to the longest their bucket can hold, boundaries[i] - 1, so
  /// that there is one shape a bucket. An element as long as the last boundary is then an Error.
  std::vector<std::string> pad_to_boundary = {};
};

/// Batches elements of similar length: each goes into the bucket of its length, and a bucket that
/// is full is yielded as a padded batch. At the end come the others, shortest lengths first. With
/// `pad_to_boundary` and `drop_remainder` there is one shape, and so one plan, a bucket:
///
///   bucket_by_length("token", {.boundaries = {65, 129, 257},
///                              .tokens = 8192,  // batches of 128, 64 and 32 rows
///                              .padded = {.drop_remainder = true},
///                              .pad_to_boundary = {"token"}})
///
/// An element that cannot be read, or whose length cannot be found, is an Error in its place; one
/// that does not fit fails its batch.
///
/// A saved position holds the source's before the oldest element that waits, and one number for
/// each that waits: at most the sum of all (batch size - 1), some 4 bytes each. Restoring reads the
/// elements that wait again and skips what lies between. Error: boundaries that do not rise, a
/// number of batch sizes other than theirs plus 1, one below 1, both they and tokens, tokens too
/// few for a row, padded options as for padded_batch.
Transform bucket_by_length(std::function<std::int64_t(const Features&)> length,
                           BucketOptions options);
/// The length is the size of axis 0 of `feature`.
Transform bucket_by_length(std::string feature, BucketOptions options);

/// Batches elements with the same key: a group that has `size` of them is yielded, stacked as
/// padded_batch() does, and the next one of that key begins another. At the end come the groups
/// that are not full, lowest keys first. What tf.data has the function of a window do, a map()
/// after this does.
///
///   range(7) | group_by_window([](const Features& f) { return parity_of(f); }, 2)
///   // [0 2] [1 3] [4 6] [5]
///
/// An element that cannot be read, or for which `key` fails, is an Error in its place. Elements
/// that wait are in memory; a saved position holds a number for each of them, as that of
/// bucket_by_length() does. Error: size below 1.
Transform group_by_window(std::function<std::int64_t(const Features&)> key, std::int64_t size,
                          PaddedBatchOptions padded = {});
/// The size of a group depends on its key. One below 1 is an Error in place of the element.
Transform group_by_window(std::function<std::int64_t(const Features&)> key,
                          std::function<std::int64_t(std::int64_t key)> size,
                          PaddedBatchOptions padded = {});

/// Options of pack(). Features without a name are left out.
struct PackOptions {
  std::string feature = "token";      ///< of a document: its tokens, i32, i64 or u8 [t]
  std::string document = "document";  ///< the number of the token's document in its row, from 0
  std::string position = "position";  ///< its place in that document, from 0
  std::string label = {};             ///< the token behind it in its document, -1 for the last one
  std::int32_t padding = 0;           ///< the token behind the last document of a row
  /// Documents go on in the next row, and rows are full but for the last one. false: documents stay
  /// whole, and a longer one than a row is an Error in its place.
  bool split = true;
  std::int64_t open_rows = 16;  ///< for whole documents: rows that wait for more, at most
};

/// Documents of any length, one behind the other in rows of `length` tokens. A row has the features
/// named in the options, i32 [length] each; others of the documents are left out. Behind the last
/// document of a row the document and label are -1, and the position is 0.
///
///   // [7 8 9] [5 6] [1 2 3 4] | pack(4, {.label = "label"})
///   token    7 8 9 5   6 1 2 3   4 0 0 0
///   document 0 0 0 1   0 1 1 1   0 -1 -1 -1
///   position 0 1 2 0   0 0 1 2   0 0 0 0
///   label    8 9 -1 6  -1 2 3 4  -1 -1 -1 -1
///
/// A part that goes on in the next row is a document of that row, whose positions begin at 0, so
/// that they are below `length`; only the label sees beyond. A document that stays whole goes into
/// the first row with room for it, of those open in the order in which they were begun. If there is
/// none and `open_rows` are open, the one begun first is yielded as it is. A row that is full is
/// yielded at once; at the end come the others, in their order. Documents without tokens are passed
/// over.
///
/// An element that cannot be read, or holds no such tokens, is an Error in its place and costs no
/// row. The rows that are open are in memory, and one document. A saved position holds the source's
/// before the oldest document in a row that is open, and a number for each of these. Restoring
/// reads those documents again and skips what lies between. Error: length below 1 or above 2^31 -
/// 1, open_rows below 1, two features of one name.
Transform pack(std::int64_t length, PackOptions options = {});

/// Rows `begin` <= i < `end` of axis 0 of a feature. Negative numbers count from the end, as in
/// Python; nothing: up to the end.
struct Slice {
  std::string feature;                   ///< its name
  std::int64_t begin = 0;                ///< the first row
  std::optional<std::int64_t> end = {};  ///< one row beyond the last
};

/// Replaces an element's features by parts of them. For windows of a series:
///
///   series | window(25, {.shift = 1, .drop_remainder = true})
///          | slices({{"past", {"value", 0, -1}}, {"future", {"value", -1}}})  // [24], [1]
///
/// Keeps random access. Error in place of an element: no such feature, a scalar, rows that it has
/// not. Error: no slices, a name twice.
Transform slices(std::vector<std::pair<std::string, Slice>> parts);

}  // namespace belfry::data
