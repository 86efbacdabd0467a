#include "belfry/data/structure.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "belfry/data/sources/sources.h"
#include "belfry/framework/base/error.h"

namespace belfry {
namespace {

using data::nest, data::part;

Features pair() { return {{"left", Array::of({1.0f, 2.0f})}, {"right", Array::of({3.0f, 4.0f})}}; }

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Structure, NamesOfPartsHaveSlashes) {
  Features all = nest({{"pair", pair()}, {"", {{"label", Array::of({5, 6})}}}});
  EXPECT_EQ(to_string(signature_of(all)), "pair/left f32[2], pair/right f32[2], label i32[2]");
  EXPECT_EQ(all.at("pair/right").at(1), 4);
}

TEST(Structure, PartsOfPartsComeBack) {
  Features inner = nest({{"a", pair()}, {"b", pair()}});
  Features all = nest({{"x", inner}, {"xy", pair()}});
  EXPECT_EQ(to_string(signature_of(part(all, "x"))),
            "a/left f32[2], a/right f32[2], b/left f32[2], b/right f32[2]");
  EXPECT_EQ(to_string(signature_of(part(part(all, "x"), "b"))), "left f32[2], right f32[2]");
  EXPECT_EQ(part(part(all, "x"), "b").at("left").raw(), inner.at("b/left").raw());
  EXPECT_EQ(part(all, "x/b").at("left").raw(), inner.at("b/left").raw());
}

TEST(Structure, ASourceOfNestedArrays) {
  InputStreamPtr stream = data::from_arrays(nest({{"pair", pair()}, {"y", pair()}}));
  Features row;
  ASSERT_TRUE(stream->next(row));
  ASSERT_TRUE(stream->next(row));
  EXPECT_EQ(part(row, "pair").at("left").item(), 2);
  EXPECT_EQ(part(row, "y").at("right").item(), 4);
  EXPECT_FALSE(stream->next(row));
}

TEST(Structure, ErrorsName) {
  EXPECT_EQ(message_of([] {
              nest({{"", pair()}, {"", pair()}});
            }),
            "nest: the name `left` results twice");
  EXPECT_EQ(message_of([] {
              part(nest({{"pair", pair()}}), "pai");
            }),
            "unknown feature `pai/...`; this batch has pair/left, pair/right");
}

}  // namespace
}  // namespace belfry
