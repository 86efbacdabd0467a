// One table of what every transform makes of no element, one, three, and three of which the second
// fails; from sources with random access and without, and from every saved position, also behind
// the end.
#include <functional>
#include <memory>
#include <new>
#include <stop_token>
#include <utility>

#include "../framework/base/temporary_folder.h"
#include "belfry/framework/base/log.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using Words = std::vector<std::string>;

struct Case {
  std::string name;
  Transform transform;
  Words none, one, three, failing;  // "E": an error in place of the element
};

std::int64_t value_of(const Features& in) { return in.at("value").span<std::int64_t>()[0]; }

Features plus_ten(Features in) {
  in.at("value").span<std::int64_t>()[0] += 10;
  return in;
}

std::vector<Case> elementwise() {
  Words one{"10"}, three{"10", "11", "12"}, failing{"10", "E", "12"};
  std::vector<Case> out;
  for (int workers : {1, 3})
    out.push_back({"map", map(plus_ten, {.workers = workers}), {}, one, three, failing});
  auto even = [](const Features& f) { return value_of(f) % 2 == 0; };
  auto small = [](const Features& f) { return value_of(f) < 2; };
  out.push_back({"filter", filter(even), {}, {"0"}, {"0", "2"}, {"0", "E", "2"}});
  out.push_back({"take_while", take_while(small), {}, {"0"}, {"0", "1"}, {"0", "E"}});
  out.push_back(
      {"on_error", on_error({.action = OnError::skip}), {}, {"0"}, {"0", "1", "2"}, {"0", "2"}});
  return out;
}

std::vector<Case> same_elements_again() {
  std::vector<std::pair<std::string, Transform>> all{
      {"shuffle(1)", shuffle(1)},
      {"take(9)", take(9)},
      {"skip(0)", skip(0)},
      {"repeat(1)", repeat(1)},
      {"shard(1, 0)", shard(1, 0)},
      {"enumerate", enumerate("number")},
      {"cache", cache()},
      {"prefetch(1)", prefetch(1)},
      {"prefetch(autotune)", prefetch(autotune)},
      {"prefetch_to_device", prefetch_to_device({.buffers = 1})},
      {"threads", threads(2)},
      {"scan", scan({}, [](const Features& state, Features in) { return std::pair(state, in); })},
      {"unique", unique()},
      {"rejection_resample", rejection_resample([](const Features&) { return 0; }, {1})},
      {"with_options", with_options({.memory = Bytes(0)})},
      {"sample_from", [](Dataset d) { return sample_from({std::move(d)}); }},
      {"choose_from",
       [](Dataset d) {
         return choose_from({std::move(d)}, [](std::int64_t) { return 0; },
                            {.stop_on_empty = true});
       }},
      {"batch and unbatch", [](Dataset d) { return d | batch(1) | unbatch(); }},
  };
  std::vector<Case> out;
  for (auto& [name, transform] : all)
    out.push_back({name, transform, {}, {"0"}, {"0", "1", "2"}, {"0", "E", "2"}});
  return out;
}

std::vector<Case> selecting() {
  return {
      {"take(0)", take(0), {}, {}, {}, {}},
      {"take(2)", take(2), {}, {"0"}, {"0", "1"}, {"0", "E"}},
      {"skip(1)", skip(1), {}, {}, {"1", "2"}, {"E", "2"}},
      {"skip(9)", skip(9), {}, {}, {}, {}},
      {"shard(2, 1)", shard(2, 1), {}, {}, {"1"}, {"E"}},
      {"repeat(0)", repeat(0), {}, {}, {}, {}},
      {"repeat(2)",
       repeat(2),
       {},
       {"0", "0"},
       {"0", "1", "2", "0", "1", "2"},
       {"0", "E", "2", "0", "E", "2"}},
  };
}

