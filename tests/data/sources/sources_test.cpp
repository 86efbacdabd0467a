// Covers element.cpp, indexed.cpp, from_arrays.cpp, range.cpp and generator.cpp.
#include "belfry/data/sources/sources.h"

#include "pipeline.h"

namespace belfry::data {
namespace {

TEST(Range, Counts) {
  EXPECT_EQ(values(range(5)), (Values{0, 1, 2, 3, 4}));
  EXPECT_EQ(values(range(0)), Values{});
  EXPECT_EQ(range(5).cardinality(), 5);
  EXPECT_EQ(error_of([] { range(-1); }), "range: count must be at least 0, got -1");
}

TEST(Stream, EndsForGood) {
  InputStreamPtr stream = open(range(1));
  Features element;
  EXPECT_TRUE(stream->next(element));
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(stream->next(element));
    EXPECT_TRUE(element.empty());
  }
}

TEST(Stream, CountsTheTimeItsConsumerWaits) {
  InputStreamPtr stream = open(range(1'000) | batch(100));
  EXPECT_EQ(stream->wait_seconds(), 0);
  Features batch;
  stream->next(batch);
  double first = stream->wait_seconds();
  EXPECT_GT(first, 0);
  stream->next(batch);
  EXPECT_GT(stream->wait_seconds(), first);
}

TEST(Stream, RestoresMoreThanOnceAndFromNothing) {
  InputStreamPtr stream = open(range(5));
  stream->restore("indexed.size=5 indexed.next=3");
  EXPECT_EQ(values(*stream), (Values{3, 4}));
  stream->restore("indexed.size=5 indexed.next=1");
  EXPECT_EQ(values(*stream), (Values{1, 2, 3, 4}));
  stream->restore("");
  EXPECT_EQ(values(*stream), (Values{0, 1, 2, 3, 4}));
}

TEST(Stream, IsMadeByAFunctionThatReturnsADataset) {
  InputFn input = [] { return range(3); };
  EXPECT_EQ(values(*input()), (Values{0, 1, 2}));
  EXPECT_EQ(values(*input()), (Values{0, 1, 2}));
}

TEST(FromArrays, YieldsRows) {
  Dataset data = from_arrays({{"x", Array::of<float>({1, 2, 3, 4, 5, 6}, {3, 2})},
                              {"value", Array::of<std::int64_t>({7, 8, 9})}});
  EXPECT_EQ(data.cardinality(), 3);
  InputStreamPtr stream = open(data);
  Features element;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(stream->next(element));
    EXPECT_EQ(to_string(signature_of(element)), "x f32[2], value i64[]");
    EXPECT_EQ(element.at("x").at(0), 2 * i + 1);
    EXPECT_EQ(element.at("x").at(1), 2 * i + 2);
    EXPECT_EQ(element.at("value").item(), 7 + i);
  }
  EXPECT_FALSE(stream->next(element));
  expect_resumes(data);
}

TEST(FromArrays, ElementsAreTheConsumersToChange) {
  Array x = Array::of<std::int64_t>({1, 2});
  Dataset data = from_arrays({{"value", x}});
  InputStreamPtr stream = open(data);
  Features element;
  stream->next(element);
  element.at("value").span<std::int64_t>()[0] = 99;
  EXPECT_EQ(values(data), (Values{1, 2}));
}

TEST(FromArrays, ReusesTheMemoryItIsGivenUnlessSomebodyHoldsIt) {
  InputStreamPtr stream = open(range(3));
  Features element;
  stream->next(element);
  const void* memory = element.at("value").raw();
  stream->next(element);
  EXPECT_EQ(element.at("value").raw(), memory);
  Array held = element.at("value");
  stream->next(element);
  EXPECT_NE(element.at("value").raw(), memory);
  EXPECT_EQ(held.item(), 1);
  EXPECT_EQ(element.at("value").item(), 2);
}

TEST(FromArrays, LeavesAdoptedMemoryAlone) {
  auto owner = std::make_shared<std::int64_t>(5);
  std::int64_t* mine = owner.get();
  Features element{{"value", Array({Shape{}, DType::i64}, mine, std::move(owner))}};
  // One handle alone, but the memory is not Belfry's.
  EXPECT_FALSE(element.at("value").exclusive());
  InputStreamPtr stream = open(range(3));
  stream->next(element);
  EXPECT_NE(element.at("value").raw(), mine);
  EXPECT_EQ(element.at("value").item(), 0);
}

TEST(FromArrays, RefusesWhatHasNoRows) {
  EXPECT_EQ(error_of([] { from_arrays({}); }), "from_arrays: needs at least one array");
  EXPECT_EQ(error_of([] {
              from_arrays({{"x", Array()}});
            }),
            "from_arrays: the array `x` is undefined");
  EXPECT_EQ(error_of([] {
              from_arrays({{"x", Array::scalar(1.0f)}});
            }),
            "from_arrays: `x` is a scalar; every array needs an axis 0 of examples");
  EXPECT_EQ(error_of([] {
              from_arrays({{"x", Array::zeros({3, 2})}, {"y", Array::zeros({4})}});
            }),
            "from_arrays: arrays must agree in axis 0, but `x` is [3, 2] and `y` is [4]");
}

TEST(Indexed, NamesTheElementThatCannotBeRead) {
  Dataset data = indexed(4, [](std::int64_t i, Features& out) {
    require(i != 2, "sector unreadable");
    out = {{"value", Array::scalar(i)}};
  });
  EXPECT_EQ(words(data), (std::vector<std::string>{
                             "0", "1", "error: sector unreadable (at element 2, epoch 0)", "3"}));
  EXPECT_EQ(error_of([] { indexed(1, nullptr); }),
            "indexed: the function that reads an element is empty");
}

TEST(Indexed, RefusesThePositionOfOtherData) {
  InputStreamPtr stream = open(range(5));
  EXPECT_THAT(error_of([&] { stream->restore("indexed.size=6 indexed.next=2"); }),
              ::testing::StartsWith("input: the saved position has indexed.size = 6, this pipeline "
                                    "has 5; was the input pipeline or its data changed"));
  EXPECT_THAT(error_of([&] { stream->restore("indexed.size=5 indexed.next=6"); }),
              ::testing::HasSubstr("indexed.next = 6, expected 0 to 5"));
}

TEST(Generator, StartsAnewForEachPass) {
  EXPECT_EQ(values(streamed(3) | repeat(2)), (Values{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(streamed(3).cardinality(), unknown);
  expect_resumes(streamed(5));
}

TEST(Generator, IsNotCalledAgainAfterTheEnd) {
  int calls = 0;
  InputStreamPtr stream = open(generator([&]() -> std::optional<Features> {
    ++calls;
    return std::nullopt;
  }));
  Features element;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(stream->next(element));
  EXPECT_EQ(calls, 1);
}

TEST(Generator, AnExceptionCostsOneElement) {
  Dataset data = generator([i = std::int64_t{0}]() mutable -> std::optional<Features> {
    if (i++ == 1) throw std::runtime_error("socket closed");
    if (i > 3) return std::nullopt;
    return Features{{"value", Array::scalar(i - 1)}};
  });
  EXPECT_EQ(words(data), (std::vector<std::string>{
                             "0", "error: generator: socket closed (at element 1, epoch 0)", "2"}));
  expect_resumes(data);
}

TEST(Generator, RefusesAPositionBeyondItsEnd) {
  InputStreamPtr stream = open(streamed(3));
  EXPECT_EQ(error_of([&] { stream->restore("generator.taken=5"); }),
            "input: the saved position is element 5 of a generator that now ends after 3");
}

TEST(Stream, ARestoreThatFailsCostsNothing) {
  bool gone = false;
  Dataset source("file", [&](const Pass& pass) {
    require(!gone, "no such file");
    return range(5).iterate(pass);
  });
  InputStreamPtr stream = open(source | batch(1));
  std::string state = stream->save();
  EXPECT_EQ(words(*stream, 2), (std::vector<std::string>{"0", "1"}));
  EXPECT_NE(error_of([&] { stream->restore("batch.index=7 nonsense"); }), "no error");
  EXPECT_EQ(words(*stream, 1), std::vector<std::string>{"2"});
  gone = true;
  EXPECT_EQ(error_of([&] { stream->restore(state); }), "no such file");
  EXPECT_EQ(words(*stream), (std::vector<std::string>{"3", "4"}));
  gone = false;
  stream->restore(state);
  EXPECT_EQ(words(*stream).size(), 5u);
}

}  // namespace
}  // namespace belfry::data
