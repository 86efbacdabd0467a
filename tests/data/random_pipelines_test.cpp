// Pipelines put together at random: the same bytes for any number of workers, and the same tail
// from every saved position.
#include "belfry/data/cache/cache.h"
#include "belfry/data/combine/combine.h"
#include "belfry/data/grouping/grouping.h"
#include "belfry/data/selection/selection.h"
#include "belfry/data/transforms/errors.h"
#include "belfry/framework/base/log.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using Words = std::vector<std::string>;

Features noisy(Features in, PhiloxStream& random) {
  for (std::int64_t& x : in.at("value").span<std::int64_t>())
    x = x * 10 + static_cast<std::int64_t>(random.below(10));
  return in;
}

// The tokens of pack(), which are i32.
Features as_value(Features in) { return {{"value", in.at("token").cast(DType::i64)}}; }
Features as_token(Features in) { return {{"token", in.at("value")}}; }

Features only_value(Features in) { return {{"value", in.at("value")}}; }

std::int64_t first_value(const Features& f) { return f.at("value").span<std::int64_t>()[0]; }

std::int64_t parity(const Features& f) { return first_value(f) % 2; }

std::pair<Features, Features> add_up(const Features& state, Features in) {
  Features sum{{"value", Array::scalar((first_value(state) + first_value(in)) % 1000)}};
  return {sum, sum};
}

// One of the transforms that keep scalar elements, with `workers` where it has some.
Dataset with_random_transform(Dataset data, PhiloxStream& random, int workers) {
  auto n = static_cast<std::int64_t>(1 + random.below(7));
  auto inner = [](Features f) {
    std::int64_t v = first_value(f);
    return range(v % 4) | failing_at({2});
  };
  auto length = [](const Features& f) { return first_value(f) % 11; };
  switch (random.below(34)) {
    case 0:
      return data | map(noisy, {.workers = workers, .seed = 3});
    case 1:
      return data | filter([n](const Features& f) { return first_value(f) % (n + 1) != 0; });
    case 2:
      return data | shuffle(3 * n, {.seed = 9});
    case 3:
      return data | repeat(2);
    case 4:
      return data | take(9 * n);
    case 5:
      return data | skip(n);
    case 6:
      return data | prefetch(n);
    case 7:
      return data | shard(n, n / 2);
    case 8:
      return data | batch(n) | unbatch();
    case 9:
      return data | map_and_batch(noisy, n, {.workers = workers, .seed = 3}) | unbatch();
    case 10:
      return data
             | interleave(inner,
                          {.cycle_length = n, .block_length = 2, .workers = workers == 1 ? 1 : 2});
    case 11:
      return data | flat_map(inner);
    case 12:
      return data | cache({.memory = Bytes(n * 700)});
    case 13:
      return data | concatenate(range(n));
    case 14:
      return sample_from({data, range(5 * n)}, {.seed = 2});
    case 15:
      return data | failing_at({n, 3 * n}, workers);
    case 16:
      return data | failing_at({n}, workers) | on_error({.action = OnError::skip});
    case 17:
      return data | window(n, {.shift = 2}) | unbatch();
    case 18:
      return data | padded_batch(n) | unbatch();
    case 19:
      return data | bucket_by_length(length, {.boundaries = {3, 7}, .batch_sizes = {2, 3, n}})
             | unbatch();
    case 20:
      return data | batch(n) | rebatch({2, 3, n}) | unbatch();
    case 21:
      return zip({{"", data}, {"other", range(9 * n)}}) | map(only_value, {.workers = workers});
    case 22:
      return choose_from({data, range(5 * n)}, [n](std::int64_t i) { return i % (n + 1) == 0; });
    case 23:
      return data | enumerate("number") | map(only_value);
    case 24:
      return data | cache({.memory = Bytes(n * 700)}) | shuffle(1000, {.seed = 5});
    case 25:
      return data | take_while([n](const Features& f) { return first_value(f) < 40 * n; });
    case 26:
      return data | scan({{"value", Array::scalar(n)}}, add_up);
    case 27:
      return data | unique();
    case 28:
      return data | group_by_window(length, n) | unbatch();
    case 29:
      return data | rejection_resample(parity, {1, 2}, {.seed = 4});
    case 30:
      return data | window(n, {.shift = 3}) | slices({{"value", {"value", n / 2 - n}}}) | unbatch();
    case 31:
      return data | batch(n) | map(as_token) | pack(2 * n - 1) | map(as_value) | unbatch();
    case 32:
      return data | batch(n) | map(as_token) | pack(n + 2, {.split = false, .open_rows = 2})
             | map(as_value, {.workers = workers}) | unbatch();
    case 33:
      return data
             | bucket_by_length([n](const Features& f) { return first_value(f) % (n + 2); },
                                {.boundaries = {2, n + 2}, .tokens = 10})
             | unbatch();
    default:
      ADD_FAILURE() << "more cases than transforms";
      return data;
  }
}

