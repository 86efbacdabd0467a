#include "belfry/models/tables/columns.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

namespace belfry::models {
namespace {

// A whole number for each answer, i64 [n, k], below `count`.
struct Categories {
  std::string name;
  Tensor ids;
  std::int64_t count = 0;
  std::int64_t width = 0;
};

std::int64_t category_count(const CategoricalColumn& c) {
  return c.boundaries.empty() ? c.categories : std::ssize(c.boundaries) + 1;
}

Tensor rest_of_division(Tensor x, double divisor) {
  return x - x / constant(x.graph(), divisor, DType::i64) * divisor;
}

// (a x + b mod p) mod buckets (Carter and Wegman, "Universal classes of hash functions", 1979),
// with the prime 2^31 - 1: no product reaches 2^63.
Tensor hashed(Tensor x, std::int64_t buckets) {
  constexpr double prime = 2147483647;
  constexpr double a = 1103515245, b = 12345;
  Tensor small = rest_of_division(rest_of_division(x, prime) + prime, prime);
  return rest_of_division(rest_of_division(small * a + b, prime), buckets);
}

// [n] or [n, k] as [n, k].
Tensor as_table(const std::string& name, Tensor x) {
  require(x.rank() == 1 || x.rank() == 2, "columns: feature `", name, "` is ", x.type(),
          "; it should be [n] or [n, k]");
  require(x.dtype() != DType::u8 || x.rank() == 1, "columns: feature `", name, "` is ", x.type(),
          ", as text is; give its CsvColumn a vocabulary or buckets, or cast it if it is numbers");
  return x.rank() == 1 ? reshape(x, {-1, 1}) : x;
}

Tensor bucketized(Tensor x, const std::vector<double>& boundaries) {
  Array limits(Shape{1, 1, std::ssize(boundaries)}, DType::f64);
  std::ranges::copy(boundaries, limits.span<double>().begin());
  Tensor reached = greater_equal(reshape(cast(x, DType::f64), {x.size(0), x.size(1), 1}),
                                 constant(x.graph(), limits));
  return sum(cast(reached, DType::i64), {.axes = {2}});
}

Categories categories(const Batch& batch, const CategoricalColumn& c) {
  Tensor x = as_table(c.feature, batch[c.feature]);
  Categories out{c.feature, x, category_count(c), c.width};
  if (!c.boundaries.empty()) {
    out.ids = bucketized(x, c.boundaries);
    return out;
  }
  require(!is_floating(x.dtype()), "columns: feature `", c.feature, "` is ", x.type(),
          " but categories are whole numbers; give it boundaries, or make it numeric");
  out.ids = cast(x, DType::i64);
  if (c.hashed) out.ids = hashed(out.ids, c.categories);
  return out;
}

// As digits of one number, each in a base of its own.
Categories crossed(const CrossedColumn& c, const std::vector<Categories>& known) {
  Categories out{join(c.features, "_x_"), {}, 1, c.width};
  for (const std::string& feature : c.features) {
    const Categories& digit = *std::ranges::find(known, feature, &Categories::name);
    require(digit.ids.size(1) == 1, "columns: feature `", feature, "` has ", digit.ids.size(1),
            " answers a row and cannot be crossed");
    out.ids = out.ids.defined() ? out.ids * digit.count + digit.ids : digit.ids;
    out.count *= digit.count;
  }
  if (c.buckets == 0 || c.buckets >= out.count) return out;
  out.ids = hashed(out.ids, c.buckets);
  out.count = c.buckets;
  return out;
}

std::vector<Categories> all_categories(const Batch& batch, const Columns& columns) {
  std::vector<Categories> out;
  for (const CategoricalColumn& c : columns.categorical) out.push_back(categories(batch, c));
  for (const CrossedColumn& c : columns.crossed) out.push_back(crossed(c, out));
  return out;
}

// The numbers of all numeric columns, [n, k].
Tensor numbers(const Batch& batch, const std::vector<NumericColumn>& columns) {
  std::vector<Tensor> parts;
  for (const NumericColumn& c : columns) {
    Tensor x = cast(as_table(c.feature, batch[c.feature]), DType::f32);
    parts.push_back((x - c.mean) / c.deviation);
  }
  return concat(parts, 1);
}

// The vectors of a row's answers, added up: [n, width].
Tensor vectors(const Scope& s, const Categories& c, std::int64_t width,
               const Initializer& initializer) {
  Tensor each =
      embedding(s / c.name, c.ids, {.rows = c.count, .width = width, .initializer = initializer});
  return each.size(1) == 1 ? flatten(each) : sum(each, {.axes = {1}});
}

void validate(const CategoricalColumn& c) {
  bool buckets = !c.boundaries.empty();
  require(!buckets || !c.hashed, "columns: `", c.feature,
          "` is hashed and has boundaries; give it one of the two");
  require(buckets ? c.categories == 0 : c.categories >= 1, "columns: `", c.feature, "` has ",
          c.categories, " categories and ", c.boundaries.size(),
          " boundaries; give it at least one category, or boundaries alone");
  require(std::ranges::is_sorted(c.boundaries, std::less_equal<>{}), "columns: the boundaries of `",
          c.feature, "` do not rise");
  require(c.width >= 1, "columns: the width of `", c.feature, "` is ", c.width,
          "; it must be at least 1");
}

void validate(const CrossedColumn& c, const Columns& columns) {
  std::string name = join(c.features, "_x_");
  require(c.features.size() >= 2, "columns: `", name, "` crosses fewer than two features");
  double combinations = 1;
  for (const std::string& feature : c.features) {
    auto found = std::ranges::find(columns.categorical, feature, &CategoricalColumn::feature);
    require(found != columns.categorical.end(), "columns: `", name, "` crosses `", feature,
            "`, which is no categorical column of this model");
    combinations *= category_count(*found);
  }
  require(combinations < 0x1p62, "columns: `", name, "` has ", combinations,
          " combinations; cross ", "fewer features");
  require(c.buckets >= 0 && c.width >= 1, "columns: `", name, "` has ", c.buckets,
          " buckets and a width of ", c.width, "; they must be at least 0 and 1");
}

}  // namespace

void validate(const Columns& columns) {
  require(!columns.empty(),
          "columns: there are none; give at least one numeric, categorical or crossed column");
  std::set<std::string> seen;
  for (const NumericColumn& c : columns.numeric) {
    require(c.deviation > 0, "columns: the deviation of `", c.feature, "` is ", c.deviation,
            "; it must be above 0");
    require(seen.insert(c.feature).second, "columns: `", c.feature, "` is a numeric column twice");
  }
  seen.clear();
  for (const CategoricalColumn& c : columns.categorical) {
    validate(c);
    require(seen.insert(c.feature).second, "columns: `", c.feature,
            "` is a categorical column twice");
  }
  for (const CrossedColumn& c : columns.crossed) {
    validate(c, columns);
    std::string name = join(c.features, "_x_");
    require(seen.insert(name).second, "columns: the crossed column `", name,
            "` is there twice, or a categorical column has its name");
  }
}

Tensor linear_columns(const Scope& s, const Batch& batch, const Columns& columns,
                      std::int64_t units) {
  at_scope(s.path(), [&] { validate(columns); });
  Tensor total = s.variable("bias", {.shape = {units}});
  if (!columns.numeric.empty())
    total = total
            + dense(s / "numeric", numbers(batch, columns.numeric),
                    {.units = units, .use_bias = false, .kernel_initializer = zeros()});
  for (const Categories& c : all_categories(batch, columns))
    total = total + vectors(s, c, units, zeros());
  return total;
}

Tensor deep_columns(const Scope& s, const Batch& batch, const Columns& columns) {
  at_scope(s.path(), [&] { validate(columns); });
  std::vector<Tensor> parts;
  if (!columns.numeric.empty()) parts.push_back(numbers(batch, columns.numeric));
  for (const Categories& c : all_categories(batch, columns)) {
    double deviation = 1 / std::sqrt(c.width);
    parts.push_back(vectors(s, c, c.width, truncated_normal(0, deviation)));
  }
  return concat(parts, 1);
}

}  // namespace belfry::models
