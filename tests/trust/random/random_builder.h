#pragma once
// The parts of which random models are put together.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/ops.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::random_models {

/// A floating tensor of a model that grows, with about the largest magnitude of its elements.
struct Value {
  Tensor tensor;
  double size = 1;
};

/// A dense layer that may be used once more.
struct SharedLayer {
  Scope scope;
  std::int64_t in = 0, units = 0;
};

/// A model that grows op by op. Where rows are apart, axis 0 of every value is the batch's rows, no
/// op mixes rows, and no draw depends on how many there are: parts of a batch build the same model.
struct Builder {
  Scope scope;
  PhiloxStream random;
  DType floating = DType::f32;  ///< the type of new constants and variables
  bool rows_apart = false;
  bool batch_statistics = true;          ///< whether batch_norm may normalise with the batch's own
  std::vector<Value> values = {};        ///< floating
  std::vector<Value> exact = {};         ///< floating inputs that nobody differentiates
  std::vector<Tensor> whole = {};        ///< i64, i32 or u8, of small numbers
  std::vector<SharedLayer> shared = {};  ///< layers so far
  int count = 0;                         ///< ops so far

  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(n)));
  }
  std::int64_t between(std::int64_t low, std::int64_t high) {  ///< both included
    return low + below(high - low + 1);
  }
  bool chance(float probability) { return random.flip(probability); }
  std::int64_t draw_size();                 ///< the size of an axis: 1 and primes among them
  std::int64_t divisor_of(std::int64_t n);  ///< one of n's divisors
  Scope next(std::string_view name) const { return scope / concat(name, count); }

  /// Keeps a result. One that is large is scaled or squashed, so that what follows stays small.
  bool add(Tensor t, double size);
  bool add_whole(Tensor t);

  const Value& pick();   ///< one of the values, recent ones rather than others
  Value pick(int rank);  ///< the same with so many axes: other shapes are reshaped
  /// One of the values reshaped, sliced or repeated so that it broadcasts with `like`.
  Value pick_beside(const Tensor& like);
  Tensor match(Tensor t, const Tensor& like);
  Tensor condition(const Tensor& like);  ///< bool, broadcasts with `like`

  int first_axis() const { return rows_apart ? 1 : 0; }
  bool has_axis(const Tensor& t) const { return t.rank() > first_axis(); }
  int axis_of(const Tensor& t) {  ///< one that ops may change
    return static_cast<int>(between(first_axis(), t.rank() - 1));
  }
  std::vector<std::int64_t> sizes_of(const Tensor& t) const {
    return {t.shape().begin(), t.shape().end()};
  }
  /// The elements of a row, or where rows are not apart of all.
  std::int64_t extent(const Shape& shape) const;
  bool small(std::int64_t extent) const { return extent <= (rows_apart ? 300 : 2500); }
  /// y plus a variable of one of the shapes that broadcast to it: a bias, or what looks like one.
  Tensor biased(Tensor y);
  Variable variable(const Scope& s, std::string_view name, const Shape& shape, double size = 1);
};

/// Puts one more op behind a model. False: there is nothing in it that the op could take.
using Draw = bool (*)(Builder&);
std::span<const Draw> elementwise_draws();
std::span<const Draw> movement_draws();
std::span<const Draw> whole_draws();
std::span<const Draw> image_draws();
std::span<const Draw> layer_draws();
std::span<const Draw> sequence_draws();

/// A shape of `rank` axes and so many elements.
Shape random_factors(PhiloxStream& random, std::int64_t elements, int rank);

}  // namespace belfry::random_models
