#pragma once
// Named arrays: an example, or a batch of them.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/framework/tensor/array.h"

namespace belfry {

/// An example, or a batch: arrays by name, in the order in which they were added. Small: look-up is
/// linear.
class Features {
 public:
  using Item = std::pair<std::string, Array>;

  Features() = default;
  Features(std::initializer_list<Item> items);  ///< Error: a name twice

  bool contains(std::string_view name) const;
  const Array& at(std::string_view name) const;  ///< Error listing the names when there is no such
  Array& at(std::string_view name);
  void set(std::string_view name, Array value);  ///< replaces or appends

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  void clear() { items_.clear(); }

 private:
  std::vector<Item> items_;
};

/// The form of a batch: name and type of each array. Two batches with equal signatures run the same
/// plan.
using Signature = std::vector<std::pair<std::string, TensorType>>;

Signature signature_of(const Features& features);
/// signature_of(features) == signature, without making it.
bool matches(const Features& features, const Signature& signature);
std::string to_string(const Signature& signature);  ///< "image f32[64, 28, 28, 1], label i64[64]"

/// "unknown feature `lable`; this batch has image, label": the one wording of that error.
[[noreturn]] void fail_unknown_feature(std::string_view name,
                                       const std::vector<std::string>& known);

}  // namespace belfry
