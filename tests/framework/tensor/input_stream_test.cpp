#include <gmock/gmock.h>

#include "belfry/framework/tensor/features.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// The least that a stream must implement: three batches.
struct Three final : InputStream {
  bool next(Features& batch) override {
    if (count == 3) return false;
    batch.set("n", Array::scalar(count++));
    return true;
  }
  int count = 0;
};

TEST(InputStream, ServesBatchesUntilItsEndAndStaysThere) {
  InputFn input_fn = [] { return std::make_unique<Three>(); };
  InputStreamPtr stream = input_fn();
  Features batch;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(stream->next(batch));
    EXPECT_EQ(batch.at("n").item(), i);
  }
  EXPECT_FALSE(stream->next(batch));
  EXPECT_FALSE(stream->next(batch));
  EXPECT_EQ(stream->wait_seconds(), 0);
}

TEST(InputStream, OneThatCannotResumeSaysSo) {
  Three stream;
  EXPECT_EQ(stream.save(), "");
  EXPECT_NO_THROW(stream.restore(""));
  EXPECT_THAT([&] { stream.restore("at 7"); },
              ThrowsMessage<Error>(HasSubstr("cannot continue from a saved position")));
}

TEST(InputStream, OneThatDoesNotMeasureItselfSaysSo) {
  Three stream;
  EXPECT_EQ(explain(stream), "this stream does not measure itself\n");
}

}  // namespace
}  // namespace belfry
