#pragma once
// Elements of different sizes stacked: what padded_batch and bucket_by_length share. Internal to
// data/.

#include <cstdint>
#include <span>
#include <string>

#include "belfry/data/element.h"
#include "belfry/data/grouping/grouping.h"
#include "belfry/data/transforms/rows.h"

namespace belfry::data {

/// Stacks rows as padded_batch() does, with its Errors.
class PaddedStack {
 public:
  /// Error: options that no element could meet; it begins with `what`.
  PaddedStack(PaddedBatchOptions options, const char* what);

  /// At least one row. The elements stay as they are.
  void stack(std::span<const Element> rows, Features& out);

 private:
  Signature padded_type(std::span<const Element> rows) const;
  void settle(const std::string& name, TensorType& type) const;
  void check_names(const Features& row) const;
  void put(const Array& row, std::int64_t index, const std::string& name, Array& batch) const;

  PaddedBatchOptions options_;
  BatchRing ring_;
};

}  // namespace belfry::data
