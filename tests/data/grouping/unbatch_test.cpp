#include "../../framework/base/resident_bytes.h"
#include "../transforms/reading.h"
#include "belfry/data/grouping/grouping.h"

namespace belfry::data {
namespace {

TEST(Unbatch, UndoesBatch) {
  EXPECT_EQ(words(range(7) | batch(3) | unbatch()), (Words{"0", "1", "2", "3", "4", "5", "6"}));
  EXPECT_EQ(words(range(6) | batch(2) | batch(3) | unbatch()), (Words{"0,1", "2,3", "4,5"}));
  EXPECT_EQ(words(range(0) | batch(3) | unbatch()), Words{});
  EXPECT_EQ(words(range(2) | batch(2) | repeat() | unbatch(), 3), (Words{"0", "1", "0"}));
}

TEST(Unbatch, TakesAllFeaturesApart) {
  Dataset batches = from_arrays({{"x", Array::of<float>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2})},
                                 {"y", Array::of<std::uint8_t>({9, 8, 7, 6}, {2, 2})}});
  InputStreamPtr stream = open(batches | unbatch());
  Features f;
  for (std::uint8_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(stream->next(f));
    auto first = static_cast<float>(2 * i + 1);
    EXPECT_TRUE(identical(f.at("x"), Array::of<float>({first, first + 1})));
    EXPECT_TRUE(identical(f.at("y"), Array::scalar(static_cast<std::uint8_t>(9 - i))));
  }
  EXPECT_FALSE(stream->next(f));
}

// Batches of 2, 0, 3 and 1 rows that count on.
Dataset uneven() {
  return indexed(4, [](std::int64_t i, Features& out) {
    const std::vector<Values> rows{{0, 1}, {}, {2, 3, 4}, {5}};
    std::span<const std::int64_t> mine = rows[static_cast<std::size_t>(i)];
    out = {{"value", Array::of(mine, Shape{std::ssize(mine)})}};
  });
}

TEST(Unbatch, BatchesMayDiffer) {
  EXPECT_EQ(values(uneven() | unbatch()), counting(0, 6));
  expect_resumes(uneven() | unbatch());
  expect_skips(uneven() | unbatch());
}

TEST(Unbatch, CountsThrough) {
  EXPECT_EQ(named_words(range(3) | batch(2) | repeat(2) | unbatch()),
            (Words{"0: 0", "1: 1", "2: 2", "3: 0", "4: 1", "5: 2"}));
}

TEST(Unbatch, RefusesWhatHasNoRows) {
  EXPECT_EQ(
      words(range(1) | unbatch()),
      (Words{"error: unbatch: `value` is a scalar; a batch has rows (at element 0, epoch 0)"}));
  Dataset uneven = indexed(1, [](std::int64_t, Features& out) {
    out = {{"x", Array::zeros({3})}, {"y", Array::zeros({2, 4})}};
  });
  EXPECT_EQ(
      words(uneven | unbatch()),
      (Words{"error: unbatch: features must agree in axis 0, but `x` is [3] and `y` is [2, 4] "
             "(at element 0, epoch 0)"}));
  Dataset nothing = indexed(1, [](std::int64_t, Features& out) { out = {}; });
  EXPECT_EQ(words(nothing | unbatch()),
            (Words{"error: unbatch: a batch without features (at element 0, epoch 0)"}));
}

TEST(Unbatch, ABatchThatFailsIsOneError) {
  Dataset data = range(9) | failing_at({4}) | batch(3) | unbatch();
  EXPECT_EQ(words(data),
            (Words{"0", "1", "2", "error: bad value 4 (at element 4, epoch 0)", "6", "7", "8"}));
  expect_resumes(data);
  expect_skips(data);
}

TEST(Unbatch, ElementsBelongToTheConsumer) {
  auto negate = map([](Features in) {
    for (auto& x : in.at("value").span<std::int64_t>()) x = -x;
    return in;
  });
  EXPECT_EQ(values(range(4) | batch(4) | unbatch() | negate), (Values{0, -1, -2, -3}));
}

TEST(Unbatch, ReadsOneBatchAgain) {
  auto reads = std::make_shared<int>(0);
  Dataset data = range(30) | map([=](Features in) {
                   ++*reads;
                   return in;
                 })
                 | batch(5) | unbatch();
  InputStreamPtr stream = open(data);
  words(*stream, 17);
  EXPECT_EQ(stream->save(),
            "unbatch.index=17 unbatch.row=2 batch.index=3 indexed.size=30 "
            "indexed.next=15");
  InputStreamPtr resumed = open(data);
  *reads = 0;
  resumed->restore(stream->save());
  EXPECT_EQ(words(*resumed, 3), (Words{"17", "18", "19"}));
  EXPECT_EQ(*reads, 5);
}

TEST(Unbatch, SaysWhenABatchHasShrunk) {
  InputStreamPtr stream = open(range(9) | batch(3) | unbatch());
  stream->restore("unbatch.index=17 unbatch.row=3 batch.index=0 indexed.size=9 indexed.next=0");
  EXPECT_EQ(words(*stream, 2),
            (Words{"error: input: the saved position is row 3 of element 0, epoch 0, which now has "
                   "3 rows",
                   "3"}));
}

// Two batches of two rows, those of the first larger than any memory.
Dataset huge_rows() {
  return indexed(2, [](std::int64_t i, Features& out) {
    static std::int64_t somewhere = 0;
    TensorType huge{Shape{2, std::int64_t{1} << 50}, DType::u8};
    out = {{"value", i == 0 ? Array(huge, &somewhere, nullptr) : Array::of<std::int64_t>({5, 6})}};
  });
}

TEST(Unbatch, ARowThatNoMemoryHoldsEndsThePass) {
  if (freed_memory_is_kept) GTEST_SKIP() << "a sanitizer ends the program instead";
  EXPECT_EQ(
      words(huge_rows() | unbatch(), 1),
      Words{"error: out of host memory: could not allocate 1024.0 TiB (at element 0, epoch 0)"});
  EXPECT_EQ(
      words(huge_rows() | rebatch(3), 1),
      Words{"error: out of host memory: could not allocate 2048.0 TiB (at element 0, epoch 0)"});
  InputStreamPtr stream = open(huge_rows() | unbatch());
  Features row;
  EXPECT_THROW(stream->next(row), OutOfMemory);
  EXPECT_EQ(error_of([&] { stream->next(row); }),
            "input: memory was short in this pass, so that nobody knows how far it came; restore() "
            "a position saved before, or open the data again");
}

TEST(Unbatch, ResumesAnywhere) {
  expect_resumes(range(23) | shuffle(23) | batch(4) | unbatch() | repeat(2));
  expect_resumes(streamed(23) | batch(4) | unbatch() | batch(3));
  expect_resumes(range(10) | batch(4) | repeat() | unbatch());
  expect_skips(range(10) | batch(4) | unbatch());
  EXPECT_EQ((range(10) | batch(4) | unbatch()).cardinality(), unknown);
  EXPECT_EQ((range(10) | batch(4) | repeat() | unbatch()).cardinality(), infinite);
}

}  // namespace
}  // namespace belfry::data
