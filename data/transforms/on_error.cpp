#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>

#include "belfry/data/transforms/errors.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"

namespace belfry::data {
namespace {

class SkipErrors final : public Iterator {
 public:
  SkipErrors(IteratorPtr source, OnErrorOptions options)
      : source_(std::move(source)), options_(std::move(options)) {}

  bool next(Element& out) override {
    while (true) {
      out.index = unnamed;
      try {
        bool more = source_->next(out);
        seen_ += more;
        return more;
      } catch (Error& error) {
        if (leave_out(out, error.what())) continue;
        error.add_context(concat("on_error: ", errors_, " of ", seen_,
                                 " elements failed; allowed: ", options_.max_count,
                                 ", and from the 1000th on a fraction of ", options_.max_ratio));
        throw;
      } catch (const std::exception& error) {
        if (!leave_out(out, error.what())) throw;
      }
    }
  }

  void position(Position& at) override {
    at.field("on_error.seen", seen_);
    at.field("on_error.errors", errors_);
    source_->position(at);
  }

 private:
  bool over_budget() const {
    constexpr std::int64_t enough_for_a_ratio = 1000;
    return errors_ > options_.max_count
           || (seen_ >= enough_for_a_ratio && errors_ > options_.max_ratio * seen_);
  }

  // False if that would be too many.
  bool leave_out(Element& element, std::string message) {
    // Not all that fails has a name: then its place here has to do.
    if (element.index == unnamed) element.index = seen_;
    ++seen_;
    ++errors_;
    if (over_budget()) return false;
    log_warning("input: left out an element (", errors_, " of ", seen_, " so far): ", message);
    if (options_.quarantine.empty()) return true;
    std::replace_if(
        message.begin(), message.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
    std::ofstream file(options_.quarantine, std::ios::app);
    file << concat(element.epoch, "\t", element.index, "\t", message, "\n") << std::flush;
    require(file.good(), "on_error: cannot write the quarantine file ", options_.quarantine);
    return true;
  }

  static constexpr std::int64_t unnamed = -1;

  IteratorPtr source_;
  OnErrorOptions options_;
  std::int64_t seen_ = 0, errors_ = 0;
};

std::int64_t index_in(std::string_view line, const std::string& path, int number) {
  std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
  std::int64_t index = -1;
  bool good = second != std::string_view::npos;
  if (good) {
    const char* end = line.data() + second;
    auto parsed = std::from_chars(line.data() + first + 1, end, index);
    good = parsed.ec == std::errc() && parsed.ptr == end && index >= 0;
  }
  require(good, path, ": line ", number,
          " is no line of a quarantine file: expected an epoch, an "
          "index and a message with tabs between, got `",
          line, "`");
  return index;
}

}  // namespace

Transform on_error(OnErrorOptions options) {
  require(options.max_count >= 0, "on_error: max_count must be at least 0, got ",
          options.max_count);
  require(options.max_ratio >= 0, "on_error: max_ratio must be at least 0, got ",
          options.max_ratio);
  if (options.action == OnError::fail) return [](Dataset source) { return source; };
  if (!options.quarantine.empty()) {
    std::ofstream file(options.quarantine, std::ios::app);
    require(file.good(), "on_error: cannot write the quarantine file ", options.quarantine);
  }
  return wrap("on_error", [options = std::move(options)](IteratorPtr source, const Pass&) {
    return std::make_unique<SkipErrors>(std::move(source), options);
  });
}

std::vector<std::int64_t> read_quarantine(const std::string& path) {
  std::ifstream file(path);
  require(file.good(), path, ": cannot be read");
  std::set<std::int64_t> indices;
  int number = 0;
  for (std::string line; std::getline(file, line);) indices.insert(index_in(line, path, ++number));
  return {indices.begin(), indices.end()};
}

}  // namespace belfry::data
