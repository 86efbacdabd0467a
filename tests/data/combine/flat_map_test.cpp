#include "../transforms/reading.h"
#include "belfry/data/combine/combine.h"

namespace belfry::data {
namespace {

// Element n becomes 10 n, 10 n + 1, ..., as many as n.
Dataset as_many(Features in) {
  std::int64_t n = in.at("value").span<std::int64_t>()[0];
  return range(10 * n + n) | skip(10 * n);
}

TEST(FlatMap, YieldsOneDatasetAfterTheOther) {
  for (const Dataset& source : {range(4), streamed(4)})
    EXPECT_EQ(values(source | flat_map(as_many)), (Values{10, 20, 21, 30, 31, 32}));
  EXPECT_EQ(values(range(0) | flat_map(as_many)), Values{});
  EXPECT_EQ(values(range(1) | flat_map(as_many)), Values{});
  EXPECT_EQ(values(range(3) | repeat() | flat_map(as_many), 5), (Values{10, 20, 21, 10, 20}));
  auto forever = [](Features) { return range(2) | repeat(); };
  EXPECT_EQ(values(range(4) | flat_map(forever), 5), (Values{0, 1, 0, 1, 0}));
  EXPECT_EQ(error_of([] { flat_map(nullptr); }), "flat_map: the function is empty");
}

TEST(FlatMap, CountsThrough) {
  EXPECT_EQ(named_words(range(4) | flat_map(as_many)),
            (Words{"0: 10", "1: 20", "2: 21", "3: 30", "4: 31", "5: 32"}));
}

TEST(FlatMap, EachElementsDatasetDrawsRandomNumbersOfItsOwn) {
  auto noise = [](Features) {
    return range(3) | map([](Features, PhiloxStream& random) {
             auto value = static_cast<std::int64_t>(random.below(1'000'000'000));
             return Features{{"value", Array::scalar(value)}};
           });
  };
  Values v = sorted(values(range(4) | flat_map(noise) | repeat(2)));
  EXPECT_EQ(std::unique(v.begin(), v.end()) - v.begin(), 24);
}

TEST(FlatMap, DeliversErrorsInTheirPlace) {
  auto inner = [](Features in) {
    std::int64_t n = in.at("value").span<std::int64_t>()[0];
    require(n != 2, "no such file");
    return range(3) | failing_at({n});
  };
  Dataset data = range(6) | failing_at({4}) | flat_map(inner);
  EXPECT_EQ(
      words(data),
      (Words{"error: bad value 0 (at element 0, epoch 0) (in the dataset of element 0, epoch 0)",
             "1", "2", "0",
             "error: bad value 1 (at element 1, epoch 0) (in the dataset of element 1, epoch 0)",
             "2", "error: no such file (at element 2, epoch 0)", "0", "1", "2",
             "error: bad value 4 (at element 4, epoch 0)", "0", "1", "2"}));
  expect_resumes(data);
  expect_skips(data);
}

TEST(FlatMap, ADatasetThatCannotBeginIsOneError) {
  auto inner = [](Features in) {
    bool bad = in.at("value").at(0) == 1;
    return Dataset("opened", [=](const Pass& pass) {
      require(!bad, "cannot open it");
      return range(1).iterate(pass.inner(0));
    });
  };
  EXPECT_EQ(words(range(3) | flat_map(inner)),
            (Words{"0", "error: cannot open it (at element 1, epoch 0)", "0"}));
}

TEST(FlatMap, RestoringReadsNothingTwice) {
  auto reads = std::make_shared<Words>();
  auto noted = [=](std::string name) {
    return map([=](Features in) {
      reads->push_back(name + text(in.at("value").span<std::int64_t>()[0]));
      return in;
    });
  };
  Dataset data = range(9) | noted("outer ")
                 | flat_map([=](Features in) { return as_many(std::move(in)) | noted("inner "); });
  InputStreamPtr stream = open(data);
  EXPECT_EQ(words(*stream, 5).back(), "31");
  EXPECT_EQ(stream->save(),
            "interleave.cycle_length=1 interleave.block_length=9223372036854775807 "
            "interleave.index=5 interleave.outer=3 interleave.since=1 interleave.open=1,1 "
            "interleave.cycle=0 interleave.block=2 indexed.size=9 indexed.next=3 indexed.size=3 "
            "indexed.next=2");
  InputStreamPtr resumed = open(data);
  reads->clear();
  resumed->restore(stream->save());
  EXPECT_EQ(words(*resumed, 1), (Words{"32"}));
  EXPECT_EQ(*reads, (Words{"outer 3", "inner 32"}));
}

TEST(FlatMap, ResumesAnywhere) {
  expect_resumes(range(7) | flat_map(as_many));
  expect_resumes(range(7) | shuffle(7) | flat_map(as_many) | repeat(2));
  expect_resumes(streamed(5) | flat_map([](Features) { return streamed(4) | shuffle(3); }));
  auto nested = [](Features) { return range(3) | flat_map(as_many) | take(2) | repeat(2); };
  expect_resumes_everywhere(range(4) | flat_map(nested));
  expect_skips(range(7) | flat_map(as_many));
}

TEST(FlatMap, PipelinesShareTheOuterElements) {
  EXPECT_EQ(part(range(5) | flat_map(as_many), 2, 1), (Words{"10", "30", "31", "32"}));
  EXPECT_EQ(part(range(5) | flat_map(as_many), 2, 0), (Words{"20", "21", "40", "41", "42", "43"}));
}

}  // namespace
}  // namespace belfry::data