std::vector<Case> combining() {
  auto count_up = [](Features f) { return range(value_of(f)); };
  auto beside_two = [](Dataset d) { return zip({{"", std::move(d)}, {"other", range(2)}}); };
  std::vector<Case> out{
      {"concatenate",
       concatenate(range(1)),
       {"0"},
       {"0", "0"},
       {"0", "1", "2", "0"},
       {"0", "E", "2", "0"}},
      {"zip", beside_two, {}, {"0"}, {"0", "1"}, {"0", "E"}},
      {"flat_map", flat_map(count_up), {}, {}, {"0", "0", "1"}, {"E", "0", "1"}},
  };
  for (int workers : {1, 2})
    out.push_back({"interleave",
                   interleave(count_up, {.cycle_length = 2, .workers = workers}),
                   {},
                   {},
                   {"0", "0", "1"},
                   {"E", "0", "1"}});
  return out;
}

std::vector<Case> batching() {
  Words two{"0,1", "2"};
  auto same_length = [](const Features&) { return std::int64_t{1}; };
  auto same = [](Features in) { return in; };
  auto rebatched = [](Dataset d) { return d | batch(2) | rebatch(3); };
  auto last_of_two = [](Dataset d) { return d | batch(2) | slices({{"value", {"value", -1}}}); };
  auto unbatched = [](Dataset d) { return d | batch(2) | unbatch(); };
  auto packed = [](bool split) -> Transform {
    return [=](Dataset d) {
      return d | batch(1) | pack(2, {.feature = "value", .padding = -7, .split = split});
    };
  };
  return {
      {"batch", batch(2), {}, {"0"}, two, {"E", "2"}},
      {"batch, no remainder", batch(2, {.drop_remainder = true}), {}, {}, {"0,1"}, {"E"}},
      {"batch of 3, no remainder", batch(4, {.drop_remainder = true}), {}, {}, {}, {}},
      {"map_and_batch", map_and_batch(same, 2, {.workers = 2}), {}, {"0"}, two, {"E", "2"}},
      {"padded_batch", padded_batch(2), {}, {"0"}, two, {"E", "2"}},
      {"bucket_by_length",
       bucket_by_length(same_length, {.boundaries = {5}, .batch_sizes = {2, 2}}),
       {},
       {"0"},
       two,
       {"E", "0,2"}},
      {"bucket_by_length, tokens",
       bucket_by_length(same_length, {.boundaries = {2, 5}, .tokens = 4}),
       {},
       {"0"},
       {"0,1,2"},
       {"E", "0,2"}},
      {"window", window(2, {.shift = 1}), {}, {"0"}, {"0,1", "1,2", "2"}, {"E", "E", "2"}},
      {"unbatch", unbatched, {}, {"0"}, {"0", "1", "2"}, {"E", "2"}},
      {"rebatch", rebatched, {}, {"0"}, {"0,1,2"}, {"E", "2"}},
      {"group_by_window", group_by_window(same_length, 2), {}, {"0"}, two, {"E", "0,2"}},
      {"pack", packed(true), {}, {"0,-7"}, {"0,1", "2,-7"}, {"E", "0,2"}},
      {"pack, whole", packed(false), {}, {"0,-7"}, {"0,1", "2,-7"}, {"E", "0,2"}},
      {"slices", last_of_two, {}, {"0"}, {"1", "2"}, {"E", "2"}},
  };
}

Words without_messages(Words words) {
  for (std::string& word : words)
    if (word.starts_with("error: ")) word = "E";
  return words;
}

void expect_all(const Case& c) {
  SCOPED_TRACE(c.name);
  for (auto source : {std::function<Dataset(std::int64_t)>(range), {streamed}}) {
    EXPECT_EQ(without_messages(words(source(0) | c.transform)), c.none);
    EXPECT_EQ(without_messages(words(source(1) | c.transform)), c.one);
    EXPECT_EQ(without_messages(words(source(3) | c.transform)), c.three);
    Dataset failing = source(3) | failing_at({1}) | c.transform;
    EXPECT_EQ(without_messages(words(failing)), c.failing);
    expect_resumes(source(0) | c.transform);
    expect_resumes(source(3) | c.transform);
    expect_resumes(failing);
    // The end stays the end.
    InputStreamPtr stream = open(source(3) | c.transform);
    words(*stream);
    Features element;
    for (int i = 0; i < 2; ++i) EXPECT_FALSE(stream->next(element));
  }
}

