#include "belfry/data/cache/element_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "../../framework/base/error_of.h"

namespace belfry::data {
namespace {

// Index 3, epoch 1, and features b, of one boolean each.
std::vector<std::byte> element_of(std::initializer_list<int> booleans) {
  std::vector<std::byte> out;
  auto number = [&](std::int64_t value) {
    out.resize(out.size() + sizeof value);
    std::memcpy(out.data() + out.size() - sizeof value, &value, sizeof value);
  };
  number(3);
  number(1);
  for (int boolean : booleans) {
    number(1);
    out.push_back(std::byte{'b'});
    number(static_cast<std::int64_t>(DType::boolean));
    number(0);
    out.push_back(static_cast<std::byte>(boolean));
  }
  return out;
}

std::string error(std::initializer_list<int> booleans) {
  Element element;
  return error_of([&] { decode_element(element_of(booleans), element, "file"); });
}

TEST(ElementFile, Element) {
  Element element;
  decode_element(element_of({1}), element, "file");
  EXPECT_EQ(element.index, 3);
  EXPECT_EQ(element.epoch, 1u);
  EXPECT_TRUE(identical(element.features.at("b"), Array::scalar(true)));
}

TEST(ElementFile, BooleansAreZeroOrOne) {
  EXPECT_EQ(error({0}), "no error");
  EXPECT_EQ(error({2}), "file: not an element: a boolean is neither 0 nor 1");
  EXPECT_EQ(error({255}), "file: not an element: a boolean is neither 0 nor 1");
}

TEST(ElementFile, NamesAreThereOnce) {
  EXPECT_EQ(error({0, 1}), "file: not an element: a name is there twice");
}

}  // namespace
}  // namespace belfry::data
