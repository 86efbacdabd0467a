#pragma once
// Where elements come from.

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include "belfry/data/dataset.h"

namespace belfry::data {

/// Puts element `index`, 0 <= index < count, into `out`, whose old contents may be overwritten: see
/// prepare(). Called from several threads at once when several streams are open.
using ReadElement = std::function<void(std::int64_t index, Features& out)>;

/// `count` elements with random access: shuffle() permutes their numbers in place of their
/// contents, and a saved position is one number. The base of every source whose elements can be
/// fetched by number. `name` stands in explain(). Error: count below 0; an Error from `read`
/// carries the element's number.
Dataset indexed(std::int64_t count, ReadElement read, std::string name = "indexed");

/// The rows of arrays that agree in axis 0: {"x": [n, 3], "y": [n]} gives n elements
/// {"x": [3], "y": []}. Shares the arrays, yields copies of the rows. Random access. Error: no
/// arrays, a scalar, or sizes of axis 0 that differ. Arrays in a structure: see nest().
Dataset from_arrays(Features arrays, std::string name = "from_arrays");

/// {"value": i64 []}, counting from 0 to count - 1. Random access.
Dataset range(std::int64_t count);

/// Thrown by a generator's function: there are no more elements.
struct EndOfData {};

/// The function that generator() calls: any callable that returns std::optional<Features>, nothing
/// at the end, or Features, and throws EndOfData at the end. One that may wait takes a
/// std::stop_token, which is told when the stream is destroyed: the function then returns as soon
/// as it can, with any result.
class Generate {
 public:
  /// A null pointer or an empty std::function gives an empty object.
  template <class F>
  requires(!std::is_same_v<
               std::remove_cvref_t<F>,
               Generate> && (std::is_invocable_v<F&> || std::is_invocable_v<F&, std::stop_token>))
      Generate(F f) {
    if constexpr (requires { f == nullptr; })
      if (f == nullptr) return;
    if constexpr (std::is_invocable_v<F&, std::stop_token>) {
      call_ = std::move(f);
    } else {
      call_ = [f = std::move(f)](std::stop_token) mutable { return f(); };
    }
  }
  explicit operator bool() const { return call_ != nullptr; }  ///< false: empty
  /// The next element, or nothing.
  std::optional<Features> operator()(std::stop_token stop) {
    try {
      return call_(std::move(stop));
    } catch (const EndOfData&) {
      return std::nullopt;
    }
  }

 private:
  std::function<std::optional<Features>(std::stop_token)> call_;
};

/// Elements from a function. Each pass works on a copy of `generate` as it was given, so that a
/// mutable lambda starts anew:
///
///   data::generator([i = std::int64_t{0}]() mutable -> std::optional<Features> {
///     if (i == 3) return std::nullopt;
///     return Features{{"x", Array::scalar(i++)}};
///   })
///
/// Where an element depends on what was done with the ones before it, nothing may read ahead: map
/// with one worker, no prefetch.
///
/// A saved position is the number of elements taken; restoring calls the function that many times.
/// State that it holds by reference does not start anew. An exception costs one element.
Dataset generator(Generate generate);

}  // namespace belfry::data
