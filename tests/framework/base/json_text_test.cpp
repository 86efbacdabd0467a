#include "belfry/framework/base/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace belfry {
namespace {

TEST(JsonText, EscapesWhatJsonReserves) {
  EXPECT_EQ(json_text(""), R"("")");
  EXPECT_EQ(json_text("a \"b\" \\ /"), R"("a \"b\" \\ /")");
  EXPECT_EQ(json_text("\b\f\n\r\t\x01\x1f\x7f"), "\"\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"");
  EXPECT_EQ(json_text(std::string_view("\0", 1)), R"("\u0000")");
  EXPECT_EQ(json_text("é 漢 𝄞"), "\"é 漢 𝄞\"");
}

TEST(JsonText, WritesTheReplacementForWhatIsNoUtf8) {
  EXPECT_EQ(json_text("a\xFF"
                      "b"),
            "\"a\xEF\xBF\xBD"
            "b\"");
  EXPECT_EQ(json_text("\xE6\xBC"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");  // a character is cut
  EXPECT_EQ(json_text("\xC0\xAF"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");  // an overlong form
}

// Every character of the basic plane that is one, and some beyond.
TEST(JsonText, IsWhatTheLibraryWrites) {
  for (char32_t code = 0; code < 0x11000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string text;
    if (code < 0x80) {
      text = {static_cast<char>(code)};
    } else if (code < 0x800) {
      text = {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
    } else if (code < 0x10000) {
      text = {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 63)),
              static_cast<char>(0x80 | (code & 63))};
    } else {
      text = {static_cast<char>(0xF0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 63)),
              static_cast<char>(0x80 | (code >> 6 & 63)), static_cast<char>(0x80 | (code & 63))};
    }
    ASSERT_EQ(json_text(text), nlohmann::json(text).dump()) << static_cast<std::uint32_t>(code);
  }
}

}  // namespace
}  // namespace belfry
