#include "belfry/data/formats/images/image_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "../../../framework/base/error_of.h"

namespace belfry::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ImageGrid, StandsRowAfterRowWithABorder) {
  std::vector<Array> images;
  for (std::uint8_t v : {1, 2, 3}) images.push_back(Array::of<std::uint8_t>({v, 9}, {1, 2, 1}));
  Array grid = image_grid(images, {.columns = 2, .border = 1});
  ASSERT_EQ(grid.type(), (TensorType{{5, 7, 1}, DType::u8}));
  EXPECT_THAT(grid.span<std::uint8_t>(), ElementsAre(0, 0, 0, 0, 0, 0, 0,  //
                                                     0, 1, 9, 0, 2, 9, 0,  //
                                                     0, 0, 0, 0, 0, 0, 0,  //
                                                     0, 3, 9, 0, 0, 0, 0,  //
                                                     0, 0, 0, 0, 0, 0, 0));
}

TEST(ImageGrid, ValuesGoFromBlackToWhite) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<Array> images{Array::of({-1.0f, 0.0f, 1.0f, 7.0f, -3.0f, nan}, {1, 2, 3})};
  Array grid = image_grid(images, {.columns = 1, .border = 0, .low = -1, .high = 1});
  EXPECT_THAT(grid.span<std::uint8_t>(), ElementsAre(0, 128, 255, 255, 0, 0));
}

TEST(ImageGrid, WhatDoesNotFitIsRefused) {
  std::vector<Array> none, two{Array({1, 2, 1}, DType::u8), Array({2, 1, 1}, DType::u8)};
  EXPECT_THAT(error_of([&] { image_grid(none); }), HasSubstr("no images"));
  EXPECT_THAT(error_of([&] { image_grid(two); }),
              HasSubstr("image 1 is u8[2, 1, 1] but the first is u8[1, 2, 1]"));
  two.pop_back();
  EXPECT_THAT(error_of([&] { image_grid(two, {.columns = 0}); }), HasSubstr("at least 1"));
  EXPECT_THAT(error_of([&] { image_grid(two, {.low = 1, .high = 1}); }),
              HasSubstr("not below high"));
}

}  // namespace
}  // namespace belfry::data
