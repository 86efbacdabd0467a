#include "belfry/data/shard.h"

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

TEST(Shard, LeavesNobodyEmpty) {
  EXPECT_EQ(error_of([] { part(range(2), 3, 0); }),
            "range: nothing is left for pipeline 0 of 3; use fewer workers, more data, or "
            "ShardPolicy::off (it has 2 elements)");
  EXPECT_EQ(error_of([] { part(streamed(2), 3, 2); }),
            "generator: nothing is left for pipeline 2 of 3; use fewer workers, more data, or "
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

}  // namespace
}  // namespace belfry::data
