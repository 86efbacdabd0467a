#include "belfry/framework/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "error_of.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

enum class Fruit : std::uint8_t { apple, pear };
constexpr auto names_of(Fruit) { return name_list("apple", "pear"); }

struct Part {
  std::string name = "part";
  std::int64_t size = 2;
  static void fields(auto& o, auto&& field) {
    field("name", o.name);
    field("size", o.size, at_least(1));
  }
};

struct Whole {
  bool flag = false;
  int count = 1;
  std::uint64_t seed = 7;
  float rate = 0.5f;
  Bytes memory = Bytes(4);
  std::chrono::seconds wait = std::chrono::seconds(3);
  Fruit fruit = Fruit::apple;
  std::vector<int> sizes = {1, 2};
  std::vector<Part> parts = {};
  Part main = {};
  BELFRY_FIELDS(flag, count, seed, rate, memory, wait, fruit, sizes, parts, main)
};

Whole read(std::string_view json) {
  Whole whole;
  JsonValue::parse(json, "whole").fields(whole);
  return whole;
}
std::string error(std::string_view json) {
  return error_of([&] { read(json); });
}
std::string written(const Whole& whole) { return json_of(whole, JsonWriter::BadText::refuse); }

TEST(Json, WritesEachKindOfField) {
  EXPECT_EQ(written(Whole{}),
            R"({"flag":false,"count":1,"seed":7,"rate":0.5,"memory":4,"wait":3,"fruit":"apple",)"
            R"("sizes":[1,2],"parts":[],"main":{"name":"part","size":2}})");
}

TEST(Json, IsReadAsItIsWritten) {
  std::string all =
      R"({"flag":true,"count":-3,"seed":18446744073709551615,"rate":0.25,"memory":9,"wait":8,)"
      R"("fruit":"pear","sizes":[],"parts":[{"name":"a\"b","size":5},{"name":"","size":6}],)"
      R"("main":{"name":"m","size":4}})";
  EXPECT_EQ(written(read(all)), all);
}

TEST(Json, WhatIsLeftOutStays) {
  Whole whole = read(R"({"sizes": [5], "main": {"size": 9}})");
  EXPECT_THAT(whole.sizes, ElementsAre(5));
  EXPECT_EQ(whole.main.name, "part");
  EXPECT_EQ(whole.main.size, 9);
  EXPECT_EQ(whole.count, 1);
}

TEST(Json, ErrorsNameThePlace) {
  EXPECT_EQ(error(R"({"flag": 1})"), "whole: `flag` must be true or false, got 1");
  EXPECT_EQ(error(R"({"count": 1.5})"), "whole: `count` must be a whole number, got 1.5");
  EXPECT_EQ(error(R"({"count": 2147483648})"),
            "whole: `count` must be in -2147483648..2147483647, got 2147483648");
  EXPECT_EQ(error(R"({"memory": 18446744073709551615})"),
            "whole: `memory` must be a whole number, got 18446744073709551615");
  EXPECT_EQ(error(R"({"seed": -1})"), "whole: `seed` must be a whole number of at least 0, got -1");
  EXPECT_EQ(error(R"({"rate": "1"})"), "whole: `rate` must be a number, got \"1\"");
  EXPECT_EQ(error(R"({"fruit": "plum"})"),
            "whole: `fruit` must be one of apple, pear, got \"plum\"");
  EXPECT_EQ(error(R"({"fruit": 0})"), "whole: `fruit` must be a string, got 0");
  EXPECT_EQ(error(R"({"sizes": {}})"), "whole: `sizes` must be a list, got {}");
  EXPECT_EQ(error(R"({"sizes": [1, true]})"), "whole: `sizes[1]` must be a whole number, got true");
  EXPECT_EQ(error(R"({"parts": [{}, {"size": 0}]})"),
            "whole: `parts[1].size` must be at least 1, got 0");
  EXPECT_EQ(error(R"({"main": {"nme": 1}})"),
            "whole: there is no field `main.nme`; there are name, size");
  EXPECT_EQ(error(R"({"main": []})"), "whole: `main` must be a JSON object, got []");
  EXPECT_EQ(error("[1]"), "whole must be a JSON object, got [1]");
}

TEST(Json, LongValuesAreCutInMessages) {
  std::string text(100, 'x');
  EXPECT_EQ(error(R"({"count": ")" + text + "\"}"),
            "whole: `count` must be a whole number, got \"" + text.substr(0, 59) + "...");
}

TEST(Json, WhatIsNoJsonHasLineAndColumn) {
  EXPECT_THAT(error("{"), StartsWith("whole: not JSON: line 1, column 2: syntax error"));
  EXPECT_THAT(error("{\n  \"flag\": true,\n  \"count\" 3\n}"),
              StartsWith("whole: not JSON: line 3, column 11: syntax error"));
  EXPECT_THAT(error(R"({"rate": 1e999})"), StartsWith("whole: not JSON: "));
  EXPECT_EQ(error(R"({"count": 1, "count": 2})"), "whole: \"count\" is given twice");
  EXPECT_EQ(error(std::string(65, '[')), "whole: nested more than 64 deep");
}

// Looked for one by one, 45 billion keys would be compared.
TEST(Json, ObjectsMayHaveManyMembers) {
  constexpr int members = 300'000;
  std::string json = "{\"0\":0";
  for (int i = 1; i < members; ++i) json += concat(",\"", i, "\":", i);
  JsonValue value = JsonValue::parse(json + "}", "whole");
  ASSERT_EQ(value.keys().size(), std::size_t{members});
  for (int i = 0; i < members; ++i) ASSERT_EQ(value.required(text(i)).whole(), i);
}

TEST(Json, NumbersAreFinite) {
  Whole whole;
  whole.rate = -0.0f;
  EXPECT_THAT(written(whole), ::testing::HasSubstr(R"("rate":-0.0,)"));
  whole.rate = INFINITY;
  EXPECT_EQ(error_of([&] { written(whole); }), "rate must be a finite number, got inf");
  whole = {};
  whole.fruit = static_cast<Fruit>(2);
  EXPECT_EQ(error_of([&] { written(whole); }), "fruit has no value number 2");
}

TEST(Json, TextIsUtf8) {
  Part part{.name = "a\xff"};
  EXPECT_EQ(error_of([&] { json_of(part, JsonWriter::BadText::refuse); }), "name is not UTF-8");
  EXPECT_EQ(json_of(part, JsonWriter::BadText::replace), "{\"name\":\"a\xEF\xBF\xBD\",\"size\":2}");
}

TEST(Json, MembersAndTitles) {
  JsonValue json = JsonValue::parse(R"({"name": "x", "of": [{"a": 1}]})", "list");
  EXPECT_THAT(json.keys(), ElementsAre("name", "of"));
  EXPECT_THAT(json.without("name").keys(), ElementsAre("of"));
  EXPECT_FALSE(json.only_member("of"));
  EXPECT_TRUE(json.without("name").only_member("of"));
  JsonValue one = json.member("of")->elements()[0];
  EXPECT_EQ(one.path(), "of[0]");
  EXPECT_EQ(error_of([&] { one.titled("list: x").member("a")->words(); }),
            "list: x: `a` must be a string, got 1");
  EXPECT_FALSE(one.member("b"));
  EXPECT_FALSE(one.member("a")->member("b"));
}

}  // namespace
}  // namespace belfry
