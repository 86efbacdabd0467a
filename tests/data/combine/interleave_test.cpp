// Covers interleave.cpp and reader_pool.cpp.
#include <atomic>
#include <chrono>
#include <thread>

#include "../transforms/reading.h"
#include "belfry/data/combine/combine.h"

namespace belfry::data {
namespace {

std::int64_t value_of(const Features& in) { return in.at("value").span<std::int64_t>()[0]; }

// `count` copies of the element.
MakeDataset copies(std::int64_t count) {
  return [=](Features in) { return range(value_of(in) + 1) | skip(value_of(in)) | repeat(count); };
}

// 10 n, 10 n + 1, ..., as many as n.
Dataset as_many(Features in) {
  std::int64_t n = value_of(in);
  return range(10 * n + n) | skip(10 * n);
}

// The order of tf.data written down as a loop over lists.
Values expected_order(const std::vector<Values>& lists, std::size_t cycle, std::size_t block) {
  std::vector<std::pair<std::size_t, std::size_t>> entries(cycle,
                                                           {lists.size(), 0});  // list, place
  Values out;
  std::size_t next = 0, open = 0;
  for (std::size_t c = 0; open > 0 || next < lists.size(); c = (c + 1) % cycle) {
    auto& [list, place] = entries[c];
    if (list == lists.size() && next < lists.size()) {
      list = next++;
      place = 0;
      ++open;
    }
    if (list == lists.size()) continue;
    for (std::size_t i = 0; i < block && list < lists.size(); ++i) {
      if (place < lists[list].size()) {
        out.push_back(lists[list][place++]);
      } else {
        list = lists.size();
        --open;
      }
    }
  }
  return out;
}

// The example of tf.data.Dataset.interleave.
TEST(Interleave, TakesTurnsAsTfDataDoes) {
  for (int workers : {1, 2, 5, autotune})
    EXPECT_EQ(
        values(range(6) | skip(1)
               | interleave(copies(6), {.cycle_length = 2, .block_length = 4, .workers = workers})),
        (Values{1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 3, 3, 3,
                3, 4, 4, 4, 4, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5}));
}

TEST(Interleave, OfDatasetsOfAllLengths) {
  std::vector<Values> lists;
  for (std::int64_t i = 0; i < 9; ++i) lists.push_back(counting(10 * i, 10 * i + i * 5 % 7));
  auto list = [=](Features in) {
    const Values& mine = lists[static_cast<std::size_t>(value_of(in))];
    return from_arrays(
        {{"value", Array::of(std::span<const std::int64_t>(mine), Shape{std::ssize(mine)})}});
  };
  for (std::int64_t cycle : {1, 2, 3, 4, 9, 20})
    for (std::int64_t block : {1, 2, 3, 100})
      for (int workers : {1, 3}) {
        InterleaveOptions options{.cycle_length = cycle, .block_length = block, .workers = workers};
        EXPECT_EQ(
            values(range(9) | interleave(list, options)),
            expected_order(lists, static_cast<std::size_t>(cycle), static_cast<std::size_t>(block)))
            << cycle << " " << block << " " << workers;
      }
}

TEST(Interleave, OfNothingAndOfEndlessDatasets) {
  for (int workers : {1, 2}) {
    InterleaveOptions options{.cycle_length = 2, .block_length = 1, .workers = workers};
    EXPECT_EQ(values(range(0) | interleave(as_many, options)), Values{});
    EXPECT_EQ(values(range(1) | interleave(as_many, options)), Values{});
    auto forever = [](Features in) {
      return range(value_of(in) + 1) | skip(value_of(in)) | repeat();
    };
    EXPECT_EQ(values(range(9) | interleave(forever, options), 5), (Values{0, 1, 0, 1, 0}));
    EXPECT_EQ(values(range(3) | repeat() | interleave(copies(1), options), 7),
              (Values{0, 1, 2, 0, 1, 2, 0}));
    options.cycle_length = std::int64_t{1} << 60;
    EXPECT_EQ(values(range(3) | interleave(copies(2), options)), (Values{0, 1, 2, 0, 1, 2}));
    expect_resumes_everywhere(range(3) | interleave(copies(2), options));
  }
}

TEST(Interleave, RefusesWhatCannotWork) {
  EXPECT_EQ(error_of([] { interleave(as_many, {.cycle_length = 0}); }),
            "interleave: cycle_length must be at least 1, got 0");
  EXPECT_EQ(error_of([] { interleave(as_many, {.block_length = 0}); }),
            "interleave: block_length must be at least 1, got 0");
  EXPECT_EQ(error_of([] { interleave(as_many, {.workers = 0}); }),
            "interleave: workers must be at least 1, or data::autotune; got 0");
  EXPECT_EQ(error_of([] { interleave(as_many, {.workers = 257}); }),
            "interleave: workers must be at most 256, got 257; each is a thread. To read further "
            "ahead, put prefetch(n) behind it");
  EXPECT_EQ(error_of([] { interleave(nullptr); }), "interleave: the function is empty");
}

TEST(Interleave, DeliversErrorsInTheirPlace) {
  auto inner = [](Features in) {
    require(value_of(in) != 1, "no such file");
    return range(10 * value_of(in) + 3) | skip(10 * value_of(in)) | failing_at({21});
  };
  for (int workers : {1, 3}) {
    Dataset data = range(5) | failing_at({3})
                   | interleave(inner, {.cycle_length = 2, .block_length = 2, .workers = workers});
    EXPECT_EQ(
        named_words(data),
        (Words{
            "0: 0", "1: 1", "2: error: no such file (at element 1, epoch 0)", "2: 20",
            "3: error: bad value 21 (at element 21, epoch 0) (in the dataset of element 2, epoch "
            "0)",
            "4: 2", "5: 22", "6: error: bad value 3 (at element 3, epoch 0)", "6: 40", "7: 41",
            "8: 42"}))
        << workers;
    expect_resumes_everywhere(data);
    expect_skips(data);
  }
}

TEST(Interleave, ResumesAnywhere) {
  for (int workers : {1, 3})
    for (std::int64_t cycle : {1, 3, 12})
      for (std::int64_t block : {1, 4}) {
        InterleaveOptions options{.cycle_length = cycle, .block_length = block, .workers = workers};
        expect_resumes_everywhere(range(9) | interleave(as_many, options));
      }
  for (int workers : {1, 3}) {
    InterleaveOptions options{.cycle_length = 3, .block_length = 2, .workers = workers};
    auto drawn = [](Features in) { return streamed(value_of(in)) | shuffle(4); };
    expect_resumes_everywhere(range(7) | shuffle(7) | interleave(drawn, options) | repeat(2));
    expect_resumes_everywhere(streamed(7) | interleave(as_many, options) | batch(4));
    expect_skips(range(6) | interleave(as_many, options));
  }
}

TEST(Interleave, APositionFitsAnyNumberOfWorkers) {
  auto pipeline = [](int workers) {
    return range(9) | interleave(as_many, {.cycle_length = 3, .workers = workers});
  };
  Words all = words(pipeline(1));
  for (std::size_t i = 0; i < all.size(); ++i) {
    InputStreamPtr one = open(pipeline(1)), four = open(pipeline(4));
    words(*one, static_cast<int>(i));
    words(*four, static_cast<int>(i));
    EXPECT_EQ(one->save(), four->save());
    one->restore(four->save());
    EXPECT_EQ(words(*one), Words(all.begin() + static_cast<std::ptrdiff_t>(i), all.end()));
  }
}

TEST(Interleave, RestoringReadsNoInnerElementTwice) {
  auto reads = std::make_shared<Words>();
  auto noted = [=](std::string name) {
    return map([=](Features in) {
      reads->push_back(name + text(value_of(in)));
      return in;
    });
  };
  // The dataset of 5 stays open while that of 1 ends and that of 2 takes its place.
  auto inner = [=](Features in) { return as_many(std::move(in)) | noted("inner "); };
  Dataset data = from_arrays({{"value", Array::of<std::int64_t>({5, 1, 2, 4})}}) | noted("outer ")
                 | interleave(inner, {.cycle_length = 2});
  InputStreamPtr stream = open(data);
  EXPECT_EQ(words(*stream, 5), (Words{"50", "10", "51", "52", "20"}));
  EXPECT_EQ(stream->save(),
            "interleave.cycle_length=2 interleave.block_length=1 "
            "interleave.index=5 interleave.outer=0 interleave.since=3 interleave.open=2,1,3 "
            "interleave.cycle=0 interleave.block=0 indexed.size=4 indexed.next=0 indexed.size=5 "
            "indexed.next=3 indexed.size=2 indexed.next=1");
  InputStreamPtr resumed = open(data);
  reads->clear();
  resumed->restore(stream->save());
  EXPECT_EQ(words(*resumed, 1), (Words{"53"}));
  EXPECT_EQ(*reads, (Words{"outer 5", "outer 2", "inner 53"}));
  EXPECT_EQ(words(*resumed), (Words{"21", "54", "40", "41", "42", "43"}));
}

TEST(Interleave, ADamagedPositionIsAnError) {
  auto restoring = [](const std::string& fields) {
    InputStreamPtr stream = open(range(3) | interleave(as_many, {.cycle_length = 2}));
    return error_of([&] {
      stream->restore(
          "interleave.cycle_length=2 interleave.block_length=1 interleave.index=0 "
          "interleave.outer=0 "
          + fields);
    });
  };
  const std::string source = " indexed.size=3 indexed.next=0 indexed.size=0 indexed.next=0";
  EXPECT_EQ(restoring("interleave.since=1 interleave.open=1,1 interleave.cycle=0 "
                      "interleave.block=0"
                      + source),
            "no error");
  EXPECT_EQ(restoring("interleave.since=9 interleave.open=1,8 interleave.cycle=0 "
                      "interleave.block=0"
                      + source),
            "interleave: the saved position has element 7 of data that now end before it");
  EXPECT_EQ(restoring("interleave.since=4 interleave.open=1,4 interleave.cycle=0 "
                      "interleave.block=0"
                      + source),
            "interleave: the saved position is in the dataset of element 3 of data that now end "
            "before it");
  EXPECT_EQ(restoring("interleave.since=2 interleave.open=2,1,1 interleave.cycle=0 "
                      "interleave.block=0"
                      + source),
            "interleave: the saved position has element 0 of data that now end before it");
  EXPECT_THAT(restoring("interleave.since=1 interleave.open=1,2"),
              ::testing::HasSubstr("has interleave.open = 2, expected 0 to 1"));
  EXPECT_THAT(restoring("interleave.since=1 interleave.open=1,1 interleave.cycle=2"),
              ::testing::HasSubstr("has interleave.cycle = 2, expected 0 to 1"));
}

TEST(Interleave, SeveralDatasetsAreReadAtOnce) {
  auto running = std::make_shared<std::atomic<int>>(0);
  auto most = std::make_shared<std::atomic<int>>(0);
  auto slow = [=](Features) {
    return range(1000) | map([=](Features in) {
             int now = ++*running;
             for (int seen = *most; now > seen && !most->compare_exchange_weak(seen, now);) {
             }
             std::this_thread::sleep_for(std::chrono::microseconds(300));
             --*running;
             return in;
           });
  };
  InputStreamPtr stream = open(range(8) | interleave(slow, {.cycle_length = 4, .workers = 3}));
  Features f;
  while (*most < 3) stream->next(f);  // hangs unless three are read at once
  for (int i = 0; i < 100; ++i) stream->next(f);
  EXPECT_LE(*most, 4);  // the consumer lends a hand
}

TEST(Interleave, AnElementIsHandedOutWhileTheNextIsRead) {
  auto received = std::make_shared<std::atomic<bool>>(false);
  auto waited_for = std::make_shared<std::atomic<bool>>(false);
  auto inner = [=](Features) {
    return range(2) | map([=](Features in) {
             auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
             while (value_of(in) == 1 && !*received && std::chrono::steady_clock::now() < patience)
               std::this_thread::yield();
             if (value_of(in) == 1) *waited_for = received->load();
             return in;
           });
  };
  InputStreamPtr stream = open(range(1) | interleave(inner, {.workers = 2}));
  Features f;
  ASSERT_TRUE(stream->next(f));
  *received = true;
  ASSERT_TRUE(stream->next(f));
  EXPECT_TRUE(*waited_for);
}

TEST(Interleave, IsDestroyedCleanlyWhileReading) {
  for (int i = 0; i < 40; ++i) {
    auto alive = std::make_shared<int>(7);
    {
      auto inner = [alive](Features) {
        return range(50) | map([alive](Features in) {
                 EXPECT_EQ(*alive, 7);
                 return in;
               });
      };
      InputStreamPtr stream =
          open(range(30) | interleave(inner, {.cycle_length = 3, .block_length = 2, .workers = 2})
               | prefetch(2));
      Features f;
      for (int n = 0; n < i; ++n) stream->next(f);
    }
    EXPECT_EQ(alive.use_count(), 1);  // nothing left behind holds the function
  }
}

TEST(Interleave, NestsWithWorkers) {
  auto inner = [](Features in) {
    return range(4) | interleave(copies(value_of(in)), {.cycle_length = 2, .workers = 2});
  };
  auto serial = [](Features in) {
    return range(4) | interleave(copies(value_of(in)), {.cycle_length = 2});
  };
  EXPECT_EQ(values(range(6) | interleave(inner, {.cycle_length = 3, .workers = 3})),
            values(range(6) | interleave(serial, {.cycle_length = 3})));
}

TEST(Interleave, SkippingComputesNothing) {
  std::atomic<int> computed = 0;
  for (int workers : {1, 2}) {
    auto counted = [&](Features) {
      return range(100) | map([&](Features in) {
               ++computed;
               return in;
             });
    };
    Dataset data = range(4) | interleave(counted, {.cycle_length = 2, .workers = workers});
    InputStreamPtr stream = open(data | skip(390));
    Features element;
    computed = 0;
    ASSERT_TRUE(stream->next(element));
    EXPECT_LE(computed, 20) << workers;  // what was read ahead
  }
}

}  // namespace
}  // namespace belfry::data
