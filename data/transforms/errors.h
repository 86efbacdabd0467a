#pragma once
// The treatment of elements that cannot be produced.

#include <cstdint>
#include <string>
#include <vector>

#include "belfry/data/dataset.h"

namespace belfry::data {

/// How on_error() treats an element that cannot be produced. A lack of memory (is_shortage()) says
/// nothing against an element: it reaches the consumer and ends the pass, whatever is asked for.
enum class OnError : std::uint8_t {
  fail,  ///< the error reaches the consumer; asking again goes on after the element
  skip,  ///< the element is left out, counted and logged
};

/// Options of on_error().
struct OnErrorOptions {
  OnError action = OnError::fail;  ///< with `fail`, the other options do not count
  /// Skipping stops being silent beyond either of these: the error then reaches the consumer.
  std::int64_t max_count = 100;  ///< elements left out
  double max_ratio = 0.01;       ///< of all elements so far, judged from the 1000th on
  /// A file to which one line is added for each element left out: epoch, index, message, with tabs
  /// between. read_quarantine() reads it. Empty: none.
  std::string quarantine = {};
};

///   images | data::on_error({.action = data::OnError::skip, .quarantine = "bad.tsv"})
///
/// Handles errors of all that stands before it. Its counts are part of a saved position. Skipping
/// makes the cardinality unknown and gives up random access. Error: a limit below 0, a quarantine
/// file that cannot be written.
Transform on_error(OnErrorOptions options);

/// The indices in a quarantine file, in ascending order, each once. Error: a line that on_error()
/// did not write, with its number.
std::vector<std::int64_t> read_quarantine(const std::string& path);

/// The elements of the source at these places, in this order, with random access if the source has
/// it. With the indices from read_quarantine() it runs what was left out again:
///
///   images | data::select(data::read_quarantine("bad.tsv")) | data::map(decode)
///
/// Indices are those that elements have where on_error() stands: behind batch they number batches,
/// so put on_error() before it. Where the rest of a file was lost, the elements after it have other
/// indices once the file is mended, and those in the rest were never listed.
///
/// Indices must ascend for a source without random access, and the elements between them are
/// skipped. Error: they do not ascend; an index is below 0; there is no such element (in place of
/// it, where the cardinality is not known before).
Transform select(std::vector<std::int64_t> indices);

}  // namespace belfry::data
