#include "belfry/data/shard.h"

#include <memory>
#include <new>
#include <utility>

#include "pipeline.h"

namespace belfry::data {
namespace {

Values part(const Dataset& dataset, int pipelines, int pipeline) {
  return values(*dataset.open({.pipelines = pipelines, .pipeline = pipeline}));
}

TEST(Shard, PartsAreDisjointAndTogetherEverything) {
  for (const Dataset& source : {range(23), streamed(23), range(23) | shuffle(23, {.seed = 4}),
                                streamed(23) | shuffle(5), range(30) | skip(7) | failing_at({})})
    for (int n : {1, 2, 5, 23}) {
      Values all;
      for (int i = 0; i < n; ++i) {
        Values mine = part(source, n, i);
        EXPECT_EQ(std::ssize(mine), (23 - i + n - 1) / n);
        all.insert(all.end(), mine.begin(), mine.end());
      }
      EXPECT_EQ(sorted(all), sorted(values(source))) << source.name() << " in " << n;
    }
}

TEST(Shard, IsEveryNthOfTheSource) {
  EXPECT_EQ(part(range(7), 3, 1), (Values{1, 4}));
  EXPECT_EQ(part(streamed(7), 3, 0), (Values{0, 3, 6}));
  // Each pass of repeat.
  EXPECT_EQ(part(range(5) | repeat(2), 2, 1), (Values{1, 3, 1, 3}));
}

// An element that could not be read may be one that a filter would have left out: those behind it
// would be another pipeline's.
TEST(Shard, AShortageOfMemoryInOthersElementsEndsThePass) {
  auto keep = [was_short = std::make_shared<bool>()](const Features& in) {
    double value = in.begin()->second.item();
    if (value == 2 && !std::exchange(*was_short, true)) throw std::bad_alloc();
    return value >= 1;
  };
  auto stream = (streamed(9) | filter(keep) | shard(3, 0)).open();  // 1, 4, 7
  Features out;
  ASSERT_TRUE(stream->next(out));
  EXPECT_EQ(out.begin()->second.item(), 1);
  std::string position = stream->save();
  EXPECT_THROW(stream->next(out), std::bad_alloc);
  EXPECT_THROW(stream->next(out), OutOfMemory);
  stream->restore(position);
  ASSERT_TRUE(stream->next(out));
  EXPECT_EQ(out.begin()->second.item(), 4);
}

// Others' elements that fail are passed over, and counted.
TEST(Shard, OthersErrorsAreTheirs) {
  EXPECT_EQ(part(streamed(7) | failing_at({1, 2, 4}), 3, 0), (Values{0, 3, 6}));
}

TEST(Shard, LeavesNobodyEmpty) {
  EXPECT_EQ(error_of([] { part(range(2), 3, 0); }),
            "range: 2 elements cannot be shared by 3 pipelines; use fewer, more data, or "
            "ShardPolicy::off");
  EXPECT_EQ(error_of([] { part(streamed(2), 3, 2); }),
            "input: nothing is left for pipeline 2 of 3; use fewer pipelines, more data, or "
            "ShardPolicy::off");
  EXPECT_EQ(part(streamed(2), 3, 1), (Values{1}));
  EXPECT_EQ(error_of([] { range(3).open({.pipelines = 2, .pipeline = 2}); }),
            "input: there is no pipeline 2 of 2");
}

// A source of three files with two elements each.
Dataset files() {
  auto make = [](const Pass& pass) {
    Values mine;
    for (int f = pass.shard.index; f < 3; f += pass.shard.count)
      for (int i = 0; i < 2; ++i) mine.push_back(10 * f + i);
    return from_arrays(
               {{"value", Array::of(std::span<const std::int64_t>(mine), Shape{std::ssize(mine)})}})
        .iterate(pass.inner(0));
  };
  return Dataset("files", make, {.files = {"a", "b", "c"}});
}

TEST(Shard, ByFileWhereThereAreEnough) {
  EXPECT_EQ(part(files(), 2, 0), (Values{0, 1, 20, 21}));
  EXPECT_EQ(part(files(), 2, 1), (Values{10, 11}));
  EXPECT_EQ(part(files(), 5, 1), (Values{1}));  // by element
}

TEST(Shard, CanBeDescribedBeforehand) {
  EXPECT_EQ(describe_shards(files() | batch(2), 2),
            "files, pipeline 0 of 2: files a, c\nfiles, pipeline 1 of 2: files b\n");
  EXPECT_EQ(describe_shards(range(5) | shuffle(5), 2),
            "range, pipeline 0 of 2: elements 0, 2, 4, ... (3 of 5)\n"
            "range, pipeline 1 of 2: elements 1, 3, 5, ... (2 of 5)\n");
  EXPECT_NE(error_of([] { describe_shards(range(5), 6); }), "no error");
}

TEST(Shard, ResumesInEachPart) {
  for (const Dataset& source : {range(23) | shuffle(23), streamed(23) | shuffle(4)}) {
    InputContext context{.pipelines = 3, .pipeline = 1};
    Values all = values(*source.open(context));
    for (std::size_t n = 0; n <= all.size(); ++n) {
      InputStreamPtr stream = source.open(context);
      values(*stream, static_cast<std::int64_t>(n));
      InputStreamPtr again = source.open(context);
      again->restore(stream->save());
      EXPECT_EQ(values(*again), Values(all.begin() + static_cast<std::ptrdiff_t>(n), all.end()));
    }
  }
}

// Elements that depend on places of others: each pipeline has every n-th of the whole.
TEST(Shard, OfWhatDependsOnPlacesIsOfTheWhole) {
  auto small = [](const Features& f) { return f.at("value").item() < 5; };
  for (const Dataset& data :
       {streamed(20) | take(5), streamed(20) | skip(15), streamed(20) | take_while(small),
        streamed(10) | shard(2, 1), streamed(20) | select({1, 4, 7, 9, 19}), range(20) | take(5),
        range(20) | skip(15), range(20) | select({7, 1, 3, 0, 9})}) {
    Values all = values(data);
    EXPECT_EQ(all.size(), 5u);
    EXPECT_EQ(part(data, 2, 0), (Values{all[0], all[2], all[4]})) << data.name();
    EXPECT_EQ(part(data, 2, 1), (Values{all[1], all[3]})) << data.name();
  }
  Dataset windows = streamed(6) | window(2, {.shift = 1, .drop_remainder = true});
  EXPECT_EQ(words_of_shard(windows, 2, 1), (std::vector<std::string>{"1,2", "3,4"}));
}

TEST(Shard, AnEmptyPartIsAnErrorWhateverMadeItSo) {
  const std::string input =
      "input: nothing is left for pipeline 1 of 2; use fewer pipelines, more "
      "data, or ShardPolicy::off";
  auto even = [](const Features& f) { return f.at("value").span<std::int64_t>()[0] % 2 == 0; };
  for (const Dataset& data :
       {range(10) | filter(even), range(5) | batch(3, {.drop_remainder = true}),
        streamed(1) | repeat()}) {
    InputStreamPtr stream = data.open({.pipelines = 2, .pipeline = 1});
    Features element;
    EXPECT_EQ(error_of([&] { stream->next(element); }), input);
    EXPECT_FALSE(stream->next(element));
  }
  for (int pipeline : {0, 1})
    EXPECT_EQ(error_of([=] { part(range(100) | take(1), 2, pipeline); }),
              "range: 1 element cannot be shared by 2 pipelines; use fewer, more data, or "
              "ShardPolicy::off");
  // A part that has come to its end, and was saved there, is not empty.
  InputStreamPtr stream = range(2).open({.pipelines = 2, .pipeline = 1});
  EXPECT_EQ(values(*stream), Values{1});
  InputStreamPtr restored = range(2).open({.pipelines = 2, .pipeline = 1});
  restored->restore(stream->save());
  EXPECT_EQ(values(*restored), Values{});
}

TEST(Shard, OfManyFilesTheFirstAreNamed) {
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) names.push_back(concat("f", i));
  Dataset many("many", [](const Pass& pass) { return range(20).iterate(pass); }, {.files = names});
  EXPECT_EQ(describe_shards(many, 2),
            "many, pipeline 0 of 2: files f0, f2, f4, f6, f8, f10, f12, f14, ... (10 of 20)\n"
            "many, pipeline 1 of 2: files f1, f3, f5, f7, f9, f11, f13, f15, ... (10 of 20)\n");
}

TEST(Shard, WhatIsDescribedIsWhatHappens) {
  EXPECT_EQ(describe_shards(range(100) | shuffle(100) | take(3) | batch(2), 2),
            "range, pipeline 0 of 2: elements 0, 2, 4, ... (2 of 3)\n"
            "range, pipeline 1 of 2: elements 1, 3, 5, ... (1 of 3)\n");
  EXPECT_EQ(describe_shards(concatenate(range(1), range(8)) | prefetch(2), 2),
            "concatenate, pipeline 0 of 2: elements 0, 2, 4, ... (5 of 9)\n"
            "concatenate, pipeline 1 of 2: elements 1, 3, 5, ... (4 of 9)\n");
  EXPECT_EQ(part(concatenate(range(1), range(8)), 2, 1), (Values{0, 2, 4, 6}));
}

TEST(Shard, ByFileEachPipelineNumbersItsOwn) {
  Dataset data = files() | enumerate("number") | with_options({.shard = ShardPolicy::file});
  EXPECT_EQ(words(*data.open({.pipelines = 2, .pipeline = 0}), 100, "number"),
            (std::vector<std::string>{"0", "1", "2", "3"}));
  EXPECT_EQ(words(*data.open({.pipelines = 2, .pipeline = 1}), 100, "number"),
            (std::vector<std::string>{"0", "1"}));
}

TEST(Shard, ThePolicyClosestToASourceCounts) {
  Dataset data = streamed(20) | with_options({.shard = ShardPolicy::data}) | take(6);
  for (ShardPolicy outer : {ShardPolicy::off, ShardPolicy::file, ShardPolicy::automatic}) {
    Dataset told = data | with_options({.shard = outer});
    EXPECT_EQ(part(told, 2, 0), (Values{0, 2, 4}));
    EXPECT_EQ(part(told, 2, 1), (Values{1, 3, 5}));
  }
}

// Fewer elements than pipelines, of each of which several are made: those are shared.
TEST(Shard, OfTooFewElementsWhatIsMadeOfThemIsShared) {
  auto ten = [](Features f) {
    auto first = 10 * static_cast<std::int64_t>(f.at("value").item());
    return range(first + 10) | skip(first);
  };
  Dataset three = range(3);
  for (const Dataset& data :
       {three | interleave(ten), three | interleave(ten, {.cycle_length = 2, .workers = 2}),
        three | flat_map(ten),
        three | shuffle(3) | map([](Features f) { return f; }) | flat_map(ten),
        range(6) | take(3) | flat_map(ten), range(30) | batch(10) | cache() | unbatch(),
        three | flat_map(ten) | with_options({.shard = ShardPolicy::data})})
    for (int n : {4, 7, 30}) {
      Values all;
      for (int i = 0; i < n; ++i) {
        Values mine = part(data | prefetch(1), n, i);
        EXPECT_EQ(std::ssize(mine), (30 - i + n - 1) / n);
        all.insert(all.end(), mine.begin(), mine.end());
      }
      EXPECT_EQ(sorted(all), counting(0, 30)) << data.name() << " in " << n;
    }
  EXPECT_EQ(describe_shards(three | flat_map(ten) | batch(2), 4),
            "flat_map, pipeline 0 of 4: elements 0, 4, 8, ...\n"
            "flat_map, pipeline 1 of 4: elements 1, 5, 9, ...\n"
            "flat_map, pipeline 2 of 4: elements 2, 6, 10, ...\n"
            "flat_map, pipeline 3 of 4: elements 3, 7, 11, ...\n");
  // Where there are enough, each pipeline has elements of its own.
  EXPECT_EQ(part(three | flat_map(ten), 3, 1), counting(10, 20));
  EXPECT_EQ(part(three | with_options({.shard = ShardPolicy::off}) | flat_map(ten), 4, 3),
            counting(0, 30));
  // As elsewhere, elements that are too few for the pipelines are an error in the end.
  EXPECT_EQ(error_of([&] { part(range(1) | flat_map([](Features) { return range(2); }), 4, 3); }),
            "input: nothing is left for pipeline 3 of 4; use fewer pipelines, more data, or "
            "ShardPolicy::off");
}

TEST(Shard, InputsThatGoTogetherAreSharedAlike) {
  const std::string message =
      "zip: its inputs would be shared in different ways, so that their elements would not fit "
      "together; put one with_options({.shard = ...}) behind it";
  Dataset mixed =
      zip({{"a", range(6) | with_options({.shard = ShardPolicy::off})}, {"b", range(6)}});
  EXPECT_EQ(error_of([&] { part(mixed, 2, 0); }), message);
  EXPECT_EQ(error_of([&] { describe_shards(mixed, 2); }), message);
  Dataset by_file =
      zip({{"a", files() | with_options({.shard = ShardPolicy::file})}, {"b", range(6)}});
  EXPECT_EQ(error_of([&] { part(by_file, 2, 0); }), message);
}

TEST(Shard, ChoicesAreReadByEveryPipeline) {
  Dataset chosen = choose_from({range(4), range(4)}, range(1) | repeat(4));
  EXPECT_EQ(part(chosen, 2, 1), (Values{1, 3}));
  EXPECT_EQ(describe_shards(chosen, 2),
            "range, pipeline 0 of 2: elements 0, 2, 4, ... (2 of 4)\n"
            "range, pipeline 1 of 2: elements 1, 3, 5, ... (2 of 4)\n"
            "range, pipeline 0 of 2: elements 0, 2, 4, ... (2 of 4)\n"
            "range, pipeline 1 of 2: elements 1, 3, 5, ... (2 of 4)\n"
            "choices, each pipeline: everything\n");
  Dataset numbered = files() | enumerate("number") | with_options({.shard = ShardPolicy::file});
  EXPECT_EQ(describe_shards(numbered, 2),
            "files, pipeline 0 of 2: files a, c\nfiles, pipeline 1 of 2: files b\n"
            "numbers, each pipeline: everything\n");
  // One of weight 0 is not read, nor asked for a share.
  EXPECT_EQ(part(sample_from({range(8), range(1)}, {.weights = {1, 0}}), 2, 1),
            (Values{1, 3, 5, 7}));
}

}  // namespace
}  // namespace belfry::data
