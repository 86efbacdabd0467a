#pragma once
// Pieces of a page that is both HTML and well-formed XML. Internal to hooks/.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace belfry::hooks {

/// Text as content or as an attribute in quotes. What is no UTF-8, and control characters but
/// newline and tab, become U+FFFD.
std::string escape_html(std::string_view text);

std::string base64(std::span<const std::byte> bytes);

}  // namespace belfry::hooks
