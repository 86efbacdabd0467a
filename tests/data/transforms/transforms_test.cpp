// Covers take.cpp, skip.cpp, filter.cpp, repeat.cpp, threads.cpp and dataset.cpp.
#include "belfry/data/transforms/transforms.h"

#include <set>

#include "pipeline.h"

namespace belfry::data {
namespace {

using Words = std::vector<std::string>;

Transform keep_even() {
  return filter([](const Features& f) { return f.at("value").span<std::int64_t>()[0] % 2 == 0; });
}

TEST(Take, YieldsTheFirst) {
  for (const Dataset& source : {range(5), streamed(5)}) {
    EXPECT_EQ(values(source | take(3)), (Values{0, 1, 2}));
    EXPECT_EQ(values(source | take(9)), counting(0, 5));
    EXPECT_EQ(values(source | take(0)), Values{});
    expect_resumes(source | take(3));
  }
  EXPECT_EQ(error_of([] { take(-1); }), "take: count must be at least 0, got -1");
}

TEST(Skip, YieldsTheRest) {
  for (const Dataset& source : {range(5), streamed(5)}) {
    EXPECT_EQ(values(source | skip(3)), (Values{3, 4}));
    EXPECT_EQ(values(source | skip(9)), Values{});
    EXPECT_EQ(values(source | skip(0)), counting(0, 5));
    expect_resumes(source | skip(3));
  }
  EXPECT_EQ(error_of([] { skip(-1); }), "skip: count must be at least 0, got -1");
}

TEST(TakeAndSkip, CountElementsThatFail) {
  Dataset source = streamed(6) | failing_at({1});
  EXPECT_EQ(words(source | take(3)),
            (Words{"0", "error: bad value 1 (at element 1, epoch 0)", "2"}));
  EXPECT_EQ(words(source | skip(2)), (Words{"2", "3", "4", "5"}));
}

TEST(TakeAndSkip, KeepRandomAccessInAnyOrder) {
  Dataset part = range(10) | skip(2) | take(6);  // 2 .. 7
  EXPECT_TRUE(part.info().random_access);
  EXPECT_EQ(part.cardinality(), 6);
  EXPECT_EQ(values(part), counting(2, 8));
  EXPECT_EQ(sorted(values(part | shuffle(6))), counting(2, 8));
  Values whole = values(part | shuffle(6));
  EXPECT_EQ(values(part | shuffle(6) | skip(1) | take(2)), (Values{whole[1], whole[2]}));
  expect_resumes(part | shuffle(6) | skip(1) | shuffle(5));
}

TEST(Filter, KeepsWhatItIsAskedTo) {
  EXPECT_EQ(values(range(7) | keep_even()), (Values{0, 2, 4, 6}));
  EXPECT_EQ((range(7) | keep_even()).cardinality(), unknown);
  expect_resumes(range(40) | keep_even());
}

TEST(Filter, NamesTheElementItFailedOn) {
  Dataset data = range(3) | filter([](const Features& f) {
                   if (f.at("value").item() == 1) throw std::runtime_error("no idea");
                   return true;
                 });
  EXPECT_EQ(words(data), (Words{"0", "error: filter: no idea (at element 1, epoch 0)", "2"}));
}

TEST(Repeat, GoesRound) {
  EXPECT_EQ(values(range(2) | repeat(3)), (Values{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(values(range(2) | repeat(0)), Values{});
  EXPECT_EQ(values(range(3) | repeat(), 7), (Values{0, 1, 2, 0, 1, 2, 0}));
  expect_resumes(range(3) | repeat(4));
  expect_resumes(streamed(3) | repeat());
  EXPECT_EQ(error_of([] { repeat(-1); }),
            "repeat: count must be at least 0, got -1; repeat() without a count goes on for ever");
}

TEST(Repeat, OfNothingEnds) {
  EXPECT_EQ(values(range(0) | repeat()), Values{});
  EXPECT_EQ(values(streamed(0) | repeat()), Values{});
  EXPECT_EQ(values(streamed(3) | filter([](const Features&) { return false; }) | repeat()),
            Values{});
  expect_resumes(range(0) | repeat());
}

// The epochs and indices that a map after `source` sees.
Values epochs_and_indices(const Dataset& source, std::int64_t most) {
  Values out;
  Pass pass;
  pass.scheduler = std::make_shared<Scheduler>(1);
  IteratorPtr iterator = source.iterate(pass);
  Element element;
  while (static_cast<std::int64_t>(out.size()) < most && iterator->next(element))
    out.push_back(static_cast<std::int64_t>(element.epoch) * 10 + element.index);
  return out;
}

TEST(Repeat, GivesEveryPassAnEpochOfItsOwn) {
  EXPECT_EQ(epochs_and_indices(range(2) | repeat(), 6), (Values{0, 1, 10, 11, 20, 21}));
  EXPECT_EQ(epochs_and_indices(range(1) | repeat(2) | repeat(2), 6), (Values{0, 10, 20, 30}));
  EXPECT_EQ(epochs_and_indices(range(1) | repeat(2) | repeat(), 5), (Values{0, 10, 20, 30, 40}));
  EXPECT_EQ(epochs_and_indices(streamed(2) | repeat(2), 6), (Values{0, 1, 10, 11}));
}

TEST(Cardinality, IsKnownWhereItCanBe) {
  EXPECT_EQ((range(10) | take(3)).cardinality(), 3);
  EXPECT_EQ((range(10) | skip(3)).cardinality(), 7);
  EXPECT_EQ((range(10) | skip(30)).cardinality(), 0);
  EXPECT_EQ((range(10) | batch(4)).cardinality(), 3);
  EXPECT_EQ((range(10) | batch(4, {.drop_remainder = true})).cardinality(), 2);
  EXPECT_EQ((range(10) | repeat(3)).cardinality(), 30);
  EXPECT_EQ((range(10) | repeat()).cardinality(), infinite);
  EXPECT_EQ((range(10) | repeat() | take(7)).cardinality(), 7);
  EXPECT_EQ((range(10) | repeat() | batch(7)).cardinality(), infinite);
  EXPECT_EQ((range(10) | repeat() | skip(7)).cardinality(), infinite);
  EXPECT_EQ((range(0) | repeat()).cardinality(), 0);
  EXPECT_EQ((streamed(5) | repeat(0)).cardinality(), 0);
  EXPECT_EQ((streamed(5) | take(2)).cardinality(), unknown);
  EXPECT_EQ((range(10) | shuffle(3) | prefetch() | failing_at({})).cardinality(), 10);
  EXPECT_EQ((range(10) | repeat(std::int64_t{1} << 62)).cardinality(), infinite);
}

TEST(Threads, MustBeAtLeastOne) {
  EXPECT_EQ(error_of([] { threads(0); }),
            "threads: an input pipeline needs at least 1 thread, got 0");
  EXPECT_GE(default_threads(), 1);
  EXPECT_EQ(values(range(5) | failing_at({}, 4) | threads(3)), counting(0, 5));
}

// A transform of a user's own looks like those of the library.
Transform every_other() {
  struct EveryOther final : Iterator {
    explicit EveryOther(IteratorPtr s) : source(std::move(s)) {}
    bool next(Element& out) override { return source->next(out) && source->next(out); }
    void position(Position& at) override { source->position(at); }
    IteratorPtr source;
  };
  auto iterator = [](IteratorPtr source, const Pass&) {
    return std::make_unique<EveryOther>(std::move(source));
  };
  // Its elements depend on places, so that it cannot be made from what several pipelines share.
  return wrap("every_other", iterator,
              [](const DatasetInfo&) { return DatasetInfo{.whole = true}; });
}

TEST(Transforms, OfAUserJoinLikeOurs) {
  Dataset data = range(9) | every_other() | batch(2);
  EXPECT_EQ(words(data), (Words{"1,3", "5,7"}));
  EXPECT_EQ(words(range(4) | [](Dataset d) { return d | take(2) | repeat(2); }),
            (Words{"0", "1", "0", "1"}));
  expect_resumes(data);
}

TEST(Datasets, RefuseWhatCannotWork) {
  EXPECT_EQ(error_of([] { Dataset("mine", nullptr); }),
            "mine: the function that starts a pass is empty");
  Dataset null("mine", [](const Pass&) { return nullptr; });
  EXPECT_EQ(error_of([&] { open(null); }), "mine: the function that starts a pass returned null");
}

TEST(Repeat, NestedWithoutEndGivesPassesOfTheirOwnOrders) {
  Words seen = words(range(30) | shuffle(30) | repeat() | take(60) | repeat(3));
  ASSERT_EQ(seen.size(), 180u);
  std::set<Words> orders;
  for (int pass = 0; pass < 6; ++pass)
    orders.insert(Words(seen.begin() + 30 * pass, seen.begin() + 30 * (pass + 1)));
  EXPECT_EQ(orders.size(), 6u);
  expect_resumes(range(3) | shuffle(3) | repeat() | take(5) | repeat(3));
}

TEST(Repeat, GoesOnAfterAPassOfErrors) {
  Dataset data = range(2) | failing_at({0, 1}) | repeat(3);
  EXPECT_EQ(words(data).size(), 6u);
  InputStreamPtr stream = open(data);
  EXPECT_EQ(words(*stream, 3).size(), 3u);
}

TEST(Repeat, EndsAfterAPassThatCannotBegin) {
  Dataset gone("gone", [](const Pass&) -> IteratorPtr { fail("no such file"); });
  Dataset data = range(1) | concatenate(gone) | repeat(2);
  EXPECT_EQ(words(data), (Words{"0", "error: no such file", "0", "error: no such file"}));
  InputStreamPtr stream = open(gone | repeat());
  Features element;
  EXPECT_EQ(error_of([&] { stream->next(element); }), "no such file");
  EXPECT_FALSE(stream->next(element));
}

TEST(Transforms, OfAUserAreSharedAsAWhole) {
  EXPECT_EQ(words_of_shard(range(12) | every_other(), 2, 0), (Words{"1", "5", "9"}));
  EXPECT_EQ(words_of_shard(range(12) | every_other(), 2, 1), (Words{"3", "7", "11"}));
}

TEST(Transforms, PositionsBelongToTheirOptions) {
  auto one = [](Features) { return range(5); };
  auto length = [](const Features&) { return std::int64_t{1}; };
  auto cycle = [=](std::int64_t n) { return range(9) | interleave(one, {.cycle_length = n}); };
  auto bucket = [=](std::int64_t b) {
    return range(9) | bucket_by_length(length, {.boundaries = {b}, .batch_sizes = {2, 2}});
  };
  auto windows = [](std::int64_t shift) { return range(9) | window(2, {.shift = shift}); };
  auto shuffled = [](std::int64_t n) { return streamed(9) | shuffle(n); };
  auto packed = [](std::int64_t length, PackOptions options) {
    options.feature = "value";
    return range(9) | batch(1) | pack(length, options);
  };
  std::vector<std::pair<Dataset, Dataset>> pairs{
      {cycle(4), cycle(3)},           {bucket(2), bucket(3)},
      {windows(1), windows(2)},       {shuffled(3), shuffled(4)},
      {packed(2, {}), packed(3, {})}, {packed(2, {}), packed(2, {.split = false})}};
  for (const auto& [a, b] : pairs) {
    InputStreamPtr stream = open(a);
    words(*stream, 2);
    std::string position = stream->save();
    EXPECT_EQ(error_of([&, from = a] { open(from)->restore(position); }), "no error");
    EXPECT_THAT(error_of([&, from = b] { open(from)->restore(position); }),
                ::testing::HasSubstr("was the input pipeline or its data changed"));
  }
  std::string first = range(4).open({.pipelines = 2, .pipeline = 0})->save();
  EXPECT_NE(error_of([&] { range(4).open({.pipelines = 2, .pipeline = 1})->restore(first); }),
            "no error");
  EXPECT_NE(error_of([&] { range(4).open({.pipelines = 3, .pipeline = 0})->restore(first); }),
            "no error");
}

TEST(Transforms, UndefinedArraysGoNoFurther) {
  auto nothing = [](Features) { return Features{{"x", Array()}}; };
  const std::string message =
      "the feature `x` is undefined; give it elements (at element 0, epoch 0)";
  auto first = [](const Dataset& data) {
    InputStreamPtr stream = open(data);
    Features element;
    return error_of([&] { stream->next(element); });
  };
  for (int workers : {1, 2}) {
    EXPECT_EQ(first(range(1) | map(nothing, {.workers = workers}) | batch(2)), message);
    EXPECT_EQ(first(range(1) | map_and_batch(nothing, 2, {.workers = workers})), message);
  }
  EXPECT_EQ(first(generator([] { return std::optional(Features{{"x", Array()}}); })), message);
  EXPECT_EQ(first(indexed(1, [](std::int64_t, Features& out) { out.set("x", Array()); })), message);
}

TEST(Transforms, WhateverIsThrownBecomesAnError) {
  auto odd = [](Features in) -> Features {
    if (in.at("value").item() == 1) throw 7;
    return in;
  };
  EXPECT_EQ(words(range(3) | map(odd)),
            (Words{"0",
                   "error: map: something that is no std::exception was thrown (at element 1, "
                   "epoch 0)",
                   "2"}));
}

}  // namespace
}  // namespace belfry::data
