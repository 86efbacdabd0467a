#include "belfry/models/gan/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "belfry/models/gan/trace_sqrt.h"

namespace belfry::gan {
namespace {

void require_rows(std::string_view metric, std::string_view what, const Tensor& x) {
  require(x.defined() && x.rank() == 2 && is_floating(x.dtype()) && x.size(1) >= 1, metric, ": ",
          what, " must be floating [n, d], got ", x.defined() ? to_string(x.type()) : "nothing");
}

void require_alike(std::string_view metric, const Tensor& real, const Tensor& generated) {
  require_rows(metric, "features of real data", real);
  require_rows(metric, "features of generated data", generated);
  require(real.size(1) == generated.size(1), metric, ": real data have ", real.size(1),
          " features but generated data have ", generated.size(1));
}

Tensor number(Graph& graph, double value) {
  return constant(graph, Array::of({value}));  // f64 [1]
}

// ---- inception score

// The state is [n, sum of p log p, sum of p for each class].
double score(std::span<const double> s) {
  double negative_entropy = s[1] / s[0];
  for (double sum_of_p : s.subspan(2)) {
    double p = sum_of_p / s[0];
    if (p != 0) negative_entropy -= p * std::log(p);
  }
  return std::exp(negative_entropy);
}

// ---- Frechet distance

// [n, sum of x, sum of x_i x_j or of x_i^2]
Tensor moments(Tensor x, Covariance covariance) {
  x = cast(x, DType::f64);
  double rows = x.size(0);
  std::vector<Tensor> parts{number(x.graph(), rows), sum(x, {.axes = {0}})};
  if (covariance == Covariance::full) {
    Tensor columns = transpose(x);  // the kernel for f64 is several times as fast along rows
    Tensor products = matmul(columns, columns, {.transpose_b = true});
    parts.push_back(reshape(products, {x.size(1) * x.size(1)}));
  }
  if (covariance == Covariance::diagonal) parts.push_back(sum(square(x), {.axes = {0}}));
  return concat(parts, 0);
}

// The sums that moments() has gathered, and the moments from them.
class Moments {
 public:
  Moments(std::span<const double> state, std::size_t d)
      : n_(state[0]), sum_(state.subspan(1, d)), products_(state.subspan(1 + d)) {}

  double mean(std::size_t i) const { return sum_[i] / n_; }
  // The covariance of features i and j, whose products are at `at`.
  double covariance(std::size_t i, std::size_t j, std::size_t at) const {
    if (n_ < 2) return std::numeric_limits<double>::quiet_NaN();
    return (products_[at] - sum_[i] * mean(j)) / (n_ - 1);
  }
  double variance(std::size_t i, std::size_t at) const {
    return std::max(covariance(i, i, at), 0.0);  // NaN stays
  }
  std::vector<double> covariances() const {
    std::size_t d = sum_.size();
    std::vector<double> out(d * d);
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j) out[i * d + j] = covariance(i, j, i * d + j);
    return out;
  }

