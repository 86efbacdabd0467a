#include "../transforms/reading.h"
#include "belfry/data/grouping/grouping.h"

namespace belfry::data {
namespace {

TEST(Rebatch, ChangesTheSize) {
  Dataset fours = range(10) | batch(4);
  EXPECT_EQ(words(fours | rebatch(3)), (Words{"0,1,2", "3,4,5", "6,7,8", "9"}));
  EXPECT_EQ(words(fours | rebatch(3, {.drop_remainder = true})),
            (Words{"0,1,2", "3,4,5", "6,7,8"}));
  EXPECT_EQ(words(fours | rebatch(20)), (Words{"0,1,2,3,4,5,6,7,8,9"}));
  EXPECT_EQ(words(fours | rebatch(20, {.drop_remainder = true})), Words{});
  EXPECT_EQ(words(fours | rebatch(4)), (Words{"0,1,2,3", "4,5,6,7", "8,9"}));
  EXPECT_EQ(words(fours | rebatch(5, {.drop_remainder = true})), (Words{"0,1,2,3,4", "5,6,7,8,9"}));
  EXPECT_EQ(words(range(0) | batch(4) | rebatch(3)), Words{});
}

TEST(Rebatch, TakesSizesInTurn) {
  Dataset fours = range(10) | batch(4);
  EXPECT_EQ(words(fours | rebatch({2, 1})), (Words{"0,1", "2", "3,4", "5", "6,7", "8", "9"}));
  EXPECT_EQ(words(fours | rebatch({4, 0, 1})), (Words{"0,1,2,3", "", "4", "5,6,7,8", "", "9"}));
  expect_resumes(fours | rebatch({2, 1}));
  expect_resumes(fours | rebatch({4, 0, 1}));
  expect_skips(fours | rebatch({4, 0, 1}));
}

TEST(Rebatch, OfNoRowsHasAShapeToo) {
  InputStreamPtr stream = open(from_arrays({{"x", Array::zeros({1, 2, 3})}}) | rebatch({0, 2}));
  Features f;
  ASSERT_TRUE(stream->next(f));
  EXPECT_EQ(f.at("x").shape(), (Shape{0, 3}));
  ASSERT_TRUE(stream->next(f));
  EXPECT_EQ(f.at("x").shape(), (Shape{2, 3}));
  ASSERT_TRUE(stream->next(f));
  EXPECT_EQ(f.at("x").shape(), (Shape{0, 3}));
  EXPECT_FALSE(stream->next(f));
}

// Where the sizes ask for them. After a batch that came short, or none, the data have ended.
TEST(Rebatch, BatchesWithoutRowsComeAlsoAtTheEnd) {
  EXPECT_EQ(words(range(4) | batch(4) | rebatch({1, 1, 1, 1, 0})), (Words{"0", "1", "2", "3", ""}));
  Dataset twos = range(8) | batch(4) | rebatch({2, 2, 0});
  EXPECT_EQ(words(twos), (Words{"0,1", "2,3", "", "4,5", "6,7", ""}));
  EXPECT_EQ(words(twos | shard(3, 2)), (Words{"", ""}));
  EXPECT_EQ(words(range(4) | batch(3) | rebatch({2, 0, 0})), (Words{"0,1", "", "", "2,3", "", ""}));
  EXPECT_EQ(words(range(5) | batch(4) | rebatch({3, 0})), (Words{"0,1,2", "", "3,4"}));
  EXPECT_EQ(words(range(5) | batch(4) | rebatch({3, 0}, {.drop_remainder = true})),
            (Words{"0,1,2", ""}));
  EXPECT_EQ(words(range(0) | batch(4) | rebatch({0, 3})), Words{});
  EXPECT_EQ(words(range(1) | batch(4) | rebatch({0, 1, 0})), (Words{"", "0", "", ""}));
}

TEST(Rebatch, ResumesAmongBatchesWithoutRows) {
  for (const auto& sizes : {Values{1, 1, 1, 1, 0}, {2, 2, 0}, {4, 0, 0}, {3, 0}, {0, 5}})
    for (std::int64_t count : {0, 1, 4, 8}) {
      Dataset data = range(count) | batch(4) | rebatch(sizes);
      expect_resumes(data);
      expect_skips(data);
      expect_resumes(range(count) | failing_at({3, 5}) | batch(2) | rebatch(sizes));
      expect_resumes(range(count) | batch(4) | rebatch(sizes, {.drop_remainder = true})
                     | repeat(2));
    }
}

TEST(Rebatch, AFailureLeavesBatchesWithoutRowsInTheirTurn) {
  Dataset data = range(4) | failing_at({3}) | batch(2) | rebatch({2, 2, 0});
  EXPECT_EQ(words(data), (Words{"0,1", "error: bad value 3 (at element 3, epoch 0)"}));
  Dataset after = range(6) | failing_at({3}) | batch(2) | rebatch({2, 2, 0});
  EXPECT_EQ(words(after), (Words{"0,1", "error: bad value 3 (at element 3, epoch 0)", "", "4,5"}));
}

TEST(Rebatch, MemoryFollowsTheRowsThatThereAre) {
  Dataset data = range(10) | batch(4) | rebatch({3, std::int64_t{1} << 60});
  EXPECT_EQ(words(data), (Words{"0,1,2", "3,4,5,6,7,8,9"}));
  expect_resumes(data);
  EXPECT_EQ(words(range(300'000) | batch(1000) | rebatch(250'000) | map([](Features in) {
                    auto rows = in.at("value").span<std::int64_t>();
                    std::int64_t sum = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
                    return Features{{"value", Array::scalar(sum)}};
                  })),
            (Words{"31249875000", "13749975000"}));
}

TEST(Rebatch, RefusesWhatCannotWork) {
  EXPECT_EQ(error_of([] { rebatch(0); }), "rebatch: size must be at least 1, got 0");
  EXPECT_EQ(error_of([] { rebatch({2, -1}); }), "rebatch: sizes must be at least 0, got -1");
  EXPECT_EQ(error_of([] { rebatch({0, 0}); }), "rebatch: needs a size above 0, got 0, 0");
  EXPECT_EQ(error_of([] { rebatch(std::vector<std::int64_t>{}); }),
            "rebatch: needs a size above 0, got none");
}

TEST(Rebatch, PassesABatchThatFitsOn) {
  auto memory = std::make_shared<const void*>();
  Dataset source = indexed(4, [=](std::int64_t, Features& out) {
    out = {{"value", Array::zeros({2}, DType::i64)}};
    *memory = out.at("value").raw();
  });
  InputStreamPtr stream = open(source | rebatch({2, 1}));
  Features f;
  ASSERT_TRUE(stream->next(f));
  EXPECT_EQ(f.at("value").raw(), *memory);
  ASSERT_TRUE(stream->next(f));
  EXPECT_NE(f.at("value").raw(), *memory);
}

TEST(Rebatch, ABatchThatFailsFailsTheOneInProgress) {
  Dataset data = range(12) | failing_at({5}) | batch(4) | rebatch(3);
  // Row 3 waits when 4, 5, 6, 7 fail.
  EXPECT_EQ(words(data),
            (Words{"0,1,2", "error: bad value 5 (at element 5, epoch 0)", "8,9,10", "11"}));
  expect_resumes(data);
  expect_skips(data);
}

TEST(Rebatch, ABatchThatFailsTakesItsTurn) {
  Dataset data = range(12) | failing_at({5}) | batch(4) | rebatch({4, 2});
  EXPECT_EQ(named_words(data),
            (Words{"0: 0,1,2,3", "1: error: bad value 5 (at element 5, epoch 0)", "2: 8,9,10,11"}));
}

TEST(Rebatch, RowsThatDoNotFitBeginTheNext) {
  Dataset uneven = indexed(3, [](std::int64_t i, Features& out) {
    out = {{"value", Array::of<std::int64_t>({i, i}, i == 0 ? Shape{2} : Shape{2, 1})}};
  });
  EXPECT_EQ(
      words(uneven | rebatch(3)),
      (Words{"error: cannot rebatch: the rows so far are (value i64[]), then come rows (value "
             "i64[1])",
             "1,1,2", "2"}));
  expect_resumes(uneven | rebatch(3));
  EXPECT_EQ(words(range(2) | rebatch(3)),
            (Words{"error: rebatch: `value` is a scalar; a batch has rows (at element 0, epoch 0)",
                   "error: rebatch: `value` is a scalar; a batch has rows (at element 1, epoch "
                   "0)"}));
}

TEST(Rebatch, ResumesAnywhere) {
  for (std::int64_t size : {1, 3, 4, 5, 9, 30}) {
    expect_resumes(range(23) | shuffle(23) | batch(4) | rebatch(size) | repeat(2));
    expect_resumes(streamed(23) | batch(4) | rebatch(size, {.drop_remainder = true}));
    expect_skips(range(23) | batch(4) | rebatch(size));
  }
  expect_resumes(range(10) | batch(4) | repeat() | rebatch(3));
  EXPECT_EQ((range(10) | batch(4) | rebatch(3)).cardinality(), unknown);
  EXPECT_EQ((range(10) | batch(4) | repeat() | rebatch(3)).cardinality(), infinite);
}

TEST(Rebatch, UsesItsMemoryAgain) {
  InputStreamPtr stream = open(range(60) | batch(4) | rebatch(3));
  Features f;
  ASSERT_TRUE(stream->next(f));
  const void* memory = f.at("value").raw();
  while (stream->next(f)) EXPECT_EQ(f.at("value").raw(), memory);
}

}  // namespace
}  // namespace belfry::data
