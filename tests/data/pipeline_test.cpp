// Whole pipelines: the same bytes for any number of workers, and from any saved position.
#include "pipeline.h"

namespace belfry::data {
namespace {

Features augment(Features in, PhiloxStream& random) {
  std::int64_t value = in.at("value").span<std::int64_t>()[0];
  Features out{{"value", Array({3}, DType::i64)}};
  auto target = out.at("value").span<std::int64_t>();
  for (auto& x : target) x = value * 1000 + static_cast<std::int64_t>(random.below(1000));
  return out;
}

Dataset pipeline(const Dataset& source, int workers) {
  return source | shuffle(97) | repeat() | map(augment, {.workers = workers, .seed = 5})
         | filter([](const Features& f) { return f.at("value").at(0) < 90'000; }) | batch(8)
         | prefetch(3) | threads(8);
}

TEST(Pipeline, GivesTheSameBytesForAnyNumberOfWorkers) {
  for (const Dataset& source : {range(97), streamed(120)}) {
    std::vector<std::string> one = words(pipeline(source, 1), 60);
    ASSERT_EQ(one.size(), 60u);
    for (int workers : {2, 8, autotune}) EXPECT_EQ(words(pipeline(source, workers), 60), one);
  }
}

TEST(Pipeline, ResumesAtRandomPositionsWithAnyNumberOfWorkers) {
  PhiloxStream random(philox_key(1, "positions"));
  for (const Dataset& source : {range(97), streamed(120)}) {
    std::vector<std::string> all = words(pipeline(source, 1), 130);
    for (int trial = 0; trial < 40; ++trial) {
      int workers = std::vector{1, 2, 8, autotune}[random.below(4)];
      auto position = static_cast<std::size_t>(random.below(100));
      InputStreamPtr stream = open(pipeline(source, workers));
      std::vector<std::string> before = words(*stream, static_cast<int>(position));
      std::string state = stream->save();
      ASSERT_LT(state.size(), 200u);
      // Restored into a pipeline with another number of workers, and twice in a row.
      for (int round = 0; round < 2; ++round) {
        stream = open(pipeline(source, 9 - workers));
        stream->restore(state);
        ASSERT_EQ(stream->save(), state);
      }
      ASSERT_EQ(words(*stream, 20), std::vector<std::string>(all.begin() + std::ssize(before),
                                                             all.begin() + std::ssize(before) + 20))
          << "trial " << trial << ", position " << position;
    }
  }
}

TEST(Pipeline, RefusesThePositionOfAnother) {
  std::string state = open(range(10) | batch(2))->save();
  EXPECT_EQ(state, "batch.index=0 indexed.size=10 indexed.next=0");
  InputStreamPtr other = open(range(10) | repeat() | batch(2));
  EXPECT_THAT(error_of([&] { other->restore(state); }),
              ::testing::StartsWith("input: the saved position has `indexed.size` where this "
                                    "pipeline has `repeat.done`; was the input pipeline"));
}

}  // namespace
}  // namespace belfry::data
