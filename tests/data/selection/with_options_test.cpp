#include "../transforms/reading.h"
#include "belfry/data/scheduler.h"
#include "belfry/data/selection/selection.h"

namespace belfry::data {
namespace {

// Yields the number of threads that its pass may use.
Dataset thread_count() {
  return Dataset("thread_count", [](const Pass& pass) {
    int threads = pass.scheduler->threads();
    Features one{{"value", Array::of<std::int64_t>({threads}, {1})}};
    return from_arrays(one).iterate(pass.inner(0));
  });
}

TEST(WithOptions, SetsThreadsForWhatStandsBeforeIt) {
  EXPECT_EQ(values(thread_count() | with_options({.threads = 7})), (Values{7}));
  EXPECT_EQ(values(thread_count() | with_options({.threads = 7}) | with_options({.threads = 3})),
            (Values{7}));
  EXPECT_EQ(values(thread_count() | with_options({}) | threads(5)), (Values{5}));
  EXPECT_EQ(error_of([] { with_options({.threads = -1}); }),
            "with_options: threads must be at least 0, got -1");
}

TEST(WithOptions, SetsHowPipelinesShare) {
  Dataset all = range(4) | with_options({.shard = ShardPolicy::off});
  EXPECT_EQ(part(all, 2, 1), (Words{"0", "1", "2", "3"}));
  EXPECT_EQ(part(range(4) | with_options({.threads = 2}), 2, 1), (Words{"1", "3"}));
  EXPECT_EQ(part(all | with_options({.threads = 2}), 2, 1), (Words{"0", "1", "2", "3"}));
  EXPECT_EQ(
      part(range(4) | with_options({.threads = 2}) | with_options({.shard = ShardPolicy::off}), 2,
           1),
      (Words{"0", "1", "2", "3"}));
  EXPECT_EQ(part(all | with_options({.shard = ShardPolicy::data}), 2, 1),
            (Words{"0", "1", "2", "3"}));
  EXPECT_THAT(error_of([] { part(range(4) | with_options({.shard = ShardPolicy::file}), 2, 1); }),
              ::testing::StartsWith("range: ShardPolicy::file, but this source does not read"));
  EXPECT_EQ(describe_shards(all, 2),
            "range, pipeline 0 of 2: everything\nrange, pipeline 1 of 2: everything\n");
}

TEST(WithOptions, ChangesNoElement) {
  Dataset data = range(9) | with_options({.threads = 2, .shard = ShardPolicy::data});
  EXPECT_EQ(values(data), counting(0, 9));
  EXPECT_TRUE(data.info().random_access);
  EXPECT_EQ(data.cardinality(), 9);
  EXPECT_EQ((range(9) | repeat() | with_options({})).cardinality(), infinite);
  expect_resumes(data | shuffle(9));
  expect_skips(data);
}

TEST(WithOptions, ThreadsKeepTheMemory) {
  auto memory = [](const Dataset& data) {
    std::int64_t out = 0;
    Dataset look("look", {data}, [&](const Pass& pass) {
      out = pass.scheduler->memory().count;
      return data.iterate(pass);
    });
    open(look | threads(2) | with_options({.memory = Bytes(77)}));
    return out;
  };
  EXPECT_EQ(memory(range(1)), 77);
}

TEST(WithOptions, ThreadsShareTheMemoryOfTheStream) {
  Scheduler whole(1, Bytes(100));
  Scheduler part(2, whole);
  EXPECT_EQ(part.threads(), 2);
  EXPECT_TRUE(part.reserve(Bytes(70)));
  EXPECT_FALSE(whole.reserve(Bytes(70)));
  part.release(Bytes(70));
  EXPECT_TRUE(whole.reserve(Bytes(70)));
}

}  // namespace
}  // namespace belfry::data
