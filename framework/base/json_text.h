#pragma once
// A text as JSON, written without the library that reads JSON: that library ends the process where
// it finds no memory for a value.

#include <string>
#include <string_view>

namespace belfry {

/// `text` in quotes, with escapes for what JSON reserves and U+FFFD for each byte that is not UTF-8
/// (see is_utf8()).
std::string json_text(std::string_view text);

}  // namespace belfry
