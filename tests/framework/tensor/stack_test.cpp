// Covers stack_rows(), concat_rows(), with_rows() and permute().

#include <gmock/gmock.h>

#include "../base/error_of.h"
#include "belfry/framework/tensor/array.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(StackRows, PutsExamplesBehindEachOther) {
  std::vector<Array> rows{Array::of({1, 2}), Array::of({3, 4}), Array::of({5, 6})};
  Array all = stack_rows(rows, rows[0].type());
  EXPECT_EQ(to_string(all.type()), "i32[3, 2]");
  EXPECT_THAT(all.span<int>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(stack_rows({}, rows[0].type()).shape(), (Shape{0, 2}));
  rows.push_back(Array::of({1}));
  EXPECT_THAT(error_of([&] { stack_rows(rows, rows[0].type()); }),
              HasSubstr("a row is i32[1], expected i32[2]"));
}

TEST(ConcatRows, PutsBatchesBehindEachOther) {
  std::vector<Array> parts{Array::of({1, 2, 3, 4}, {2, 2}), Array::of({5, 6}, {1, 2})};
  Array all = concat_rows(parts);
  EXPECT_EQ(to_string(all.type()), "i32[3, 2]");
  EXPECT_THAT(all.span<int>(), ElementsAre(1, 2, 3, 4, 5, 6));
  for (const Array& other : {Array::of({1}), Array::of({1.0f, 2.0f}, {1, 2}), Array::scalar(1)}) {
    std::vector<Array> unlike{parts[0], other};
    EXPECT_THAT(error_of([&] { concat_rows(unlike); }), HasSubstr("does not go with i32[2, 2]"));
  }
  EXPECT_THAT(error_of([] { concat_rows({}); }), HasSubstr("there are no parts"));
}

TEST(Permute, MovesAxes) {
  Array x = Array::of({1, 2, 3, 4, 5, 6}, {1, 2, 3});
  auto order = [](std::initializer_list<std::int64_t> axes) {
    return std::vector<std::int64_t>(axes);
  };
  Array y = permute(x, order({2, 0, 1}));
  EXPECT_EQ(to_string(y.type()), "i32[3, 1, 2]");
  EXPECT_THAT(y.span<int>(), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_TRUE(identical(permute(y, order({1, 2, 0})), x));
  EXPECT_EQ(permute(Array::scalar(7), {}).item(), 7);
  for (const auto& wrong : {order({0, 1}), order({0, 1, 1}), order({0, 1, 3}), order({0, 1, -1})})
    EXPECT_THAT(error_of([&] { permute(x, wrong); }), HasSubstr("is no order of the 3 axes"));
}

}  // namespace
}  // namespace belfry
