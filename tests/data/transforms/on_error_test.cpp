#include <fstream>
#include <new>

#include "../../framework/base/temporary_folder.h"
#include "belfry/data/transforms/errors.h"
#include "belfry/framework/base/log.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using Words = std::vector<std::string>;

OnErrorOptions skipping(std::int64_t most = 100) {
  return {.action = OnError::skip, .max_count = most};
}

TEST(OnError, LeavesOutWhatFails) {
  for (int workers : {1, 3}) {
    Dataset data = range(10) | failing_at({0, 3, 9}, workers) | on_error(skipping());
    EXPECT_EQ(values(data), (Values{1, 2, 4, 5, 6, 7, 8}));
    EXPECT_EQ(data.cardinality(), unknown);
    expect_resumes(data);
  }
}

// Tells nothing of the element, which may be a good one.
TEST(OnError, AShortageOfMemoryReachesTheConsumer) {
  auto short_at_1 = map([](Features in) -> Features {
    if (in.begin()->second.item() == 1) throw std::bad_alloc();
    return in;
  });
  auto stream = (range(3) | short_at_1 | on_error(skipping())).open();
  Features out;
  EXPECT_TRUE(stream->next(out));
  EXPECT_THROW(stream->next(out), std::bad_alloc);
  EXPECT_THROW(stream->next(out), OutOfMemory);
}

TEST(OnError, FailsByDefault) {
  EXPECT_EQ(words(range(3) | failing_at({1}) | on_error({})),
            (Words{"0", "error: bad value 1 (at element 1, epoch 0)", "2"}));
}

TEST(OnError, HasABudgetOfElements) {
  Dataset data = range(6) | failing_at({1, 2, 4}) | on_error(skipping(2));
  EXPECT_EQ(words(data),
            (Words{"0", "3",
                   "error: bad value 4 (at element 4, epoch 0) (on_error: 3 of 5 elements failed; "
                   "allowed: 2, and from the 1000th on a fraction of 0.01)",
                   "5"}));
  expect_resumes(data);
}

TEST(OnError, HasABudgetOfPartsFromTheThousandthOn) {
  Values bad;
  for (std::int64_t i = 0; i < 30; ++i) bad.push_back(i);
  bad.push_back(1500);
  OnErrorOptions options{.action = OnError::skip, .max_count = 100, .max_ratio = 0.02};
  std::vector<std::string> seen = words(range(2000) | failing_at(bad) | on_error(options), 3000);
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(), [](auto& w) { return w.starts_with("error"); }),
            1);  // 31 of 1501 are more than 2 %; 30 were found too early to tell
  EXPECT_EQ(seen.size(), 2000u - 30);
}

TEST(OnError, KeepsAListThatCanBeRunAgain) {
  TemporaryFolder folder;
  OnErrorOptions options = skipping();
  options.quarantine = folder.path() + "/bad.tsv";
  values(range(10) | shuffle(10) | failing_at({7, 2}, 4) | repeat(2) | on_error(options));
  EXPECT_EQ(read_quarantine(options.quarantine), (Values{2, 7}));
  Dataset again = range(10) | select(read_quarantine(options.quarantine));
  EXPECT_EQ(values(again), (Values{2, 7}));
  EXPECT_EQ(again.cardinality(), 2);
}

TEST(OnError, LogsWhatItLeavesOut) {
  std::string log;
  LogSink before = set_log_sink([&](LogLevel, std::string_view line) { log += line; });
  values(range(3) | failing_at({1}) | on_error(skipping()));
  set_log_sink(before);
  EXPECT_EQ(log, "input: left out an element (1 of 2 so far): bad value 1 (at element 1, epoch 0)");
}

TEST(OnError, RefusesWhatCannotWork) {
  EXPECT_EQ(error_of([] { on_error({.max_count = -1}); }),
            "on_error: max_count must be at least 0, got -1");
  EXPECT_EQ(error_of([] { on_error({.max_ratio = -0.5}); }),
            "on_error: max_ratio must be at least 0, got -0.5");
  EXPECT_EQ(
      error_of([] { on_error({.action = OnError::skip, .quarantine = "/no/such/folder/x"}); }),
      "on_error: cannot write the quarantine file /no/such/folder/x: No such file or directory; "
      "check the path; its folder must exist");
  TemporaryFolder folder;
  std::string path = folder.path() + "/bad";
  std::ofstream(path) << "0\t3\tfine\nnonsense\n";
  EXPECT_EQ(error_of([&] { read_quarantine(path); }),
            path + ": line 2 is no line of a quarantine file: expected an epoch, an index and a "
                   "message with tabs between, got `nonsense`");
}

TEST(Quarantine, OfASourceWithoutRandomAccessIsRunAgain) {
  TemporaryFolder folder;
  OnErrorOptions options{
      .action = OnError::skip, .max_ratio = 1, .quarantine = folder.path() + "/bad"};
  auto odd = [](Features in) {
    require(in.at("value").item() != 2 && in.at("value").item() != 5, "wrong");
    return in;
  };
  EXPECT_EQ(values(streamed(7) | map(odd) | on_error(options)), (Values{0, 1, 3, 4, 6}));
  EXPECT_EQ(values(streamed(7) | select(read_quarantine(options.quarantine))), (Values{2, 5}));
}

TEST(OnError, AnUnnamedFailureHasItsPlace) {
  TemporaryFolder folder;
  OnErrorOptions options{
      .action = OnError::skip, .max_ratio = 1, .quarantine = folder.path() + "/bad"};
  struct Nameless final : Iterator {
    bool next(Element& out) override {
      if (place == 5) return false;
      require(place++ != 3, "bad");
      out.features = {{"value", Array::scalar(place - 1)}};
      out.index = place - 1;
      return true;
    }
    void position(Position& at) override { at.field("place", place); }
    std::int64_t place = 0;
  };
  Dataset data("nameless", [](const Pass&) { return std::make_unique<Nameless>(); });
  EXPECT_EQ(values(data | on_error(options)), (Values{0, 1, 2, 4}));
  EXPECT_EQ(read_quarantine(options.quarantine), Values{3});
}

TEST(OnError, SaysWhatIsAllowedOnceThatIsSpent) {
  Dataset data = range(5) | failing_at({1, 3}) | on_error(skipping(1));
  EXPECT_EQ(words(data),
            (Words{"0", "2",
                   "error: bad value 3 (at element 3, epoch 0) (on_error: 2 of 4 elements failed; "
                   "allowed: 1, and from the 1000th on a fraction of 0.01)",
                   "4"}));
}

}  // namespace
}  // namespace belfry::data
