#pragma once
// How features of a table become what a model computes with. Text becomes whole numbers in the
// input pipeline: data::CsvColumn has vocabularies and hash buckets for it.

#include <cstdint>
#include <string>
#include <vector>

#include "belfry/framework/framework.h"

namespace belfry::models {

/// A feature whose numbers are used as they are: any type, [n] or [n, k], but not u8 [n, k], which
/// text has.
struct NumericColumn {
  std::string feature = {};  ///< its name
  double mean = 0,           ///< of x, which becomes (x - mean) / deviation
      deviation = 1;         ///< above 0
  BELFRY_FIELDS(feature, mean, deviation)
};

/// A feature that says which of several categories, [n], or [n, k] for k answers, whose vectors are
/// added up.
struct CategoricalColumn {
  std::string feature = {};     ///< its name
  std::int64_t categories = 0;  ///< the feature is whole numbers from 0 up to this
  /// The feature may be any whole numbers, which are spread over so many `categories` by a hash.
  bool hashed = false;
  /// The feature is numbers of any type, and its category how many of these, which rise, it has
  /// reached: {18, 65} makes three. `categories` stays 0 then.
  std::vector<double> boundaries = {};
  std::int64_t width = 8;  ///< of the vector that a deep model learns for each category
  BELFRY_FIELDS(feature, categories, hashed, boundaries, width)
};

/// Which categories occur together.
struct CrossedColumn {
  std::vector<std::string> features = {};  ///< two or more categorical columns with one answer each
  /// Combinations are spread over so many by a hash; 0, or more than there are: one for each.
  std::int64_t buckets = 0;
  std::int64_t width = 8;  ///< as above
  BELFRY_FIELDS(features, buckets, width)
};

/// The columns that a model sees.
struct Columns {
  std::vector<NumericColumn> numeric = {};          ///< of different features
  std::vector<CategoricalColumn> categorical = {};  ///< likewise
  std::vector<CrossedColumn> crossed = {};          ///< of categorical columns that are here too

  /// There is no column of any kind.
  bool empty() const { return numeric.empty() && categorical.empty() && crossed.empty(); }
  BELFRY_FIELDS(numeric, categorical, crossed)
};

/// Error unless there is a column and all of them make sense.
void validate(const Columns& columns);

/// A linear model: the sum over columns of a weight for each number, or each category, and unit,
/// plus a bias for each unit: [n, units]. All variables begin at 0: numeric/kernel, FEATURE/table
/// for categories, with the names joined by _x_ where they are crossed, and bias. Error: as
/// validate(); a feature that is not there, of another shape, or text; in a step, a category out of
/// range.
Tensor linear_columns(const Scope& s, const Batch& batch, const Columns& columns,
                      std::int64_t units);

/// The input of a deep model: the numbers, and a learnt vector for each category, side by side,
/// [n, d]. Variables and errors as above.
Tensor deep_columns(const Scope& s, const Batch& batch, const Columns& columns);

}  // namespace belfry::models
