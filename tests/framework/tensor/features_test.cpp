#include "belfry/framework/tensor/features.h"

#include <gmock/gmock.h>

namespace belfry {
namespace {

using ::testing::StrEq;
using ::testing::ThrowsMessage;

std::vector<std::string> names(const Features& features) {
  std::vector<std::string> out;
  for (const auto& [name, array] : features) out.push_back(name);
  return out;
}

TEST(Features, KeepTheOrderInWhichTheyWereAdded) {
  Features features{{"label", Array::scalar(1)}, {"image", Array::scalar(2.5f)}};
  features.set("weight", Array::scalar(3.0));
  features.set("label", Array::scalar(4));
  EXPECT_THAT(names(features), ::testing::ElementsAre("label", "image", "weight"));
  EXPECT_EQ(features.at("label").item(), 4);
  EXPECT_EQ(features.size(), 3u);
  EXPECT_TRUE(features.contains("image"));
  EXPECT_FALSE(features.contains("imag"));
  features.clear();
  EXPECT_TRUE(features.empty());
}

TEST(Features, AtGivesTheArrayItselfForWriting) {
  Features features{{"x", Array::scalar(1)}};
  features.at("x") = Array::scalar(2);
  EXPECT_EQ(std::as_const(features).at("x").item(), 2);
}

TEST(Features, UnknownAndRepeatedNamesAreErrors) {
  Features features{{"image", Array::scalar(1)}, {"label", Array::scalar(2)}};
  EXPECT_THAT([&] { features.at("lable"); },
              ThrowsMessage<Error>(StrEq("unknown feature `lable`; this batch has image, label")));
  EXPECT_THAT([] { Features().at("x"); },
              ThrowsMessage<Error>(StrEq("unknown feature `x`; this batch has no features")));
  EXPECT_THAT(
      [] {
        Features({{"x", Array()}, {"x", Array()}});
      },
      ThrowsMessage<Error>(StrEq("features: the name `x` is used twice")));
}

TEST(Features, TheSignatureIsNamesAndTypes) {
  Features a{{"image", Array({64, 28, 28, 1}, DType::f32)}, {"label", Array({64}, DType::i64)}};
  EXPECT_EQ(to_string(signature_of(a)), "image f32[64, 28, 28, 1], label i64[64]");
  Features b{{"image", Array({64, 28, 28, 1}, DType::f32)}, {"label", Array({64}, DType::i64)}};
  EXPECT_EQ(signature_of(a), signature_of(b));
  b.set("label", Array({63}, DType::i64));
  EXPECT_NE(signature_of(a), signature_of(b));
  EXPECT_EQ(to_string(signature_of(Features())), "");
}

}  // namespace
}  // namespace belfry
