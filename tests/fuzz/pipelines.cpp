#include "pipelines.h"

#include <memory>
#include <optional>
#include <utility>

#include "belfry/data/data.h"
#include "belfry/framework/base/error.h"

namespace belfry {

using namespace data;

namespace {

std::int64_t value_of(const Features& f) { return f.at("value").span<std::int64_t>()[0]; }
std::int64_t parity(const Features& f) { return value_of(f) % 2; }
std::int64_t length(const Features& f) { return value_of(f) % 7; }
bool is_small(const Features& f) { return value_of(f) < 9; }
bool is_no_multiple_of_5(const Features& f) { return value_of(f) % 5 != 0; }
Features as_it_is(Features f) { return f; }
Dataset counting_up(const Features& f) { return range(value_of(f) % 4); }

Features failing(Features f) {
  require(value_of(f) % 4 != 2, "a value that fails");
  return f;
}

std::pair<Features, Features> add_up(const Features& state, const Features& in) {
  const Features sum{{"value", Array::scalar(value_of(state) + value_of(in))}};
  return {sum, sum};
}

/// 0 to 19 without random access.
Dataset streamed() {
  return generator([i = std::int64_t{0}]() mutable -> std::optional<Features> {
    if (i == 20) return std::nullopt;
    return Features{{"value", Array::scalar(i++)}};
  });
}

std::vector<Transform> transforms() {
  return {
      map(as_it_is),
      map(failing, {.workers = 2}),
      map_and_batch(failing, 3, {.workers = 2}),
      filter(is_no_multiple_of_5),
      take_while(is_small),
      shuffle(5, {.seed = 9}),
      shuffle(100, {.seed = 9}),
      repeat(3),
      take(7),
      skip(3),
      shard(3, 1),
      enumerate("number"),
      cache(),
      [](Dataset d) { return std::move(d) | cache() | shuffle(100, {.seed = 5}); },
      prefetch(2),
      scan({{"value", Array::scalar<std::int64_t>(1)}}, add_up),
      unique(),
      rejection_resample(parity, {1, 2}, {.seed = 4}),
      assert_cardinality(20),
      [](Dataset d) { return std::move(d) | map(failing) | on_error({.action = OnError::skip}); },
      interleave(counting_up, {.cycle_length = 3, .block_length = 2}),
      interleave(counting_up, {.cycle_length = 3, .workers = 2}),
      flat_map(counting_up),
      concatenate(range(4)),
      [](Dataset d) {
        return zip({{"", std::move(d)}, {"other", range(9)}});
      },
      [](Dataset d) {
        return sample_from({std::move(d), range(9)}, {.seed = 2});
      },
      [](Dataset d) {
        return choose_from({std::move(d), range(9)}, [](std::int64_t i) { return i % 3 == 0; });
      },
      batch(3),
      padded_batch(3),
      bucket_by_length(length, {.boundaries = {3, 5}, .batch_sizes = {2, 3, 4}}),
      bucket_by_length(length, {.boundaries = {3, 8}, .tokens = 10}),
      group_by_window(length, 3),
      window(3, {.shift = 2}),
      window(3, {.shift = 5}),
      [](Dataset d) { return std::move(d) | batch(3) | unbatch(); },
      [](Dataset d) {
        return std::move(d) | batch(3) | rebatch({2, 4});
      },
      [](Dataset d) { return std::move(d) | batch(3) | pack(4, {.feature = "value"}); },
      [](Dataset d) {
        return std::move(d) | batch(3)
               | pack(5, {.feature = "value", .split = false, .open_rows = 2});
      },
  };
}

}  // namespace

std::vector<Dataset> pipelines() {
  std::vector<Dataset> out;
  for (const Transform& transform : transforms()) {
    out.push_back(range(20) | transform);
    out.push_back(streamed() | transform);
  }
  out.push_back(range(20) | shuffle(100, {.seed = 3}) | map(as_it_is, {.workers = 2}) | repeat(2)
                | batch(3) | prefetch(2));
  return out;
}

}  // namespace belfry
