// Pipelines put together at random from sources and transforms: the same bytes for any number of
// workers and each time, the same rest from any saved position, and nothing lost between two
// pipelines that share the data.
//
// BELFRY_RANDOM_PIPELINES says how many there are, BELFRY_RANDOM_SEED where their seeds begin.
// BELFRY_RANDOM_ONLY is the seed of a single one.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "../../framework/base/from_environment.h"
#include "../tell_count.h"
#include "belfry/data/transforms/transforms.h"
#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"
#include "random_pipeline.h"

namespace belfry::data {
namespace {

using Words = std::vector<std::string>;

constexpr std::size_t most = 100;  // elements that are read of a pipeline
const std::string end_word = "end";

/// Ends the process with its text where a body hangs.
class Watchdog {
 public:
  explicit Watchdog(std::string text)
      : thread_([this, text = std::move(text)] {
          std::unique_lock lock(mutex_);
          if (done_.wait_for(lock, std::chrono::minutes(10), [&] { return over_; })) return;
          std::cerr << text << ": it has not come to its end after ten minutes" << std::endl;
          std::abort();
        }) {}
  ~Watchdog() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    done_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool over_ = false;
  std::thread thread_;
};

class RandomPipelines : public ::testing::Test {
 protected:
  RandomPipelines() : before_(set_log_sink([](LogLevel, std::string_view) {})) {}
  ~RandomPipelines() override { set_log_sink(before_); }

  /// Runs `body(seed)` for each seed.
  template <class Body>
  void for_each_seed(std::string_view what, Body body) {
    const std::int64_t only = from_environment("BELFRY_RANDOM_ONLY", -1);
    std::int64_t first = from_environment("BELFRY_RANDOM_SEED", 0);
    std::int64_t count = from_environment("BELFRY_RANDOM_PIPELINES", 120);
    if (only >= 0) first = only, count = 1;
    for (std::int64_t seed = first; seed < first + count; ++seed) {
      std::string text = concat("BELFRY_RANDOM_ONLY=", seed);
      try {
        Watchdog watchdog(text);
        text += concat(": ", make(seed, 1).text);
        if (only >= 0) std::cout << text << '\n';
        SCOPED_TRACE(text);
        body(static_cast<std::uint64_t>(seed));
      } catch (const std::exception& error) {
        ADD_FAILURE() << text << ": " << error.what();
      }
    }
    tell_count(count, what);
  }

  /// At least `part` of `whole` cases had something to tell; a single one need not.
  static void expect_share(std::string_view what, int part, int whole, double share) {
    std::cout << part << " of " << whole << " " << what << '\n';
    if (from_environment("BELFRY_RANDOM_ONLY", -1) < 0) {
      EXPECT_GE(part, share * whole) << what;
    }
  }

  /// A pipeline whose caches are empty.
  RandomPipeline make(std::uint64_t seed, int workers) {
    return random_pipeline(files_, {.seed = seed, .workers = workers, .folder = new_folder()});
  }

  PipelineFiles files_;

