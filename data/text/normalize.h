#pragma once
// Unicode's normalization.

#include <string>
#include <string_view>

namespace belfry::data {

bool is_ascii(std::string_view text);

/// Normalization form C of well-formed UTF-8, by the data of Unicode 9.0, as the package
/// `tokenizers` 0.23 has it: later characters stay as they are.
std::string nfc(std::string_view text);

}  // namespace belfry::data
