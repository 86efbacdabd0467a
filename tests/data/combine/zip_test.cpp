#include "../transforms/reading.h"
#include "belfry/data/combine/combine.h"

namespace belfry::data {
namespace {

// The same values under another name.
Transform renamed(std::string name) {
  return map([=](Features in) { return Features{{name, in.at("value")}}; });
}

// {"a/value", "b/value"} as "a+b".
Words pairs(const Dataset& data, int most = 1000) {
  Words out;
  InputStreamPtr stream = open(data);
  for (Features f; static_cast<int>(out.size()) < most && stream->next(f);)
    out.push_back(concat(f.at("a/value").at(0), "+", f.at("b/value").at(0)));
  return out;
}

TEST(Zip, PutsElementsSideBySideUnderPrefixes) {
  EXPECT_EQ(pairs(zip({{"a", range(3)}, {"b", range(9) | skip(5)}})), (Words{"0+5", "1+6", "2+7"}));
  EXPECT_EQ(pairs(zip({{"a", range(9) | skip(5)}, {"b", streamed(3)}})),
            (Words{"5+0", "6+1", "7+2"}));
  InputStreamPtr stream = open(zip({{"a", range(3)}, {"", range(3)}}));
  Features f;
  ASSERT_TRUE(stream->next(f));
  EXPECT_EQ(to_string(signature_of(f)), "a/value i64[], value i64[]");
}

TEST(Zip, KeepsNamesWithoutPrefixes) {
  Dataset data = zip({range(2), range(5) | renamed("label")});
  InputStreamPtr stream = open(data);
  Features f;
  for (std::int64_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(stream->next(f));
    EXPECT_EQ(to_string(signature_of(f)), "value i64[], label i64[]");
    EXPECT_EQ(f.at("label").at(0), static_cast<double>(i));
  }
  EXPECT_FALSE(stream->next(f));
  EXPECT_FALSE(stream->next(f));
}

TEST(Zip, RefusesANameThatTwoHave) {
  const std::string clash =
      "error: zip: there are two features `value`; give one of them another name";
  EXPECT_EQ(words(zip({range(2), range(5)})), (Words{clash, clash}));
  EXPECT_EQ(error_of([] { zip(std::vector<Dataset>{}); }), "zip: needs at least one dataset");
}

TEST(Zip, KnowsWhatItsInputsKnow) {
  Dataset unknown_end = streamed(4);
  EXPECT_EQ(zip({range(7), range(4)}).cardinality(), 4);
  EXPECT_EQ(zip({range(7), range(4) | repeat()}).cardinality(), 7);
  EXPECT_EQ(zip({range(7) | repeat(), range(4) | repeat()}).cardinality(), infinite);
  EXPECT_EQ(zip({range(7), unknown_end}).cardinality(), unknown);
  EXPECT_EQ(zip({range(7) | repeat(), unknown_end}).cardinality(), unknown);
  EXPECT_EQ(zip({unknown_end, range(0)}).cardinality(), 0);
  EXPECT_TRUE(zip({range(7), range(4)}).info().random_access);
  EXPECT_FALSE(zip({range(7), unknown_end}).info().random_access);
  EXPECT_FALSE(zip({range(7), range(7) | repeat(1)}).info().random_access);
}

TEST(Zip, StaysTogetherInAnyOrder) {
  Dataset data = zip({{"a", range(20)}, {"b", range(30) | skip(3)}}) | shuffle(20);
  Words shuffled = pairs(data);
  EXPECT_NE(shuffled[0] + shuffled[1], "0+31+4");
  std::sort(shuffled.begin(), shuffled.end());
  Words expected;
  for (int i = 0; i < 20; ++i) expected.push_back(concat(i, "+", i + 3));
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(shuffled, expected);
}

TEST(Zip, InputsDrawDifferentRandomNumbers) {
  auto draw = map([](Features, PhiloxStream& random) {
    return Features{{"value", Array::scalar(static_cast<std::int64_t>(random.below(1'000'000)))}};
  });
  Words drawn = pairs(zip({{"a", range(1) | draw}, {"b", range(1) | draw}}));
  auto plus = drawn[0].find('+');
  EXPECT_NE(drawn[0].substr(0, plus), drawn[0].substr(plus + 1));
}

TEST(Zip, AFailureCostsItsRowAlone) {
  Dataset data =
      zip({range(5) | failing_at({1}) | renamed("first"), range(9) | skip(4) | failing_at({5, 7})});
  const Words expected{"4", "error: bad value 1 (at element 1, epoch 0, in map 1)", "6",
                       "error: bad value 7 (at element 7, epoch 0, in map 3)", "8"};
  EXPECT_EQ(words(data), expected);
  expect_resumes(data);
  expect_skips(data);
}

TEST(Zip, NamesElementsAsItsFirstInputDoes) {
  EXPECT_EQ(named_words(zip({range(9) | skip(7) | renamed("x"), range(2)})),
            (Words{"7: 0", "8: 1"}));
}

TEST(Zip, OfEmptyOrEndlessInputs) {
  EXPECT_EQ(words(zip({{"", range(0)}, {"x", range(4)}})), Words{});
  EXPECT_EQ(words(zip({{"x", range(4)}, {"", streamed(0)}})), Words{});
  Dataset endless = zip({{"a", range(2) | repeat()}, {"b", range(3) | repeat()}});
  EXPECT_EQ(pairs(endless, 5), (Words{"0+0", "1+1", "0+2", "1+0", "0+1"}));
  expect_resumes(zip({{"x", range(4)}, {"", streamed(0)}}));
}

TEST(Zip, ResumesAnywhere) {
  expect_resumes(zip({{"a", range(10) | shuffle(10)}, {"", streamed(8)}}) | repeat(2));
  expect_resumes(zip({{"a", range(10)}, {"", range(8)}}) | shuffle(8) | repeat(2));
  expect_resumes(zip({{"", streamed(9)}, {"a", range(10) | failing_at({}, 3)}}));
  expect_skips(zip({{"a", range(10)}, {"", streamed(8)}}));
  expect_skips(zip({{"", streamed(8)}, {"a", range(3)}}));
  expect_skips(zip({{"", range(6)}, {"a", range(9)}}) | shuffle(6));
}

TEST(Zip, IsSharedAsAWhole) {
  // The second input is not aligned with its source, and neither can be read by number.
  Dataset streams = zip({{"", streamed(7)}, {"b", streamed(9) | skip(1)}});
  Dataset arrays = zip({{"", range(7)}, {"b", range(9) | skip(1)}});
  for (const Dataset& data : {streams, arrays}) {
    EXPECT_EQ(part(data, 2, 0), (Words{"0", "2", "4", "6"}));
    EXPECT_EQ(part(data, 2, 1), (Words{"1", "3", "5"}));
    InputStreamPtr stream = data.open({.pipelines = 3, .pipeline = 1});
    Features f;
    while (stream->next(f)) EXPECT_EQ(f.at("value").at(0) + 1, f.at("b/value").at(0));
  }
}

TEST(Zip, UsesItsMemoryAgain) {
  InputStreamPtr stream = open(zip({{"a", range(9)}, {"b", range(9)}}));
  Features f;
  ASSERT_TRUE(stream->next(f));
  const void *a = f.at("a/value").raw(), *b = f.at("b/value").raw();
  while (stream->next(f)) {
    EXPECT_EQ(f.at("a/value").raw(), a);
    EXPECT_EQ(f.at("b/value").raw(), b);
  }
}

}  // namespace
}  // namespace belfry::data
