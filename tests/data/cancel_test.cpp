// Streams that are destroyed at any moment, also while their sources wait or fail: every thread is
// joined, promptly. Runs under ThreadSanitizer too.
#include <atomic>
#include <condition_variable>
#include <thread>

#include "belfry/data/combine/combine.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

// Waits for ever once it has yielded `count` elements, unless it is told to stop.
Dataset waiting_after(std::int64_t count) {
  return generator([=, i = std::int64_t{0}](std::stop_token stop) mutable {
    if (i == count) {
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any().wait(lock, stop, [] { return false; });
      return std::optional<Features>();
    }
    return std::optional(Features{{"value", Array::scalar(i++)}});
  });
}

Dataset random_pipeline(PhiloxStream& random) {
  Dataset data = random.below(3) == 0 ? waiting_after(static_cast<std::int64_t>(random.below(60)))
                                      : range(200) | shuffle(200) | repeat();
  int workers = std::vector{1, 2, 4, autotune}[random.below(4)];
  if (random.below(2)) data = data | failing_at({3, 17, 18}, workers);
  if (random.below(2)) data = data | shuffle(1 + static_cast<std::int64_t>(random.below(30)));
  if (random.below(2)) data = data | prefetch(1 + static_cast<std::int64_t>(random.below(4)));
  auto some = [](Features f) { return range(f.at("value").span<std::int64_t>()[0] % 5); };
  if (random.below(2)) data = data | interleave(some, {.cycle_length = 3, .workers = 2});
  auto same = [](Features f) { return f; };
  if (random.below(2))
    data = data | map_and_batch(same, 4, {.workers = workers});
  else
    data = data | map(same, {.workers = workers, .ordered = random.below(2) == 0}) | batch(4);
  if (random.below(2)) data = data | prefetch(2);
  return data | threads(3);
}

TEST(Cancel, TwoHundredStreamsEndAtRandomMoments) {
  PhiloxStream random(philox_key(11, "cancel"));
  for (int round = 0; round < 200; ++round) {
    std::stop_source stop;
    InputStreamPtr stream = random_pipeline(random).open({.stop = stop.get_token()});
    std::jthread consumer([&] {
      Features batch;
      for (int i = 0; i < 40 && next_text(*stream, batch) != "end"; ++i) {
      }
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(800)));
    stop.request_stop();  // the consumer may be waiting for a source that waits
    consumer.join();
    stream.reset();
  }
}

TEST(Cancel, StreamsAreDestroyedInTheMiddle) {
  PhiloxStream random(philox_key(12, "cancel"));
  for (int round = 0; round < 200; ++round) {
    InputStreamPtr stream =
        open(range(500) | failing_at({9}, 3) | prefetch(3) | batch(2) | prefetch(2) | threads(3));
    words(*stream, static_cast<int>(random.below(5)));
  }
}

TEST(Cancel, AStoppedStreamHasEnded) {
  std::stop_source stop;
  InputStreamPtr stream = range(10).open({.stop = stop.get_token()});
  EXPECT_EQ(values(*stream, 3), (Values{0, 1, 2}));
  stop.request_stop();
  EXPECT_EQ(values(*stream), Values{});
}

TEST(Cancel, ASourceThatWaitsIsToldToStop) {
  for (const Transform& ahead :
       {prefetch(3), Transform([](Dataset d) { return d | failing_at({}, 2) | prefetch(2); })}) {
    InputStreamPtr stream = open(waiting_after(4) | ahead);  // as many as two workers read ahead
    Features element;
    EXPECT_TRUE(stream->next(element));
    stream.reset();  // hangs if nobody tells the source
  }
}

TEST(Cancel, RestoringEndsWhatWasInProgress) {
  InputStreamPtr stream = open(waiting_after(5) | prefetch(3));
  Features element;
  stream->next(element);
  std::string state = stream->save();
  for (int i = 0; i < 3; ++i) {
    stream->restore(state);
    ASSERT_TRUE(stream->next(element));
    EXPECT_EQ(element.at("value").item(), 1);
  }
}

TEST(Cancel, PipelinesThatYieldNothingCanBeStopped) {
  auto none = [](const Features&) { return false; };
  auto empty = [](Features) { return range(0); };
  for (const Dataset& data :
       {range(10) | repeat() | filter(none), range(3) | repeat() | flat_map(empty) | prefetch(1),
        range(3) | repeat() | filter(none) | shuffle(5) | batch(3)}) {
    std::stop_source stop;
    InputStreamPtr stream = data.open({.stop = stop.get_token()});
    std::jthread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      stop.request_stop();
    });
    Features element;
    EXPECT_FALSE(stream->next(element));
  }
}

TEST(Cancel, APassThatEndsWithinAStreamEndsItsReaders) {
  auto waiting = [](Features) { return waiting_after(3); };
  for (const Dataset& data :
       {waiting_after(4) | prefetch(2) | take(3) | repeat(2),
        range(2) | interleave(waiting, {.cycle_length = 1, .workers = 2}) | take(3) | repeat(2)})
    EXPECT_EQ(values(data), (Values{0, 1, 2, 0, 1, 2}));
}

TEST(Cancel, APositionSavedAfterAStopIsThatOfTheLastBatch) {
  PhiloxStream random(philox_key(3, "stops"));
  for (int round = 0; round < 60; ++round) {
    Dataset data = range(40) | shuffle(7) | batch(4) | repeat(2);
    if (round % 2) data = data | prefetch(3);
    std::vector<std::string> all = words(data);
    std::stop_source stop;
    InputStreamPtr stream = data.open({.stop = stop.get_token()});
    std::vector<std::string> seen = words(*stream, static_cast<int>(random.below(8)));
    std::jthread stopping([&] { stop.request_stop(); });
    for (std::string& word : words(*stream)) seen.push_back(word);
    stopping.join();
    InputStreamPtr restored = open(data);
    restored->restore(stream->save());
    for (std::string& word : words(*restored)) seen.push_back(word);
    ASSERT_EQ(seen, all) << "round " << round;
  }
}

TEST(Cancel, AnEndlessGeneratorBehindAFilterEnds) {
  auto endless = [i = std::int64_t{0}]() mutable {
    return std::optional(Features{{"value", Array::scalar(i++)}});
  };
  auto few = [](const Features& f) { return f.at("value").item() < 5; };
  InputStreamPtr stream = open(generator(endless) | filter(few) | prefetch(1));
  EXPECT_EQ(values(*stream, 4), (Values{0, 1, 2, 3}));
  stream.reset();  // does not wait for ever
}

}  // namespace
}  // namespace belfry::data