 private:
  LogSink before_;
};

/// Without the file that the element came from: a cache in a file does not keep its name.
std::string without_file(std::string error) {
  const std::size_t from = error.find(", of /"), to = error.find_first_of(",)", from + 5);
  return from == error.npos || to == error.npos ? error : error.erase(from, to - from);
}

/// The types and a checksum of the next element, "end", or "error: ...".
std::string next_word(InputStream& stream, Features& element) {
  try {
    if (!stream.next(element)) return end_word;
    std::string word;
    for (const auto& [name, array] : element)
      word += concat(name, " ", array.type(), " ", crc32c(array.raw_bytes()), "; ");
    return word;
  } catch (const Error& error) {
    return "error: " + without_file(error.what());
  }
}

Words words(InputStream& stream, std::size_t count = most) {
  Words out;
  Features element;
  while (out.size() < count) {
    std::string word = next_word(stream, element);
    if (word == end_word) break;
    out.push_back(std::move(word));
  }
  return out;
}

Words words(const Dataset& dataset) { return words(*dataset.open()); }

Words part(const Words& all, std::size_t begin, std::size_t count) {
  begin = std::min(begin, all.size());
  return {all.begin() + begin, all.begin() + std::min(begin + count, all.size())};
}

bool is_error(const std::string& word) { return word.starts_with("error: "); }

TEST_F(RandomPipelines, GiveTheSameBytesForAnyNumberOfWorkersAndAgain) {
  int tried = 0, with_elements = 0;
  for_each_seed("random pipelines", [&](std::uint64_t seed) {
    RandomPipeline one = make(seed, 1);
    const Words expected = words(one.dataset);
    ++tried, with_elements += !std::ranges::all_of(expected, is_error);
    ASSERT_EQ(words(one.dataset), expected) << "its second stream";
    ASSERT_EQ(words(make(seed, 1).dataset), expected) << "made again";
    for (int workers : {2, 3, 4, 5, 6, 7, 8, autotune})
      ASSERT_EQ(words(make(seed, workers).dataset), expected) << workers << " workers";
  });
  expect_share("pipelines give elements", with_elements, tried, 0.7);
}

/// Saves `stream`, of which `at` elements were read, restores it elsewhere, reads a few there, and
/// the same once more from where that stands.
void expect_resumes(InputStream& stream, const Words& all, std::size_t at, const Dataset& second,
                    const Dataset& third) {
  constexpr std::size_t few = 4, tail = 30;
  const std::string saved = stream.save();
  InputStreamPtr resumed = second.open();
  resumed->restore(saved);
  ASSERT_EQ(resumed->save(), saved) << "after " << at;
  ASSERT_EQ(words(*resumed, few), part(all, at, few)) << "after " << at << " at " << saved;
  const std::string saved_again = resumed->save();
  InputStreamPtr resumed_again = third.open();
  resumed_again->restore(saved_again);
  ASSERT_EQ(words(*resumed_again, tail), part(all, at + few, tail))
      << "after " << at << " and " << few << " at " << saved_again;
  ASSERT_EQ(words(*resumed, tail), part(all, at + few, tail)) << "after " << at << " at " << saved;
}

TEST_F(RandomPipelines, ResumeAnywhereWithAnyNumberOfWorkers) {
  for_each_seed("random pipelines resumed", [&](std::uint64_t seed) {
    PhiloxStream random(philox_key(seed, "places"));
    const RandomPipeline one = make(seed, 1), three = make(seed, 3), eight = make(seed, 8);
    const Words all = words(one.dataset);
    InputStreamPtr stream = (random.below(2) ? three : one).dataset.open();
    Features element;
    for (std::size_t at = 0;; ++at) {
      // The other has filled no cache.
      const Dataset second = random.below(2) ? eight.dataset : make(seed, 2).dataset;
      ASSERT_NO_FATAL_FAILURE(expect_resumes(*stream, all, at, second, three.dataset));
      const std::string word = next_word(*stream, element);
      if (at < all.size()) {
        ASSERT_EQ(word, all[at]);
      } else if (all.size() < most) {
        ASSERT_EQ(word, end_word) << "after " << at;
      }
      if (at >= all.size() || at + 40 >= most) break;
    }
  });
}

/// Sorted, and errors without the numbers of their elements, which count within a share.
Words comparable(Words all) {
  for (std::string& word : all)
    if (is_error(word)) word.resize(std::min(word.size(), word.find(" (at ")));
  std::sort(all.begin(), all.end());
  return all;
}

/// The words of `all` that are not in `others`, both of them sorted.
Words without(const Words& all, const Words& others) {
  Words out;
  std::ranges::set_difference(all, others, std::back_inserter(out));
  return out;
}

/// Whether a source or stage of `dataset` has fewer elements than `count`.
bool has_fewer(const Dataset& dataset, int count) {
  const std::int64_t size = dataset.cardinality();
  return (size >= 0 && size < count)
         || std::ranges::any_of(dataset.inputs(),
                                [=](const Dataset& input) { return has_fewer(input, count); });
}

/// All that `count` pipelines read together; nothing where one rightly says that there is too
/// little to share.
std::optional<Words> words_of_all_shares(const Dataset& dataset, int count) {
  Words all;
  for (int i = 0; i < count; ++i) {
    Words mine;
    try {
      mine = words(*dataset.open({.pipelines = count, .pipeline = i}), 10 * most);
    } catch (const Error& error) {
      mine = {error.what()};
    }
    for (const std::string& word : mine)
      if (word.find("cannot be shared by") != std::string::npos && has_fewer(dataset, count))
        return std::nullopt;
    if (mine.size() == 1 && mine[0].find("nothing is left") != std::string::npos) continue;
    all.insert(all.end(), mine.begin(), mine.end());
  }
  return comparable(all);
}

TEST_F(RandomPipelines, AreSharedWithoutLossOrDuplicate) {
  int tried = 0, shared = 0;
  for_each_seed("random pipelines shared", [&](std::uint64_t seed) {
    const Words whole = comparable(words(*make(seed, 1).divisible.open(), 10 * most));
    for (int workers : {1, 3}) {
      for (int count : {2, 3}) {
        const std::optional<Words> all = words_of_all_shares(make(seed, workers).divisible, count);
        ++tried, shared += all.has_value();
        if (!all) continue;
        SCOPED_TRACE(concat(count, " pipelines with ", workers, " workers"));
        ASSERT_EQ(without(whole, *all), Words()) << "lost";
        ASSERT_EQ(without(*all, whole), Words()) << "too many";
      }
    }
  });
  expect_share("cases shared", shared, tried, 0.7);
}

}  // namespace
}  // namespace belfry::data
