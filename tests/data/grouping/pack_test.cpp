#include "../transforms/reading.h"
#include "belfry/data/grouping/grouping.h"

namespace belfry::data {
namespace {

// Documents of these lengths; the tokens are counted from 1, through all of them.
Dataset documents(Values lengths) {
  auto count = std::ssize(lengths);
  return indexed(count, [=](std::int64_t i, Features& out) {
    std::int64_t first = 1;
    for (std::int64_t j = 0; j < i; ++j) first += lengths[static_cast<std::size_t>(j)];
    out = {{"value", Array(Shape{lengths[static_cast<std::size_t>(i)]}, DType::i32)}};
    auto tokens = out.at("value").span<std::int32_t>();
    std::iota(tokens.begin(), tokens.end(), static_cast<std::int32_t>(first));
  });
}

// Lengths from 0 to 11, as if at random.
Dataset many(std::int64_t count) {
  Values lengths;
  for (std::int64_t i = 0; i < count; ++i) lengths.push_back(i * i * 7 % 12);
  return documents(lengths);
}

Transform fail_at(Values numbers) {
  return [=](Dataset d) {
    return std::move(d) | enumerate("number") | map([=](Features in) {
             auto number = static_cast<std::int64_t>(in.at("number").item());
             require(std::find(numbers.begin(), numbers.end(), number) == numbers.end(),
                     "bad document ", number);
             return in;
           });
  };
}

PackOptions split(std::string label = "") {
  return {.feature = "value", .label = std::move(label)};
}
PackOptions whole(std::int64_t open_rows) {
  return {.feature = "value", .padding = -7, .split = false, .open_rows = open_rows};
}

Words column(const Dataset& data, const char* name) { return words(data, 1000, name); }

TEST(Pack, SplitsDocumentsOverRows) {
  // [1 2 3] [4 5] [6 7 8 9], in rows of 4
  Dataset data = documents({3, 2, 4}) | pack(4, split("label"));
  EXPECT_EQ(words(data), (Words{"1,2,3,4", "5,6,7,8", "9,0,0,0"}));
  EXPECT_EQ(column(data, "document"), (Words{"0,0,0,1", "0,1,1,1", "0,-1,-1,-1"}));
  EXPECT_EQ(column(data, "position"), (Words{"0,1,2,0", "0,0,1,2", "0,0,0,0"}));
  EXPECT_EQ(column(data, "label"), (Words{"2,3,-1,5", "-1,7,8,9", "-1,-1,-1,-1"}));
}

TEST(Pack, OfOneDocumentMakesManyRows) {
  Dataset data = documents({11}) | pack(4, split("label"));
  EXPECT_EQ(words(data), (Words{"1,2,3,4", "5,6,7,8", "9,10,11,0"}));
  EXPECT_EQ(column(data, "document"), (Words{"0,0,0,0", "0,0,0,0", "0,0,0,-1"}));
  EXPECT_EQ(column(data, "position"), (Words{"0,1,2,3", "0,1,2,3", "0,1,2,0"}));
  EXPECT_EQ(column(data, "label"), (Words{"2,3,4,5", "6,7,8,9", "10,11,-1,-1"}));
  EXPECT_EQ(words(documents({3}) | pack(1, split())), (Words{"1", "2", "3"}));
}

TEST(Pack, PassesOverDocumentsWithoutTokens) {
  Dataset data = documents({0, 2, 0, 0, 2, 0, 1, 0}) | pack(4, split("label"));
  EXPECT_EQ(words(data), (Words{"1,2,3,4", "5,0,0,0"}));
  EXPECT_EQ(column(data, "document"), (Words{"0,0,1,1", "0,-1,-1,-1"}));
  EXPECT_EQ(column(data, "label"), (Words{"2,-1,4,-1", "-1,-1,-1,-1"}));
  EXPECT_EQ(words(documents({0, 0}) | pack(4, split())), Words{});
}

TEST(Pack, MayKeepDocumentsWhole) {
  // [1 2 3] [4 5 6] [7] [8 9] [10 11 12 13] [14]
  Dataset source = documents({3, 3, 1, 2, 4, 1});
  Dataset data = source | pack(4, whole(2));
  // [7] completes the first row. Then [4 5 6] and [8 9] wait; [10..13] fills a row of its own, and
  // [14] completes that of [4 5 6].
  EXPECT_EQ(words(data), (Words{"1,2,3,7", "10,11,12,13", "4,5,6,14", "8,9,-7,-7"}));
  EXPECT_EQ(column(data, "document"), (Words{"0,0,0,1", "0,0,0,0", "0,0,0,1", "0,0,-1,-1"}));
  EXPECT_EQ(column(data, "position"), (Words{"0,1,2,0", "0,1,2,3", "0,1,2,0", "0,1,0,0"}));
  // With one row open, what does not fit closes it.
  EXPECT_EQ(words(source | pack(4, whole(1))),
            (Words{"1,2,3,-7", "4,5,6,7", "10,11,12,13", "8,9,14,-7"}));
}

TEST(Pack, TheRowBegunFirstMakesRoom) {
  // Rows of 5: [1 2 3] and [4 5 6 7] are open when [8 9 10] comes; then [11 12] goes to the first
  // row with room for it, and not to the one that it would fill.
  Dataset data = documents({3, 4, 3, 1}) | pack(5, whole(2));
  EXPECT_EQ(words(data), (Words{"1,2,3,-7,-7", "4,5,6,7,11", "8,9,10,-7,-7"}));
  EXPECT_EQ(words(documents({2, 3, 4, 1, 1}) | pack(5, whole(3))),
            (Words{"1,2,3,4,5", "6,7,8,9,10", "11,-7,-7,-7,-7"}));
  EXPECT_EQ(words(documents({2, 4, 2, 1, 1}) | pack(5, whole(3))),
            (Words{"1,2,7,8,9", "3,4,5,6,10"}));
}

TEST(Pack, LongerDocumentsThanARowMustBeSplit) {
  Dataset data = documents({2, 5, 2, 1}) | pack(4, whole(2));
  EXPECT_EQ(named_words(data),
            (Words{"1: error: pack: the document has 5 tokens, a row 4; cut it before, or use "
                   "PackOptions::split (at element 1, epoch 0)",
                   "0: 1,2,8,9", "1: 10,-7,-7,-7"}));
  expect_resumes_everywhere(data);
}

TEST(Pack, TakesBytesAndNumbersOf64Bits) {
  auto of = [](Array array) {
    return from_arrays({{"text", array.reshape({1, array.elements()})}})
           | pack(3, {.feature = "text"});
  };
  EXPECT_EQ(column(of(array_of("\xff!")), "text"), (Words{"255,33,0"}));
  EXPECT_EQ(column(of(Array::of<std::int64_t>({2147483647, -2147483648})), "text"),
            (Words{"2147483647,-2147483648,0"}));
  EXPECT_EQ(column(of(Array::of<std::int64_t>({1, 2147483648})), "text"),
            (Words{"error: pack: token 1 of `text` is 2147483648, beyond i32 (at element 0, epoch "
                   "0)"}));
  EXPECT_EQ(column(of(Array::of<float>({1})), "text"),
            (Words{"error: pack: `text` is f32[1], expected a document of tokens: i32, i64 or u8 "
                   "[t] (at element 0, epoch 0)"}));
  EXPECT_EQ(
      words(range(1) | pack(3, split())),
      (Words{"error: pack: `value` is i64[], expected a document of tokens: i32, i64 or u8 [t] "
             "(at element 0, epoch 0)"}));
  EXPECT_EQ(words(range(1) | pack(3)),
            (Words{"error: unknown feature `token`; this batch has value "
                   "(at element 0, epoch 0)"}));
}

TEST(Pack, YieldsTheFeaturesThatHaveNames) {
  auto signature = [](PackOptions options) {
    InputStreamPtr stream = open(documents({2}) | pack(3, std::move(options)));
    Features row;
    EXPECT_TRUE(stream->next(row));
    return to_string(signature_of(row));
  };
  EXPECT_EQ(signature(split()), "value i32[3], document i32[3], position i32[3]");
  EXPECT_EQ(signature({.feature = "value", .document = "", .position = "", .label = "next"}),
            "value i32[3], next i32[3]");
}

TEST(Pack, AFailureIsDeliveredAtOnceAndCostsNothingElse) {
  Dataset data = documents({3, 2, 4, 1, 2}) | fail_at({1, 3}) | pack(4, split());
  EXPECT_EQ(
      named_words(data),
      (Words{"1: error: bad document 1 (at element 1, epoch 0)", "0: 1,2,3,6",
             "3: error: bad document 3 (at element 3, epoch 0)", "1: 7,8,9,11", "2: 12,0,0,0"}));
  expect_resumes_everywhere(data);
  expect_skips(data);
}

TEST(Pack, ResumesAnywhere) {
  for (std::int64_t length : {1, 2, 5, 11, 40}) {
    SCOPED_TRACE(length);
    for (const PackOptions& options : {split("label"), whole(1), whole(2), whole(5)}) {
      expect_resumes_everywhere(many(40) | pack(length, options), 60, 20);
      expect_resumes_everywhere(
          many(40) | shuffle(40) | fail_at({4, 5, 31}) | pack(length, options) | repeat(2), 60, 20);
      expect_resumes_everywhere(many(40) | fail_at({}) | shuffle(7) | pack(length, options), 60,
                                20);
    }
  }
  expect_resumes_everywhere(documents({}) | pack(3, split()));
  expect_skips(many(20) | pack(7, split()));
  expect_skips(many(20) | pack(11, whole(3)));
}

// Also the features that words() does not look at.
TEST(Pack, ResumesWithinADocument) {
  Dataset data = documents({3, 10}) | pack(4, split("label"));
  for (const char* name : {"document", "position", "label"}) expect_resumes(data, 60, 25, name);
  InputStreamPtr stream = open(data);
  EXPECT_EQ(words(*stream, 2), (Words{"1,2,3,4", "5,6,7,8"}));
  EXPECT_EQ(stream->save(),
            "pack.length=4 pack.open_rows=0 pack.index=2 pack.offset=5 pack.waiting=1,0 "
            "pack.read=1 indexed.size=2 indexed.next=1");
  InputStreamPtr shorter = open(documents({3, 5}) | pack(4, split("label")));
  shorter->restore(stream->save());
  EXPECT_EQ(words(*shorter),
            (Words{"error: input: the saved position is token 5 of a document, which "
                   "now has 5 tokens (at element 1, epoch 0)"}));
}

TEST(Pack, ReadsAgainOnlyWhatWaits) {
  auto reads = std::make_shared<Values>();
  Dataset data = documents({2, 4, 2, 4, 1, 3, 1}) | enumerate("number") | map([=](Features in) {
                   reads->push_back(static_cast<std::int64_t>(in.at("number").item()));
                   return in;
                 })
                 | pack(5, whole(3));
  InputStreamPtr stream = open(data);
  // [1 2 | 7 8 | 13] is full; [3 4 5 6] and [9 10 11 12] wait.
  EXPECT_EQ(words(*stream, 1), (Words{"1,2,7,8,13"}));
  EXPECT_THAT(stream->save(), ::testing::HasSubstr("pack.waiting=2,0,2 pack.read=4 "));
  InputStreamPtr resumed = open(data);
  reads->clear();
  resumed->restore(stream->save());
  EXPECT_EQ(words(*resumed, 1), (Words{"3,4,5,6,17"}));
  EXPECT_EQ(*reads, (Values{1, 3, 5, 6}));
}

TEST(Pack, APositionIsBoundedHoweverManyDocumentsFail) {
  Values most;
  for (std::int64_t i = 1; i < 3000; ++i) most.push_back(i);
  Dataset data = documents(Values(3000, 1)) | fail_at(most) | pack(4, split());
  InputStreamPtr stream = open(data);
  EXPECT_EQ(words(*stream, 2999).back(), "error: bad document 2999 (at element 2999, epoch 0)");
  EXPECT_LT(stream->save().size(), 200u);
  InputStreamPtr resumed = open(data);
  resumed->restore(stream->save());
  EXPECT_EQ(words(*resumed), (Words{"1,0,0,0"}));
}

TEST(Pack, IsSharedByDocumentOrByRow) {
  Dataset data = documents({4, 4, 4}) | pack(2, split());
  EXPECT_EQ(part(data, 3, 1), (Words{"5,6", "7,8"}));
  EXPECT_EQ(part(data, 4, 1), (Words{"3,4", "11,12"}));  // fewer documents than pipelines
}

TEST(Pack, RefusesWhatCannotWork) {
  EXPECT_EQ(error_of([] { pack(0); }), "pack: a row has 1 to 2^31 - 1 tokens, got 0");
  EXPECT_EQ(error_of([] { pack(std::int64_t{1} << 31); }),
            "pack: a row has 1 to 2^31 - 1 tokens, got 2147483648");
  EXPECT_EQ(error_of([] { pack(2, {.open_rows = 0}); }),
            "pack: open_rows must be at least 1, got 0");
  EXPECT_EQ(error_of([] { pack(2, {.feature = ""}); }),
            "pack: the feature with the tokens needs a name");
  EXPECT_EQ(error_of([] { pack(2, {.label = "token"}); }),
            "pack: two features would be called `token`");
}

TEST(Pack, HasAnUnknownEnd) {
  EXPECT_EQ((documents({2}) | pack(2)).cardinality(), unknown);
  EXPECT_EQ((documents({}) | pack(2)).cardinality(), 0);
  EXPECT_EQ((documents({2}) | repeat() | pack(2)).cardinality(), infinite);
}

}  // namespace
}  // namespace belfry::data
