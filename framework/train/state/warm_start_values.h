#pragma once
// How a variable's value is made of another model's. Internal to train/.

#include <cstdint>
#include <optional>
#include <string>

#include "belfry/framework/train/warm_start.h"

namespace belfry {

/// A value that was made to fit, and how: "transposed, f16 to f32".
struct ConvertedValue {
  Array value;
  std::string how;
  std::string also = {};  ///< another tensor of the source that went into it
};

/// The same in the type of `wanted`; nothing if it cannot be converted.
std::optional<ConvertedValue> with_type_of(const VariableOptions& wanted, ConvertedValue value);

/// `source`, found under `source_name`, as a value of `wanted`; nothing if its shape or type does
/// not allow it. The rule of the layout comes first, then the type.
std::optional<ConvertedValue> convert_value(const WarmStart& options, const VariableOptions& wanted,
                                            const std::string& source_name, const Array& source);

/// Rows, or columns, by token: first values from `seed`, but where both vocabularies have the
/// token. `source` is of the type wanted but for the size of that axis; nothing if it is not.
std::optional<ConvertedValue> take_tokens(const WarmStartVocabulary& vocabulary,
                                          const VariableOptions& wanted, const Array& source,
                                          std::uint64_t seed);

}  // namespace belfry
