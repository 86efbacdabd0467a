#pragma once
// Reading whole pipelines in tests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "../framework/base/error_of.h"
#include "belfry/data/data.h"

namespace belfry::data {

using Values = std::vector<std::int64_t>;

/// A fresh stream.
inline InputStreamPtr open(const Dataset& dataset) { return dataset; }

/// The elements of `name` in the next batch as text, "end", or "error: ...".
inline std::string next_text(InputStream& stream, Features& batch, const char* name = "value") {
  try {
    if (!stream.next(batch)) return "end";
    std::string out;
    const Array& array = batch.at(name);
    for (std::int64_t i = 0; i < array.elements(); ++i)
      out += (i ? "," : "") + text(static_cast<std::int64_t>(array.at(i)));
    return out;
  } catch (const Error& error) {
    return std::string("error: ") + error.what();
  }
}

/// One word a call of next(), up to the end or `most`: "0", or "0,1" for a batch.
inline std::vector<std::string> words(InputStream& stream, int most = 1000,
                                      const char* name = "value") {
  std::vector<std::string> out;
  Features batch;
  while (static_cast<int>(out.size()) < most) {
    std::string word = next_text(stream, batch, name);
    if (word == "end") break;
    out.push_back(word);
  }
  return out;
}

inline std::vector<std::string> words(const Dataset& dataset, int most = 1000,
                                      const char* name = "value") {
  return words(*open(dataset), most, name);
}

/// The values of unbatched i64 elements, up to the end or `most`.
inline Values values(InputStream& stream, std::int64_t most = 100'000) {
  Values out;
  Features element;
  while (static_cast<std::int64_t>(out.size()) < most && stream.next(element))
    out.push_back(element.at("value").span<std::int64_t>()[0]);
  return out;
}

inline Values values(const Dataset& dataset, std::int64_t most = 100'000) {
  return values(*open(dataset), most);
}

inline Values counting(std::int64_t from, std::int64_t to) {
  Values out(static_cast<std::size_t>(to - from));
  std::iota(out.begin(), out.end(), from);
  return out;
}

inline Values sorted(Values v) {
  std::sort(v.begin(), v.end());
  return v;
}

/// 0 .. count - 1 without random access.
inline Dataset streamed(std::int64_t count) {
  return generator([=, i = std::int64_t{0}]() mutable -> std::optional<Features> {
    if (i == count) return std::nullopt;
    return Features{{"value", Array::scalar(i++)}};
  });
}

/// Fails at the elements whose value is one of `bad`.
inline Transform failing_at(Values bad, int workers = 1) {
  return map(
      [=](Features in) {
        std::int64_t value = in.at("value").span<std::int64_t>()[0];
        require(std::find(bad.begin(), bad.end(), value) == bad.end(), "bad value ", value);
        return in;
      },
      {.workers = workers});
}

/// Saves at every position of a stream, up to `most` and also after its end, and checks that a
/// fresh one of `other`, the same pipeline with another number of workers, goes on with the same
/// words when restored there, and saves the same text.
inline void expect_resumes_in(const Dataset& dataset, const Dataset& other, int most = 60,
                              int tail = 25, const char* name = "value") {
  InputStreamPtr reference = open(dataset);
  std::vector<std::string> all = words(*reference, most + tail, name);
  InputStreamPtr stream = open(dataset);
  Features batch;
  for (int i = 0; i <= most && i <= static_cast<int>(all.size()) + 1; ++i) {
    std::string state = stream->save();
    ASSERT_LT(state.size(), 1000u) << state;
    InputStreamPtr resumed = open(other);
    resumed->restore(state);
    ASSERT_EQ(resumed->save(), state);
    std::vector<std::string> expected(
        all.begin() + std::min<std::ptrdiff_t>(i, std::ssize(all)),
        all.begin() + std::min<std::ptrdiff_t>(i + tail, std::ssize(all)));
    ASSERT_EQ(words(*resumed, tail, name), expected) << "after " << i << " at " << state;
    std::string word = next_text(*stream, batch, name);
    ASSERT_EQ(word, i < static_cast<int>(all.size()) ? all[static_cast<std::size_t>(i)] : "end");
  }
}

/// The same within one pipeline.
inline void expect_resumes(const Dataset& dataset, int most = 60, int tail = 25,
                           const char* name = "value") {
  expect_resumes_in(dataset, dataset, most, tail, name);
}

/// The words that pipeline `i` of `n` yields.
inline std::vector<std::string> words_of_shard(const Dataset& dataset, int n, int i) {
  return words(*dataset.open({.pipelines = n, .pipeline = i}));
}

}  // namespace belfry::data