TEST(EveryOperator, OfNoneOneThreeAndAFailure) {
  LogSink before = set_log_sink([](LogLevel, std::string_view) {});
  for (const auto& cases :
       {elementwise(), same_elements_again(), selecting(), combining(), batching()})
    for (const Case& c : cases) expect_all(c);
  set_log_sink(before);
}

// Has no memory when it comes to `value`, once: then `was` is set.
Transform short_at(std::int64_t value, const std::shared_ptr<bool>& was) {
  return map([=](Features in) {
    if (value_of(in) == value && !std::exchange(*was, true)) throw std::bad_alloc();
    return in;
  });
}

// The words of a stream that is put back, each time it is over, to where it was before.
Words words_in_spite_of_shortages(InputStream& stream, bool stoppable, int& shortages) {
  Words out;
  Features batch;
  for (std::string before = stream.save();; before = stream.save()) {
    try {
      std::string word = next_text(stream, batch);
      if (word == "end") return out;
      out.push_back(word);
    } catch (const std::bad_alloc&) {
      ++shortages;
      EXPECT_THROW(stream.next(batch), OutOfMemory);
      if (stoppable)
        EXPECT_EQ(stream.save(), before);
      else
        EXPECT_THROW(stream.save(), OutOfMemory);
      stream.restore(before);
    }
  }
}

Words every_second(const Words& words) {
  Words out;
  for (std::size_t i = 1; i < words.size(); i += 2) out.push_back(words[i]);
  return out;
}

void expect_over(const Case& c, const Dataset& source, std::int64_t value) {
  for (bool sharded : {false, true})
    for (bool stoppable : {false, true}) {
      SCOPED_TRACE(concat(c.name, ", short at ", value, sharded ? ", sharded" : ""));
      auto was = std::make_shared<bool>();
      Dataset data = source | short_at(value, was) | c.transform;
      if (sharded) data = data | shard(2, 1);
      std::stop_source stop(std::nostopstate);
      if (stoppable) stop = std::stop_source();
      InputStreamPtr stream = data.open({.stop = stop.get_token()});
      int shortages = 0;
      EXPECT_EQ(words_in_spite_of_shortages(*stream, stoppable, shortages),
                sharded ? every_second(c.three) : c.three);
      EXPECT_EQ(shortages, *was) << "none is hidden";
    }
}

TEST(EveryOperator, IsOverWhereMemoryIsShort) {
  for (const auto& cases :
       {elementwise(), same_elements_again(), selecting(), combining(), batching()})
    for (const Case& c : cases)
      for (std::int64_t value : {0, 1, 2}) {
        expect_over(c, range(3), value);
        expect_over(c, streamed(3), value);
      }
}

TEST(EveryOperator, OnFiles) {
  TemporaryFolder folder;
  for (std::int64_t count : {0, 1, 3}) {
    std::string path = concat(folder.path(), "/", count);
    Words expected = words(range(count));
    for (const Dataset& data :
         {streamed(count) | cache(path + "c"), range(count) | snapshot(path)}) {
      EXPECT_EQ(words(data), expected);
      EXPECT_EQ(words(data), expected);  // from the file
      expect_resumes(data);
    }
  }
}

TEST(EveryOperator, AssertCardinality) {
  for (std::int64_t count : {0, 1, 3}) {
    Words expected = words(range(count));
    if (count < 3) expected.push_back("E");
    EXPECT_EQ(without_messages(words(streamed(count) | assert_cardinality(3))), expected);
  }
  Dataset failing = streamed(3) | failing_at({1}) | assert_cardinality(3);
  EXPECT_EQ(without_messages(words(failing)), (Words{"0", "E", "2"}));
  expect_resumes(failing);
}

}  // namespace
}  // namespace belfry::data
