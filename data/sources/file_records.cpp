#include "belfry/data/sources/file_records.h"

#include <cstring>
#include <filesystem>

#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

class FileRecords final : public Iterator {
 public:
  FileRecords(std::vector<std::string> paths, OpenRecordFile open, const Pass& pass)
      : paths_(std::make_shared<const std::vector<std::string>>(std::move(paths))),
        open_(std::move(open)),
        epoch_(pass.epoch),
        stop_(pass.stop) {}

  bool next(Element& out) override {
    out.index = taken_;
    out.epoch = epoch_;
    out.file = nullptr;
    auto read = [&](RecordFile& file) {
      std::int64_t offset = file.position().offset;
      if (!file.next(out.features)) return false;
      out.file = std::shared_ptr<const std::string>(paths_, &path());
      out.offset = offset;
      return true;
    };
    return for_element("files", out, [&] { return read_one(read); });
  }

  std::int64_t skip(std::int64_t count) override {
    auto pass_over = [&] { return read_one([](RecordFile& file) { return file.skip(); }); };
    std::int64_t skipped = 0;
    while (skipped < count && unasked(pass_over)) ++skipped;
    return skipped;
  }

  void position(Position& at) override {
    RecordPosition position = file_ ? file_->position() : RecordPosition{};
    at.constant("files.count", std::ssize(*paths_));
    at.constant("files.names", names());
    at.field("files.current", current_, 0, std::ssize(*paths_));
    at.field("files.offset", position.offset);
    at.field("files.record", position.number);
    at.field("files.taken", taken_);
    if (at.saving() || position.offset == 0 || current_ == std::ssize(*paths_)) return;
    open_file();
    file_->seek(position);
  }

 private:
  // A checksum of the files' names, so that a position is not restored into other files. Folders do
  // not count: data may be moved.
  std::int64_t names() {
    if (names_ < 0) {
      std::uint32_t crc = 0;
      for (const std::string& path : *paths_) {
        std::string name = std::filesystem::path(path).filename().string();
        crc =
            crc32c(std::as_bytes(std::span(name.c_str(), name.size() + 1)), crc);  // with its zero
      }
      names_ = crc;
    }
    return names_;
  }

  // Hands the file with the next record to `read_next`. False behind the last record; one that
  // fails counts as taken, and so does a file that cannot be opened.
  template <class ReadNext>
  bool read_one(ReadNext read_next) {
    for (; current_ < std::ssize(*paths_) && !stop_.stop_requested(); leave_file()) {
      try {
        if (!file_) open_file();
        if (!read_of_file(read_next)) continue;
      } catch (...) {
        failed();
        throw;
      }
      ++taken_;
      return true;
    }
    return false;
  }

  // Returns what `read_next` does; an Error behind which nothing more can be read says so.
  template <class ReadNext>
  bool read_of_file(ReadNext read_next) {
    try {
      return read_next(*file_);
    } catch (Error& error) {
      if (file_->lost()) error.add_context("the rest of the file is left out");
      throw;
    }
  }

  void failed() {
    if (!file_ || file_->lost()) leave_file();
    ++taken_;
  }

  const std::string& path() const { return (*paths_)[current_]; }
  void open_file() { file_ = open_(path()); }

  void leave_file() {
    file_.reset();
    ++current_;
  }

  std::shared_ptr<const std::vector<std::string>> paths_;
  OpenRecordFile open_;
  std::uint64_t epoch_;
  std::stop_token stop_;
  std::int64_t current_ = 0, taken_ = 0;
  std::int64_t names_ = -1;           // not computed yet
  std::unique_ptr<RecordFile> file_;  // the current one, once a record of it has been asked for
};

}  // namespace

Dataset file_records(std::string name, std::vector<std::string> paths, OpenRecordFile open) {
  require(!paths.empty(), name, ": there are no files");
  auto make = [=](const Pass& pass) {
    std::vector<std::string> mine;  // all, unless pipelines share them by file
    for (std::size_t i = pass.shard.index; i < paths.size(); i += pass.shard.count)
      mine.push_back(paths[i]);
    return std::make_unique<FileRecords>(std::move(mine), open, pass);
  };
  return Dataset(std::move(name), make, {.files = paths});
}

void put_bytes(std::string_view name, std::span<const std::byte> bytes, Features& out) {
  prepare(out, {{std::string(name), {Shape{std::ssize(bytes)}, DType::u8}}});
  if (!bytes.empty()) std::memcpy(out.begin()->second.raw(), bytes.data(), bytes.size());
}

}  // namespace belfry::data
