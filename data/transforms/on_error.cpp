#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "belfry/data/transforms/errors.h"
#include "belfry/framework/base/descriptor.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/base/out_of_memory.h"

namespace belfry::data {
namespace {

// Removes the last `bytes` bytes if it can, unless another writer has added more.
void take_back(const Descriptor& file, std::int64_t end, std::int64_t bytes) {
  struct stat now {};
  if (bytes > 0 && ::fstat(file.get(), &now) == 0 && now.st_size == end)
    retry([&] { return ::ftruncate(file.get(), end - bytes); });
}

// Adds a line, or nothing: only where close() fails may the line be there, too. Returns 0, or the
// system's error.
int write_line(Descriptor& file, std::string line) {
  struct stat before {};
  if (::fstat(file.get(), &before) != 0) return errno;
  // Where the file ends within a line (its writer was killed, say), the two would be read as one.
  char last = '\n';
  auto read_last = [&] { return ::pread(file.get(), &last, 1, before.st_size - 1); };
  if (before.st_size > 0 && retry(read_last) < 0) return errno;
  if (last != '\n') line.insert(0, "\n");
  std::int64_t written = 0;
  while (written < std::ssize(line)) {
    auto rest = std::string_view(line).substr(static_cast<std::size_t>(written));
    auto more = retry([&] { return ::write(file.get(), rest.data(), rest.size()); });
    if (more < 0) {
      int error = errno;
      take_back(file, before.st_size + written, written);
      return error;
    }
    written += more;
  }
  return file.close();
}

// Without a line, only tries whether there could be one.
void add_line(const std::string& path, const std::string& line) {
  constexpr int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC;
  Descriptor file(retry([&] { return ::open(path.c_str(), flags, 0666); }));
  int error = !file ? errno : line.empty() ? 0 : write_line(file, line);
  require(error == 0, "on_error: cannot write the quarantine file ", path, ": ",
          reason_and_remedy(error));
}

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
        if (is_shortage()) throw;  // nothing against the element
        if (leave_out(out, error.what())) continue;
        error.add_context(concat("on_error: ", errors_, " of ", seen_,
                                 " elements failed; allowed: ", options_.max_count,
                                 ", and from the 1000th on a fraction of ", options_.max_ratio));
        throw;
      } catch (const std::exception& error) {
        if (is_shortage()) throw;
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
    add_line(options_.quarantine, concat(element.epoch, "\t", element.index, "\t", message, "\n"));
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
  if (!options.quarantine.empty()) add_line(options.quarantine, {});
  return wrap("on_error", [options = std::move(options)](IteratorPtr source, const Pass&) {
    return std::make_unique<SkipErrors>(std::move(source), options);
  });
}

std::vector<std::int64_t> read_quarantine(const std::string& path) {
  const std::string content = read_file(path);
  std::set<std::int64_t> indices;
  int number = 0;
  for (std::string_view rest = content; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    indices.insert(index_in(line, path, ++number));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return {indices.begin(), indices.end()};
}

}  // namespace belfry::data
