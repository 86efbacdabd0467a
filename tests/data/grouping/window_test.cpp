#include "../transforms/reading.h"
#include "belfry/data/grouping/grouping.h"

namespace belfry::data {
namespace {

TEST(Window, Slides) {
  for (const Dataset& source : {range(7), streamed(7)}) {
    EXPECT_EQ(words(source | window(3)), (Words{"0,1,2", "3,4,5", "6"}));
    EXPECT_EQ(words(source | window(3, {.drop_remainder = true})), (Words{"0,1,2", "3,4,5"}));
    EXPECT_EQ(words(source | window(3, {.shift = 2})), (Words{"0,1,2", "2,3,4", "4,5,6", "6"}));
    EXPECT_EQ(words(source | window(3, {.shift = 1, .drop_remainder = true})),
              (Words{"0,1,2", "1,2,3", "2,3,4", "3,4,5", "4,5,6"}));
    EXPECT_EQ(words(source | window(2, {.shift = 3})), (Words{"0,1", "3,4", "6"}));
    EXPECT_EQ(words(source | window(1, {.shift = 4})), (Words{"0", "4"}));
  }
}

// The example of tf.data.Dataset.window.
TEST(Window, TakesEveryOther) {
  EXPECT_EQ(words(range(7) | window(3, {.shift = 1, .stride = 2, .drop_remainder = true})),
            (Words{"0,2,4", "1,3,5", "2,4,6"}));
  EXPECT_EQ(words(range(5) | window(2, {.shift = 1, .stride = 2})),
            (Words{"0,2", "1,3", "2,4", "3", "4"}));
  EXPECT_EQ(words(range(7) | window(2, {.shift = 4, .stride = 3})), (Words{"0,3", "4"}));
}

TEST(Window, StacksAlongANewAxis) {
  InputStreamPtr stream = open(from_arrays({{"x", Array::of<float>({1, 2, 3, 4, 5, 6}, {3, 2})}})
                               | window(2, {.shift = 1}));
  Features f;
  ASSERT_TRUE(stream->next(f));
  EXPECT_TRUE(identical(f.at("x"), Array::of<float>({1, 2, 3, 4}, {2, 2})));
  ASSERT_TRUE(stream->next(f));
  EXPECT_TRUE(identical(f.at("x"), Array::of<float>({3, 4, 5, 6}, {2, 2})));
  ASSERT_TRUE(stream->next(f));
  EXPECT_TRUE(identical(f.at("x"), Array::of<float>({5, 6}, {1, 2})));
}

TEST(Window, RefusesWhatCannotWork) {
  EXPECT_EQ(error_of([] { window(0); }), "window: size must be at least 1, got 0");
  EXPECT_EQ(error_of([] { window(2, {.shift = -1}); }), "window: shift must be at least 0, got -1");
  EXPECT_EQ(error_of([] { window(2, {.stride = 0}); }), "window: stride must be at least 1, got 0");
  EXPECT_EQ(error_of([] { window(std::int64_t{1} << 62, {.stride = 3}); }),
            "window: 4611686018427387904 elements at a stride of 3 are too many");
  EXPECT_EQ(words(range(3) | window(std::int64_t{1} << 50)), (Words{"0,1,2"}));
}

TEST(Window, AFailureCostsTheWindowsItIsIn) {
  const std::string bad = "error: bad value 2 (at element 2, epoch 0)";
  EXPECT_EQ(words(range(6) | failing_at({2}) | window(2, {.shift = 1})),
            (Words{"0,1", bad, bad, "3,4", "4,5", "5"}));
  EXPECT_EQ(words(range(7) | failing_at({2}) | window(2, {.shift = 1, .stride = 2})),
            (Words{bad, "1,3", bad, "3,5", "4,6", "5", "6"}));
  // It is in none.
  EXPECT_EQ(words(range(6) | failing_at({2}) | window(2, {.shift = 3})), (Words{"0,1", "3,4"}));
}

// Each window has an Error of its own: what one consumer adds does not show in the next.
TEST(Window, ErrorsDoNotAddUp) {
  Dataset data = range(3) | failing_at({1}) | window(2, {.shift = 1});
  InputStreamPtr stream = open(data);
  for (int i = 0; i < 2; ++i) {
    std::string text;
    try {
      Features f;
      stream->next(f);
    } catch (Error& error) {
      text = error.add_context("read by me").what();
    }
    EXPECT_EQ(text, "bad value 1 (at element 1, epoch 0) (read by me)");
  }
}

TEST(Window, SaysWhichElementDoesNotFit) {
  Dataset uneven = indexed(4, [](std::int64_t i, Features& out) {
    out = {{"value", Array::zeros(i == 2 ? Shape{2} : Shape{1}, DType::i64)}};
  });
  EXPECT_EQ(words(uneven | window(2, {.shift = 1})),
            (Words{"0,0",
                   "error: cannot batch: row 0 has value [1], row 1 has value [2]; make them "
                   "equal, or use padded_batch",
                   "error: cannot batch: row 0 has value [2], row 1 has value [1]; make them "
                   "equal, or use padded_batch",
                   "0"}));
}

TEST(Window, KnowsHowManyThereAre) {
  auto count = [](std::int64_t n, std::int64_t size, WindowOptions options) {
    Dataset data = range(n) | window(size, options);
    EXPECT_EQ(data.cardinality(), std::ssize(words(data))) << n << " " << size;
    return data.cardinality();
  };
  EXPECT_EQ(count(7, 3, {}), 3);
  EXPECT_EQ(count(7, 3, {.drop_remainder = true}), 2);
  EXPECT_EQ(count(7, 3, {.shift = 1}), 7);
  EXPECT_EQ(count(7, 3, {.shift = 1, .stride = 2, .drop_remainder = true}), 3);
  EXPECT_EQ(count(4, 3, {.shift = 1, .stride = 2, .drop_remainder = true}), 0);
  EXPECT_EQ(count(0, 3, {.shift = 1}), 0);
  EXPECT_EQ(count(9, 2, {.shift = 4}), 3);
  EXPECT_EQ((range(3) | repeat() | window(2)).cardinality(), infinite);
  EXPECT_EQ((streamed(3) | window(2)).cardinality(), unknown);
}

TEST(Window, ResumesAnywhere) {
  for (const Dataset& source : {range(11), streamed(11) | failing_at({3, 4})})
    for (WindowOptions options :
         {WindowOptions{}, WindowOptions{.shift = 1}, WindowOptions{.shift = 2, .stride = 2},
          WindowOptions{.shift = 7}, WindowOptions{.shift = 1, .stride = 2, .drop_remainder = true},
          WindowOptions{.shift = 20}}) {
      expect_resumes(source | window(3, options) | repeat(2));
      expect_resumes(source | window(3, options));
      expect_skips(source | window(3, options));
    }
  expect_resumes(range(4) | repeat() | window(3, {.shift = 2}));
  expect_resumes(range(0) | window(3));
}

TEST(Window, UsesItsMemoryAgain) {
  InputStreamPtr stream = open(range(20) | window(4, {.shift = 1, .drop_remainder = true}));
  Features f;
  ASSERT_TRUE(stream->next(f));
  const void* memory = f.at("value").raw();
  while (stream->next(f)) EXPECT_EQ(f.at("value").raw(), memory);
}

}  // namespace
}  // namespace belfry::data
