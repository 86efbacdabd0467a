#pragma once
// The variables of a model, on all towers of this process.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/tensor/array.h"

namespace belfry {

class VariableStore;
struct Strategy;

/// Variables by name, as one model's: what OverTowers says is done to read and write them. Used by
/// one thread at a time, between steps. With several workers, reading merges the towers of this
/// one.
class Variables {
 public:
  /// `first_tower`: the number of the first tower here among those of all workers.
  explicit Variables(const Strategy& strategy, int first_tower = 0);
  ~Variables();
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

  bool contains(std::string_view name) const;  ///< whether there is such a variable
  std::vector<std::string> names() const;      ///< sorted
  /// Error listing the names when there is no such variable.
  const VariableOptions& options(std::string_view name) const;

  /// A copy of the value: the sum or mean of the towers' where they differ (OverTowers).
  Array read(std::string_view name) const;
  /// Gives it to all towers; where read() takes the sum, to the first, and zeros to the others.
  /// Error: no such variable, or another type.
  void write(std::string_view name, const Array& value);

  /// One tower's own value; `tower` counts from 0 in this process. Errors as above.
  ///@{
  Array read(std::string_view name, int tower) const;
  void write(std::string_view name, const Array& value, int tower);
  ///@}

  /// The device that a variable is on; none if there is no such variable.
  std::optional<int> device_of(std::string_view name) const;

  int towers() const { return stores_.size(); }  ///< number in this process
  /// Where one tower's variables of one device are.
  VariableStore& store(int tower, int device = 0);

 private:
  const VariableStore& holder(std::string_view name, int tower) const;

  int first_tower_;
  std::vector<std::vector<std::unique_ptr<VariableStore>>> stores_;  // by tower, by device
};

/// The value that reading a variable of this kind gives when towers hold `values`: their sum, their
/// mean, or the first.
Array merge_over_towers(OverTowers over_towers, const std::vector<Array>& values);

}  // namespace belfry
