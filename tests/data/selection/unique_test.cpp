#include "../transforms/reading.h"
#include "belfry/data/selection/selection.h"

namespace belfry::data {
namespace {

Dataset of(Values values) {
  auto count = std::ssize(values);
  return from_arrays({{"value", Array::of(std::span<const std::int64_t>(values), Shape{count})}});
}

Features modulo_three(Features in) {
  std::int64_t value = in.at("value").span<std::int64_t>()[0];
  in.set("rest", Array::scalar(static_cast<std::int32_t>(value % 3)));
  return in;
}

// The cases of tf.data's test of unique.
TEST(Unique, YieldsEachElementOnce) {
  EXPECT_EQ(values(of({}) | unique()), Values{});
  EXPECT_EQ(values(of({1}) | unique()), Values{1});
  EXPECT_EQ(values(of({1, 1, 1, 1, 1, 1, 1}) | unique()), Values{1});
  EXPECT_EQ(values(of({1, 2, 3, 4}) | unique()), (Values{1, 2, 3, 4}));
  EXPECT_EQ(values(of({1, 2, 4, 3, 2, 1, 2, 3, 4}) | unique()), (Values{1, 2, 4, 3}));
  EXPECT_EQ(values(of({1, 2, 1}) | unique() | repeat(2)), (Values{1, 2, 1, 2}));
}

TEST(Unique, MayLookAtSomeFeatures) {
  Dataset data = of({3, 4, 7, 5, 6, 8}) | map(modulo_three);
  EXPECT_EQ(values(data | unique({"rest"})), (Values{3, 4, 5}));
  EXPECT_EQ(values(data | unique({"rest", "value"})), (Values{3, 4, 7, 5, 6, 8}));
  EXPECT_EQ(words(of({1, 2}) | unique({"rest"})),
            (Words{"error: unknown feature `rest`; this batch has value (at element 0, epoch 0)",
                   "error: unknown feature `rest`; this batch has value (at element 1, epoch 0)"}));
}

TEST(Unique, TypesAndShapesCount) {
  std::vector<Array> all{Array::of<std::int32_t>({0, 0}),
                         Array::of<std::int32_t>({0, 0}, {2, 1}),
                         Array::scalar(std::int64_t{0}),
                         Array::of<std::int32_t>({0, 0}),
                         Array::scalar(0.0),
                         Array::scalar(-0.0)};
  Dataset data = indexed(6, [=](std::int64_t i, Features& out) {
    out = {{"x", all[static_cast<std::size_t>(i)].clone()}, {"value", Array::scalar(i)}};
  });
  EXPECT_EQ(values(data | unique({"x"})), (Values{0, 1, 2, 4, 5}));
  // Where one feature ends and the next begins.
  Dataset pairs = indexed(2, [](std::int64_t i, Features& out) {
    out = {{"a", Array::of<std::uint8_t>({1, 2}).rows(0, 1 + i).clone()},
           {"b", Array::of<std::uint8_t>({2, 3}).rows(i, 2 - i).clone()},
           {"value", Array::scalar(i)}};
  });
  EXPECT_EQ(values(pairs | unique({"a", "b"})), (Values{0, 1}));
}

TEST(Unique, ResumesAnywhere) {
  for (const Dataset& data :
       {of({1, 2, 4, 3, 2, 1, 5, 2, 3, 4, 6}) | unique(), of({1, 1, 1}) | unique(),
        of({1, 3, 1, 3, 2, 2, 5}) | failing_at({3}) | unique(),
        streamed(20) | map(modulo_three) | unique({"rest"}) | repeat(2)}) {
    expect_resumes(data);
    expect_skips(data);
  }
  InputStreamPtr stream = open(of({1}) | unique());
  EXPECT_EQ(
      error_of([&] { stream->restore("unique.taken=2"); }),
      "input: the saved position is element 2 of data without duplicates that now end after 1");
}

TEST(Unique, IsSharedAsAWhole) {
  Dataset data = of({7, 7, 8, 8, 9, 9}) | unique();
  EXPECT_EQ(part(data, 2, 0), (Words{"7", "9"}));
  EXPECT_EQ(part(data, 2, 1), Words{"8"});
  EXPECT_EQ(data.cardinality(), unknown);
}

}  // namespace
}  // namespace belfry::data