 private:
  double n_;
  std::span<const double> sum_, products_;
};

double between_covariances(const Moments& a, const Moments& b, std::size_t d, Covariance kind) {
  double distance = 0;
  if (kind == Covariance::diagonal)
    for (std::size_t i = 0; i < d; ++i) {
      double difference = std::sqrt(a.variance(i, i)) - std::sqrt(b.variance(i, i));
      distance += difference * difference;
    }
  if (kind == Covariance::full) {
    for (std::size_t i = 0; i < d; ++i)
      distance += a.variance(i, i * d + i) + b.variance(i, i * d + i);
    distance -= 2 * trace_of_sqrt_of_product(a.covariances(), b.covariances(), d);
  }
  return distance;
}

double distance(std::span<const double> state, std::size_t d, Covariance kind) {
  Moments a(state.first(state.size() / 2), d), b(state.subspan(state.size() / 2), d);
  double total = between_covariances(a, b, d, kind);
  for (std::size_t i = 0; i < d; ++i) total += std::pow(a.mean(i) - b.mean(i), 2);
  return total;
}

// ---- kernel distance

// The sum of values with the weight n, and n; that of a block too small for a value.
Metric mean_of_blocks(Tensor value, std::int64_t rows) {
  Graph& graph = value.graph();
  Tensor n = number(graph, rows);
  return {.state = concat({reshape(value, {1}) * n, n}, 0),
          .value = [](std::span<const double> s) { return Array::scalar(s[0] / s[1]); }};
}

Tensor cube(Tensor x) { return x * square(x); }

Tensor kernel(Tensor x, Tensor y) {
  return cube(matmul(x, y, {.transpose_b = true}) / x.size(1) + 1);
}

// The mean over pairs of different rows.
Tensor mean_of_pairs(Tensor x) {
  double n = x.size(0);
  Tensor of_itself = cube(mean(square(x), {.axes = {1}}) + 1);
  return (sum(kernel(x, x)) - sum(of_itself)) / (n * (n - 1));
}

// ---- sliced Wasserstein distance

// Each row of x [p, n] in ascending order. Of equals the first comes first, so ranks are 0..n-1.
Tensor sorted(Tensor x) {
  Graph& graph = x.graph();
  std::int64_t p = x.size(0), n = x.size(1);
  Array numbers(Shape{n}, DType::f32);
  for (std::int64_t i = 0; i < n; ++i) numbers.span<float>()[i] = i;
  Tensor number = constant(graph, numbers);
  Tensor other = reshape(x, {p, 1, n}), own = reshape(x, {p, n, 1});
  Tensor earlier = less(reshape(number, {1, n}), reshape(number, {n, 1}));
  Tensor before = where(earlier, less_equal(other, own), less(other, own));
  Tensor rank = sum(cast(before, DType::f32), {.axes = {2}});                    // [p, n]
  Tensor here = equal(reshape(rank, {p, 1, n}), reshape(number, {n, 1}));        // [p, rank, n]
  return sum(where(here, other, constant(graph, 0, x.dtype())), {.axes = {2}});  // [p, rank]
}

}  // namespace

Metric inception_score(Tensor logits, InceptionScoreOptions o) {
  require_rows("inception_score", o.probabilities ? "probabilities" : "logits", logits);
  Tensor x = cast(logits, DType::f64);
  Tensor p = o.probabilities ? x : softmax(x);
  Tensor zero = constant(x.graph(), 0, DType::f64);
  // p log p is 0 where p is; not so the product, whose logarithm is infinite.
  Tensor products = where(equal(p, zero), zero, p * (o.probabilities ? log(p) : log_softmax(x)));
  Tensor n = number(x.graph(), x.size(0));
  return {.state = concat({n, reshape(sum(products), {1}), sum(p, {.axes = {0}})}, 0),
          .value = [](std::span<const double> s) { return Array::scalar(score(s)); }};
}

Metric frechet_distance(Tensor real, Tensor generated, FrechetOptions o) {
  require_alike("frechet_distance", real, generated);
  std::size_t d = real.size(1);
  return {.state = concat({moments(real, o.covariance), moments(generated, o.covariance)}, 0),
          .value = [d, o](std::span<const double> s) {
            return Array::scalar(distance(s, d, o.covariance));
          }};
}

Metric kernel_distance(Tensor real, Tensor generated) {
  require_alike("kernel_distance", real, generated);
  Tensor x = cast(real, DType::f64), y = cast(generated, DType::f64);
  if (x.size(0) < 2 || y.size(0) < 2) return mean_of_blocks(number(x.graph(), 0), 0);
  Tensor value = mean_of_pairs(x) + mean_of_pairs(y) - 2 * mean(kernel(x, y));
  return mean_of_blocks(value, x.size(0));
}

Metric sliced_wasserstein_distance(const Scope& s, Tensor real, Tensor generated,
                                   SlicedWassersteinOptions o) {
  require_alike("sliced_wasserstein_distance", real, generated);
  require(real.size(0) == generated.size(0), "sliced_wasserstein_distance: there are ",
          real.size(0), " rows of real data but ", generated.size(0), " of generated data");
  require(o.projections >= 1, "sliced_wasserstein_distance: projections must be at least 1, got ",
          o.projections);
  if (real.size(0) == 0) return mean_of_blocks(number(real.graph(), 0), 0);
  Tensor lines =
      random_normal(s / "lines", {real.size(1), o.projections}, 0, 1, DType::f64);  // [d, p]
  lines = lines * rsqrt(sum(square(lines), {.axes = {0}}));
  auto along = [&](Tensor x) {
    return sorted(matmul(lines, cast(x, DType::f64), {.transpose_a = true, .transpose_b = true}));
  };
  return mean_of_blocks(mean(abs(along(real) - along(generated))), real.size(0));
}

}  // namespace belfry::gan