// One of the transforms whose elements do not depend on how many pipelines share them.
Dataset shared_transform(Dataset data, PhiloxStream& random) {
  auto n = static_cast<std::int64_t>(2 + random.below(6));
  switch (random.below(16)) {
    case 0:
      return data | map(only_value, {.workers = 3});
    case 1:
      return data | filter([n](const Features& f) { return first_value(f) % n != 0; });
    case 2:
      return data | shuffle(1000, {.seed = 9});
    case 3:
      return data | take(12 * n);
    case 4:
      return data | skip(n);
    case 5:
      return data | prefetch(n);
    case 6:
      return data | shard(2, n % 2);
    case 7:
      return data | batch(n) | unbatch();
    case 8:
      return data | flat_map([](Features f) { return range(first_value(f) % 4); });
    case 9:
      return data | cache({.memory = Bytes(n * 700)});
    case 10:
      return data | concatenate(range(3 * n));
    case 11:
      return sample_from({data, range(5 * n)}, {.seed = 2});
    case 12:
      return zip({{"", data}, {"other", range(9 * n)}}) | map(only_value);
    case 13:
      return data | scan({{"value", Array::scalar(n)}}, add_up);
    case 14:
      return data | unique();
    default:
      return data | take_while([n](const Features& f) { return first_value(f) < 40 * n; });
  }
}

// The same pipeline for the same `seed`, but for the number of workers.
Dataset random_pipeline(std::uint64_t seed, int workers) {
  PhiloxStream random(philox_key(seed, "pipeline"));
  auto count = static_cast<std::int64_t>(random.below(60));
  Dataset data = random.below(2) ? range(count) : streamed(count);
  for (std::uint64_t i = 0, n = 1 + random.below(5); i < n; ++i)
    data = with_random_transform(std::move(data), random, workers);
  if (random.below(2)) data = data | batch(3);
  return data | threads(4);
}

class Quiet {
 public:
  Quiet() : before_(set_log_sink([](LogLevel, std::string_view) {})) {}
  ~Quiet() { set_log_sink(before_); }

 private:
  LogSink before_;
};

TEST(RandomPipelines, GiveTheSameBytesForAnyNumberOfWorkers) {
  Quiet quiet;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::vector<std::string> one = words(random_pipeline(seed, 1), 120);
    for (int workers : {2, 4, 8})
      ASSERT_EQ(words(random_pipeline(seed, workers), 120), one) << "pipeline " << seed;
  }
}

// The words of all shares are those of the whole. Left out are random numbers (elements made from
// others are counted in each share), errors (that cost a batch) and transforms of batches.
TEST(RandomPipelines, AreSharedWithoutLossOrDuplicate) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    PhiloxStream random(philox_key(seed, "shared pipeline"));
    auto count = static_cast<std::int64_t>(40 + random.below(40));
    Dataset data = random.below(2) ? range(count) : streamed(count);
    for (std::uint64_t i = 0, n = 1 + random.below(4); i < n; ++i)
      data = shared_transform(std::move(data), random);
    Words whole = words(data);
    for (int n : {2, 3}) {
      Words all;
      for (int i = 0; i < n; ++i) {
        Words mine = words_of_shard(data, n, i);
        if (mine.size() == 1 && mine[0].find("nothing is left") != std::string::npos) continue;
        all.insert(all.end(), mine.begin(), mine.end());
      }
      std::sort(all.begin(), all.end());
      Words sorted = whole;
      std::sort(sorted.begin(), sorted.end());
      ASSERT_EQ(all, sorted) << "pipeline " << seed << " in " << n;
    }
  }
}

TEST(RandomPipelines, ResumeFromEveryPosition) {
  Quiet quiet;
  for (std::uint64_t seed = 1000; seed < 1150; ++seed) {
    SCOPED_TRACE(seed);
    expect_resumes_in(random_pipeline(seed, seed % 2 ? 1 : 3), random_pipeline(seed, 2), 25, 12);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace belfry::data
