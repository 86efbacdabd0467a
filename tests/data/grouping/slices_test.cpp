#include "../transforms/reading.h"
#include "belfry/data/grouping/grouping.h"

namespace belfry::data {
namespace {

TEST(Slices, OfWindowsArePastAndFuture) {
  Dataset data = range(6) | window(4, {.shift = 1, .drop_remainder = true})
                 | slices({{"past", {"value", 0, -1}}, {"future", {"value", -1}}});
  EXPECT_EQ(words(data, 9, "past"), (Words{"0,1,2", "1,2,3", "2,3,4"}));
  EXPECT_EQ(words(data, 9, "future"), (Words{"3", "4", "5"}));
  expect_resumes(data, 9, 9, "past");
}

TEST(Slices, CountAsInPython) {
  Array x = Array::of<std::int64_t>({0, 1, 2, 3, 4, 5, 6, 7}, {4, 2});
  auto sliced = [=](Slice slice) {
    Dataset data = from_arrays({{"x", x.reshape({1, 4, 2})}}) | slices({{"value", slice}});
    InputStreamPtr stream = open(data);
    Features f;
    stream->next(f);
    return concat(f.at("value").shape(), " ", words(data)[0]);
  };
  EXPECT_EQ(sliced({"x"}), "[4, 2] 0,1,2,3,4,5,6,7");
  EXPECT_EQ(sliced({"x", 1, 3}), "[2, 2] 2,3,4,5");
  EXPECT_EQ(sliced({"x", -3, -1}), "[2, 2] 2,3,4,5");
  EXPECT_EQ(sliced({"x", -1}), "[1, 2] 6,7");
  EXPECT_EQ(sliced({"x", 4}), "[0, 2] ");
}

TEST(Slices, MayOverlapAndBeOverwritten) {
  Dataset data = from_arrays({{"x", Array::of<std::int64_t>({1, 2, 3}, {1, 3})}})
                 | slices({{"a", {"x", 0, 2}}, {"value", {"x", 1, 3}}}) | map([](Features f) {
                     for (std::int64_t& x : f.at("a").span<std::int64_t>()) x = 9;
                     return f;
                   });
  EXPECT_EQ(words(data), Words{"2,3"});
  EXPECT_TRUE((range(3) | batch(1) | cache() | slices({{"value", {"value"}}})).cardinality() == 3);
}

TEST(Slices, RefuseWhatIsNotThere) {
  auto error = [](const Dataset& data) { return words(data).at(0); };
  Dataset rows = range(3) | batch(3);
  EXPECT_EQ(error(rows | slices({{"x", {"value", 0, 4}}})),
            "error: slices: `value` has 3 rows, so none from 0 to 4 (at element 0, epoch 0, in "
            "map(slices))");
  EXPECT_EQ(error(rows | slices({{"x", {"value", -4}}})),
            "error: slices: `value` has 3 rows, so none from -4 to 3 (at element 0, epoch 0, in "
            "map(slices))");
  EXPECT_EQ(error(rows | slices({{"x", {"value", 2, 1}}})),
            "error: slices: `value` has 3 rows, so none from 2 to 1 (at element 0, epoch 0, in "
            "map(slices))");
  EXPECT_EQ(error(range(1) | slices({{"x", {"value"}}})),
            "error: slices: `value` is a scalar and has no rows (at element 0, epoch 0, in "
            "map(slices))");
  EXPECT_EQ(error(rows | slices({{"x", {"y"}}})),
            "error: unknown feature `y`; this batch has value (at element 0, epoch 0, in "
            "map(slices))");
  EXPECT_EQ(error_of([] { slices({}); }), "slices: there are none");
  EXPECT_EQ(error_of([] { slices({{"x", {"a"}}, {"x", {"b"}}}); }), "slices: there are two `x`");
}

}  // namespace
}  // namespace belfry::data
