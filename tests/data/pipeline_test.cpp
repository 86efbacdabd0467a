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

TEST(Pipeline, IsReadInARangeFor) {
  Dataset data = range(3) | batch(2);
  for (int pass = 0; pass < 2; ++pass) {
    Values seen;
    for (const Features& batch : data)
      for (std::int64_t value : batch.at("value").span<std::int64_t>()) seen.push_back(value);
    EXPECT_EQ(seen, (Values{0, 1, 2}));
  }
  std::string names;
  for (const auto& [name, array] : *range(3).begin()) names += name;  // the iterator is gone
  EXPECT_EQ(names, "value");
  for (const Features& batch : range(0)) FAIL() << to_string(signature_of(batch));
  std::vector<Features> kept;
  for (const Features& batch : range(3)) kept.push_back(batch);
  for (std::int64_t i = 0; i < 3; ++i)
    EXPECT_EQ(kept[static_cast<std::size_t>(i)].at("value").item(), static_cast<double>(i));
  EXPECT_EQ(error_of([] {
              for (const Features& f : range(3) | failing_at({1}))
                EXPECT_EQ(f.at("value").item(), 0);
            }),
            "bad value 1 (at element 1, epoch 0)");
}

TEST(Pipeline, IsReducedToOneValue) {
  auto add = [](double sum, const Features& f) { return sum + f.at("value").item(); };
  EXPECT_EQ(reduce(range(5), 0.5, add), 10.5);
  EXPECT_EQ(reduce(range(0), 7.0, add), 7.0);
  // Any state: the example of tf.data's reduce, which counts.
  EXPECT_EQ(
      reduce(streamed(5), std::string(), [](std::string s, const Features&) { return s + "x"; }),
      "xxxxx");
  EXPECT_EQ(error_of([&] { reduce(range(3) | failing_at({1}), 0.0, add); }),
            "bad value 1 (at element 1, epoch 0)");
  EXPECT_EQ(error_of([&] { reduce(range(3) | repeat(), 0.0, add); }),
            "reduce: the dataset never ends; put take(n) behind it");
}

}  // namespace
}  // namespace belfry::data
