#pragma once
// Raw examples, prepared as the training's input pipeline did it.

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/data/augment/augment.h"
#include "belfry/framework/export/predictor.h"

namespace belfry::programs {

/// An input of a signature; its type is that of one example, without the axis of the rows.
struct Input {
  std::string name;
  TensorType type;
};

/// Whole numbers stay what they are. Error, beginning with `where`: one cannot.
Array cast_exactly(const Array& numbers, DType dtype, std::string_view where);

/// The preparation of a signature (ExportSignature::preparation), if it has one.
class Preparation {
 public:
  /// Error: a preparation that cannot be read.
  Preparation(const Predictor& predictor, const std::string& signature, std::vector<Input> inputs);

  explicit operator bool() const { return prepare_.has_value(); }  ///< there is one
  /// It takes words for this input, u8 [length].
  bool takes_text(const std::string& input) const { return texts_.contains(input); }
  /// The inputs for a raw example. Error: the result has an input of another type.
  Features operator()(Features raw) const;
  /// A serialized tf.train.Example, raw: images are decoded, strings and numbers are as stored.
  Features parse(std::span<const std::byte> example) const;

 private:
  std::vector<Input> inputs_;
  ExampleInputs examples_;
  std::optional<data::Augmentation> prepare_;
  std::set<std::string> texts_;
};

}  // namespace belfry::programs
