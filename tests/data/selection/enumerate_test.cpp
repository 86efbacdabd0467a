#include "../transforms/reading.h"
#include "belfry/data/selection/selection.h"

namespace belfry::data {
namespace {

// "number:value"
Words numbered(InputStream& stream, int most = 1000) {
  Words out;
  for (Features f; static_cast<int>(out.size()) < most && stream.next(f);)
    out.push_back(concat(f.at("index").span<std::int64_t>()[0], ":", f.at("value").at(0)));
  return out;
}
Words numbered(const Dataset& data, int most = 1000) { return numbered(*open(data), most); }

TEST(Enumerate, AddsThePlace) {
  for (const Dataset& source : {range(5), streamed(5)}) {
    EXPECT_EQ(numbered(source | skip(2) | enumerate()), (Words{"0:2", "1:3", "2:4"}));
    EXPECT_EQ(numbered(source | take(2) | enumerate("index", -7)), (Words{"-7:0", "-6:1"}));
  }
  EXPECT_EQ(numbered(range(0) | enumerate()), Words{});
  EXPECT_EQ(numbered(range(2) | repeat() | enumerate(), 3), (Words{"0:0", "1:1", "2:0"}));
}

TEST(Enumerate, KnowsWhatItsSourceKnows) {
  EXPECT_EQ((range(5) | enumerate()).cardinality(), 5);
  EXPECT_EQ((streamed(5) | enumerate()).cardinality(), unknown);
  EXPECT_EQ((range(5) | repeat() | enumerate()).cardinality(), infinite);
  EXPECT_TRUE((range(5) | enumerate()).info().random_access);
  EXPECT_FALSE((streamed(5) | enumerate()).info().random_access);
  EXPECT_EQ((range(5) | enumerate()).name(), "enumerate");
}

TEST(Enumerate, NumbersBelongToElementsInAnyOrder) {
  Words words = numbered(range(9) | skip(2) | enumerate() | shuffle(7));
  ASSERT_EQ(words.size(), 7u);
  EXPECT_NE(words[0] + words[1], "0:21:3");
  for (const std::string& word : words) EXPECT_EQ(word[0] + 2, word[2]) << word;  // one digit each
}

TEST(Enumerate, CountsElementsThatFail) {
  Dataset data = streamed(4) | failing_at({1}) | enumerate();
  InputStreamPtr stream = open(data);
  Features f;
  ASSERT_TRUE(stream->next(f));
  EXPECT_EQ(error_of([&] { stream->next(f); }), "bad value 1 (at element 1, epoch 0)");
  ASSERT_TRUE(stream->next(f));
  EXPECT_EQ(f.at("index").at(0), 2);
  expect_resumes(data);
  expect_skips(data);
}

TEST(Enumerate, RefusesANameInUse) {
  EXPECT_EQ(words(range(1) | enumerate("value")),
            (Words{"error: enumerate: there are two features `value`; give one of them another "
                   "name"}));
}

TEST(Enumerate, SeveralPipelinesShareTheNumberedElements) {
  for (const Dataset& source : {range(5), streamed(5)}) {
    Dataset data = source | enumerate();
    EXPECT_EQ(numbered(*data.open({.pipelines = 2, .pipeline = 1})), (Words{"1:1", "3:3"}));
  }
}

TEST(Enumerate, ResumesAnywhere) {
  expect_resumes(range(6) | enumerate() | shuffle(6) | repeat(2));
  expect_resumes(streamed(6) | enumerate());
  InputStreamPtr stream = open(streamed(4) | enumerate());
  Features f;
  stream->next(f);
  stream->next(f);
  InputStreamPtr resumed = open(streamed(4) | enumerate());
  resumed->restore(stream->save());
  EXPECT_EQ(numbered(*resumed), (Words{"2:2", "3:3"}));
}

}  // namespace
}  // namespace belfry::data
