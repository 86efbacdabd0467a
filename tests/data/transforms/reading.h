#pragma once
// Reading iterators and parts of pipelines in tests.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pipeline.h"

namespace belfry::data {

using Words = std::vector<std::string>;

/// A pass over `dataset`, without a stream around it.
inline IteratorPtr begin_pass(const Dataset& dataset, Pass pass = {}) {
  pass.scheduler = std::make_shared<Scheduler>(1);
  return dataset.iterate(std::move(pass));
}

/// An iterator as a stream that remembers how elements are named.
struct IteratorStream final : InputStream {
  explicit IteratorStream(IteratorPtr i) : iterator(std::move(i)) {}
  bool next(Features& batch) override {
    std::swap(element.features, batch);
    struct Back {
      IteratorStream& self;
      Features& batch;
      ~Back() { std::swap(self.element.features, batch); }
    } back{*this, batch};
    return iterator->next(element);
  }
  IteratorPtr iterator;
  Element element;
};

/// "index: value" of each element, also of those that fail.
inline Words named_words(IteratorStream& stream, int most = 1000) {
  Words out;
  Features batch;
  while (static_cast<int>(out.size()) < most) {
    std::string word = next_text(stream, batch);
    if (word == "end") break;
    out.push_back(concat(stream.element.index, ": ", word));
  }
  return out;
}

inline Words named_words(const Dataset& dataset, int most = 1000) {
  IteratorStream stream(begin_pass(dataset));
  return named_words(stream, most);
}

/// The words that pipeline `index` of `count` reads.
inline Words part(const Dataset& dataset, int count, int index) {
  return words(*dataset.open({.pipelines = count, .pipeline = index}));
}

/// Skips any number of elements, at the beginning and after the first one, and checks that the rest
/// follows.
inline void expect_skips(const Dataset& dataset) {
  const Words all = named_words(dataset);
  for (std::size_t read : {0u, 1u})
    for (std::size_t count = 0; read + count <= all.size() + 2; ++count) {
      IteratorStream stream(begin_pass(dataset));
      Words out = named_words(stream, static_cast<int>(read));
      std::size_t left = all.size() - out.size();
      ASSERT_EQ(stream.iterator->skip(static_cast<std::int64_t>(count)),
                static_cast<std::int64_t>(std::min(count, left)))
          << "after " << read;
      for (const std::string& word : named_words(stream)) out.push_back(word);
      Words expected(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() - left));
      expected.insert(expected.end(),
                      all.end() - static_cast<std::ptrdiff_t>(left - std::min(count, left)),
                      all.end());
      ASSERT_EQ(out, expected) << count << " skipped after " << read;
    }
}

/// expect_resumes() for pipelines with longer positions.
inline void expect_resumes_everywhere(const Dataset& dataset, int most = 80, int tail = 30) {
  const Words all = words(dataset, most + tail);
  InputStreamPtr stream = open(dataset);
  Features batch;
  for (int i = 0; i <= most && i <= static_cast<int>(all.size()) + 1; ++i) {
    std::string state = stream->save();
    InputStreamPtr resumed = open(dataset);
    resumed->restore(state);
    ASSERT_EQ(resumed->save(), state);
    auto begin = std::min<std::ptrdiff_t>(i, std::ssize(all));
    Words expected(all.begin() + begin,
                   all.begin() + std::min<std::ptrdiff_t>(begin + tail, std::ssize(all)));
    ASSERT_EQ(words(*resumed, tail), expected) << "after " << i << " at " << state;
    // A position saved while what waits is read again is as good.
    resumed = open(dataset);
    resumed->restore(state);
    next_text(*resumed, batch);
    std::string after = resumed->save();
    resumed = open(dataset);
    resumed->restore(after);
    if (!expected.empty()) expected.erase(expected.begin());
    ASSERT_EQ(words(*resumed, static_cast<int>(expected.size())), expected)
        << "after " << i << " + 1 at " << after;
    next_text(*stream, batch);
  }
}

}  // namespace belfry::data
