#include "belfry/framework/base/json_tree.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "error_of.h"

namespace belfry {
namespace {

using Kind = JsonNode::Kind;

TEST(JsonTree, ValuesHaveKindsAndTexts) {
  EXPECT_EQ(JsonNode().text(), "null");
  EXPECT_EQ(JsonNode(true).text(), "true");
  EXPECT_EQ(JsonNode(-3).kind, Kind::whole);
  EXPECT_EQ(JsonNode(-3).text(), "-3");
  EXPECT_EQ(JsonNode(3).kind, Kind::natural);
  EXPECT_EQ(JsonNode(std::numeric_limits<std::uint64_t>::max()).text(), "18446744073709551615");
  EXPECT_EQ(JsonNode(2.0).text(), "2.0");  // which is read as a fraction
  EXPECT_EQ(JsonNode(0.25f).text(), "0.25");
  EXPECT_EQ(JsonNode(NAN).text(), "null");
  EXPECT_EQ(JsonNode("a\"b").text(), R"("a\"b")");
  EXPECT_EQ(JsonNode::list().text(), "[]");
  EXPECT_EQ(JsonNode::object().indented_text(), "{}");
}

TEST(JsonTree, IsWrittenOnOneLineOrOnMany) {
  JsonNode tree = JsonNode::object({{"b", JsonNode::list({1, "x"})}, {"a", JsonNode()}});
  EXPECT_EQ(tree.text(), R"({"b":[1,"x"],"a":null})");
  EXPECT_EQ(tree.indented_text(), "{\n \"b\": [\n  1,\n  \"x\"\n ],\n \"a\": null\n}");
}

TEST(JsonTree, IsReadInTheOrderOfTheText) {
  auto tree = parse_json(R"({"b": [1, -1, 1.5, true, "x"], "a": {}})", "t", 2);
  EXPECT_EQ(tree->text(), R"({"b":[1,-1,1.5,true,"x"],"a":{}})");
  ASSERT_NE(tree->find("b"), nullptr);
  EXPECT_EQ(tree->find("b")->children[1].number(), -1);
  EXPECT_EQ(tree->find("c"), nullptr);
  EXPECT_EQ(error_of([] { parse_json("[[[]]]", "t", 2); }), "t: nested more than 2 deep");
  EXPECT_EQ(error_of([] { parse_json("[[[]]]", "", 2); }), "nested more than 2 deep");
}

TEST(JsonTree, MembersComeAndGo) {
  JsonNode tree = JsonNode::object();
  for (const char* key : {"d", "a", "c", "b"}) tree.add(key, key);
  tree.erase("a");
  tree.erase("e");
  EXPECT_EQ(tree.text(), R"({"d":"d","c":"c","b":"b"})");
  for (const char* key : {"b", "c", "d"}) EXPECT_EQ(tree.find(key)->words, key);
  EXPECT_EQ(tree.find("a"), nullptr);
  EXPECT_NE(error_of([&] { tree.add("c", 1); }).find("the key c is there already"),
            std::string::npos);
}

TEST(JsonTree, WhatIsShownIsCutBetweenCharacters) {
  std::string words;
  for (int i = 0; i < 40; ++i) words += "\u00fc";
  std::string out = "\"";
  for (int i = 0; i < 29; ++i) out += "\u00fc";
  EXPECT_EQ(JsonNode(words).shown(), out + "...");  // 59 bytes, as the 60th begins another
}

}  // namespace
}  // namespace belfry
