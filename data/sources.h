#pragma once
// Where elements come from.

#include <cstdint>
#include <functional>
#include <optional>

#include "belfry/data/dataset.h"

namespace belfry::data {

/// Puts element `index`, 0 <= index < count, into `out`, whose old contents may be overwritten: see
/// prepare(). Called from several threads at once when several streams are open.
using ReadElement = std::function<void(std::int64_t index, Features& out)>;

/// `count` elements with random access: shuffle() permutes their numbers in place of their
/// contents, and a saved position is one number. The base of every source whose elements can be
/// fetched by number. Error: count below 0; an Error from `read` carries the element's number.
Dataset indexed(std::int64_t count, ReadElement read);

/// The rows of arrays that agree in axis 0: {"x": [n, 3], "y": [n]} gives n elements
/// {"x": [3], "y": []}. Shares the arrays, yields copies of the rows. Random access. Error: no
/// arrays, a scalar, or sizes of axis 0 that differ.
Dataset from_arrays(Features arrays);

/// {"value": i64 []}, counting from 0 to count - 1. Random access.
Dataset range(std::int64_t count);

/// Yields elements, or nothing at the end. What it returns belongs to the pipeline.
using Generate = std::function<std::optional<Features>()>;

/// Elements from a function. Each pass works on a copy of `generate` as it was given, so that a
/// mutable lambda starts anew:
///
///   data::generator([i = std::int64_t{0}]() mutable -> std::optional<Features> {
///     if (i == 3) return std::nullopt;
///     return Features{{"x", Array::scalar(i++)}};
///   })
///
/// A saved position is the number of elements taken; restoring calls the function that many times.
/// State that it holds by reference does not start anew. An exception costs one element.
Dataset generator(Generate generate);

}  // namespace belfry::data
