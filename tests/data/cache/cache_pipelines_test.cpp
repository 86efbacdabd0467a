// Caches that several pipelines, branches and restored streams share.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "../../framework/base/temporary_folder.h"
#include "../transforms/reading.h"
#include "belfry/data/cache/cache.h"

namespace belfry::data {
namespace {

Features noisy(Features in, PhiloxStream& random) {
  auto& value = in.at("value").span<std::int64_t>()[0];
  value = value * 100 + static_cast<std::int64_t>(random.below(100));
  return in;
}

TEST(Cache, IsSharedAsItsSourceIs) {
  for (const Dataset& source : {range(8), streamed(8)}) {
    Dataset data = source | cache();
    for (int pass = 0; pass < 2; ++pass) {  // filling it, and from it
      EXPECT_EQ(part(data, 2, 0), (Words{"0", "2", "4", "6"}));
      EXPECT_EQ(part(data, 2, 1), (Words{"1", "3", "5", "7"}));
      EXPECT_EQ(part(data, 1, 0), words(source));
      EXPECT_EQ(part(data, 3, 2), (Words{"2", "5"}));
    }
  }
  auto shuffled = [](const Dataset& d) { return d | shuffle(8, {.seed = 4}) | repeat(3); };
  for (int i : {0, 1}) {
    Dataset fresh = range(8) | cache();
    // Orders depend on the number of stages.
    EXPECT_EQ(part(shuffled(fresh), 2, i), part(shuffled(range(8) | prefetch()), 2, i));
  }
}

TEST(Cache, GivesTheSameElementsInEveryBranch) {
  Dataset data = range(4) | map(noisy) | cache();
  Words once = words(range(4) | map(noisy));
  Words twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  EXPECT_EQ(words(concatenate(data, data)), twice);
  expect_resumes(concatenate(range(4) | map(noisy) | cache(), range(3) | map(noisy) | cache()));
}

TEST(Cache, APositionBelongsToOneOrder) {
  auto shuffled = [](std::uint64_t seed, std::int64_t count) {
    return open(range(count) | cache() | shuffle(9, {.seed = seed}));
  };
  std::string position = shuffled(1, 5)->save();
  EXPECT_EQ(error_of([&] { shuffled(1, 5)->restore(position); }), "no error");
  EXPECT_NE(error_of([&] { shuffled(2, 5)->restore(position); }), "no error");
  EXPECT_NE(error_of([&] { shuffled(1, 6)->restore(position); }), "no error");
  InputStreamPtr shorter = open(streamed(3) | cache());
  shorter->restore("cache.next=5");
  Features element;
  EXPECT_EQ(error_of([&] { shorter->next(element); }),
            "cache: 2 of 6 elements are not there any more; were the input pipeline or its data "
            "changed?");
}

TEST(Cache, TheMemoryIsThatOfAllPipelines) {
  int computed = 0;
  Dataset data = streamed(6) | map([&](Features in) {
                   ++computed;
                   return in;
                 })
                 | cache({.memory = Bytes(4 * 264)});
  for (int pass = 0; pass < 2; ++pass)
    for (int i : {0, 1}) part(data, 2, i);
  // Six the first time; then those two that found no room. A skipped element is not computed.
  EXPECT_EQ(computed, 6 + 2);
}

// Yields `count` elements, then waits until it is told to stop.
Dataset waiting_after(std::int64_t count) {
  return generator([=, i = std::int64_t{0}](std::stop_token stop) mutable {
    if (i < count) return std::optional(Features{{"value", Array::scalar(i++)}});
    while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return std::optional<Features>();
  });
}

void take_some_and_stop(const Dataset& data, bool by_token) {
  std::stop_source stop;
  InputStreamPtr stream = data.open({.stop = stop.get_token()});
  Features element;
  stream->next(element);
  if (!by_token) return;
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  while (stream->next(element)) {
  }
}

TEST(Cache, TakesAStopForNoEnd) {
  TemporaryFolder folder;
  for (bool by_token : {false, true}) {
    Dataset in_memory = waiting_after(3) | cache() | prefetch(4);
    take_some_and_stop(in_memory, by_token);
    InputStreamPtr stream = open(in_memory | take(3));
    EXPECT_EQ(values(*stream), (Values{0, 1, 2}));

    std::string path = folder.path() + "/cache";
    take_some_and_stop(waiting_after(3) | cache(path) | prefetch(4), by_token);
    EXPECT_FALSE(std::filesystem::exists(path));
    take_some_and_stop(waiting_after(3) | assert_cardinality(5) | prefetch(4), by_token);
    Dataset batches = waiting_after(3) | batch(2) | prefetch(4);
    std::stop_source stop;
    InputStreamPtr batched = batches.open({.stop = stop.get_token()});
    Features batch;
    ASSERT_TRUE(batched->next(batch));
    stop.request_stop();
    EXPECT_FALSE(batched->next(batch));  // no short batch
  }
}

TEST(Cache, InAFileNeedsAnEnd) {
  TemporaryFolder folder;
  std::string path = folder.path() + "/cache";
  EXPECT_EQ(error_of([&] { range(3) | repeat() | cache(path); }),
            "cache: repeat never ends, so the file would never be whole; put repeat() behind "
            "cache()");
  EXPECT_EQ(error_of([&] { range(3) | repeat() | snapshot(path); }),
            "snapshot: repeat never ends, so the file would never be whole; put repeat() behind "
            "snapshot()");
}

TEST(Cache, AFileOfOtherDataIsNoticedByItsCount) {
  TemporaryFolder folder;
  std::string path = folder.path() + "/cache";
  EXPECT_EQ(values(range(5) | cache(path)), counting(0, 5));
  EXPECT_EQ(values(range(5) | cache(path)), counting(0, 5));
  const std::string message = path + ": it has 5 elements, expected 6; it is of other data: remove "
                                     "it to have it written anew";
  EXPECT_EQ(error_of([&] { open(range(6) | cache(path)); }), message);
  EXPECT_EQ(error_of([&] { range(6) | snapshot(path); }), message);
  EXPECT_EQ(values(streamed(9) | cache(path)), counting(0, 5));  // nobody knows
}

TEST(Cache, AFileOfAnotherKindIsLeftAlone) {
  TemporaryFolder folder;
  std::string path = folder.path() + "/notes.txt";
  std::ofstream(path) << std::string(1000, 'x');
  EXPECT_EQ(error_of([&] { from_snapshot(path); }),
            path + ": no file that cache() or snapshot() wrote, or one cut short; check the path");
}

TEST(Cache, KeepsNothingThatAStopCutShort) {
  for (int round = 0; round < 30; ++round) {
    Dataset data = range(400) | batch(40) | cache() | prefetch(4);
    {
      InputStreamPtr stream = open(data);
      Features some;
      stream->next(some);
    }
    Words rows = words(data);
    ASSERT_EQ(rows.size(), 10u);
    for (const std::string& row : rows) ASSERT_EQ(std::count(row.begin(), row.end(), ','), 39);
  }
}

TEST(Cache, OfFilesIsSharedAsAWholeAlsoByFile) {
  Dataset paths = files({"0", "1", "2", "3", "4", "5", "6", "7"}) | map([](Features in) {
                    std::string text = text_of(in.at("path"));
                    return Features{{"value", Array::scalar(std::int64_t{text[0] - '0'})}};
                  });
  Dataset by_file = paths | cache() | shuffle(8, {.seed = 3}) | repeat(2)
                    | with_options({.shard = ShardPolicy::file});
  Dataset automatic =
      paths | cache() | shuffle(8, {.seed = 3}) | repeat(2) | with_options({.threads = 2});
  for (int i : {0, 1}) EXPECT_EQ(part(by_file, 2, i), part(automatic, 2, i));
}

}  // namespace
}  // namespace belfry::data
