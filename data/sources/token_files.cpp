#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>

#include "belfry/data/sources/sources.h"
#include "belfry/data/sources/tokens.h"
#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/mutex.h"

namespace belfry::data {
namespace {

std::int64_t bytes_of(StoredToken stored) { return stored == StoredToken::u16 ? 2 : 4; }

// The number of rows in a file. Error naming it.
std::int64_t rows_in(const RandomAccessFile& file, const TokenFilesOptions& o) {
  std::int64_t unit = bytes_of(o.stored), header = o.header_bytes, bytes = file.size() - header;
  require(bytes >= 0, file.path(), ": ends at byte ", file.size(), ", inside its header of ",
          header, " bytes");
  require(bytes % unit == 0, file.path(), ": ends at byte ", file.size(), ", inside the ", o.stored,
          " token that begins at byte ", header + bytes / unit * unit,
          "; is that how the tokens are stored?");
  std::int64_t tokens = bytes / unit;
  require(tokens > o.length, file.path(), ": ends at byte ", file.size(), ", behind ", tokens,
          " tokens; a row of ", o.length, " and the label behind it need ", o.length, " + 1");
  return (tokens - o.length - 1) / o.stride + 1;
}

// Files with their rows; the rows have numbers through all of them. Thread rules: read() may be
// called from any number of threads.
class TokenRows {
 public:
  TokenRows(std::vector<std::string> paths, TokenFilesOptions options)
      : paths_(std::move(paths)), options_(std::move(options)), open_(paths_.size()) {
    signature_ = {{options_.token, {Shape{options_.length}, DType::i32}},
                  {options_.label, {Shape{options_.length}, DType::i32}}};
    for (const std::string& path : paths_) {
      std::int64_t rows = rows_in(RandomAccessFile(path), options_);
      std::string name = std::filesystem::path(path).filename().string();
      // With its zero; folders do not count: data may be moved.
      checksum_ = crc32c(std::as_bytes(std::span(name.c_str(), name.size() + 1)), checksum_);
      checksum_ = crc32c(std::as_bytes(std::span(&rows, 1)), checksum_);
      ends_.push_back(count() + rows);
    }
  }

  std::int64_t count() const { return ends_.empty() ? 0 : ends_.back(); }
  const TokenFilesOptions& options() const { return options_; }
  std::int64_t checksum() const { return checksum_; }

  struct Place {
    const std::string* path;
    std::size_t file;
    std::int64_t offset;  // of the row, in bytes
  };
  Place place_of(std::int64_t row) const {
    std::size_t file = std::upper_bound(ends_.begin(), ends_.end(), row) - ends_.begin();
    std::int64_t in_file = row - (file > 0 ? ends_[file - 1] : 0);
    return {&paths_[file], file,
            options_.header_bytes + in_file * options_.stride * bytes_of(options_.stored)};
  }

  void read(std::int64_t row, Features& out) {
    Place place = place_of(row);
    std::shared_ptr<const RandomAccessFile> file = open(place.file);
    prepare(out, signature_);
    auto tokens = out.begin()->second.span<std::int32_t>();
    auto labels = (out.begin() + 1)->second.span<std::int32_t>();
    std::array<std::byte, 8'192> buffer;  // of the stack, so that any number of threads may read
    std::array<std::int32_t, sizeof buffer / 2> part;
    std::size_t unit = bytes_of(options_.stored), most = buffer.size() / unit;
    for (std::size_t from = 0; from <= tokens.size();) {
      std::size_t count = std::min(most, tokens.size() + 1 - from);
      std::int64_t offset = place.offset + from * unit;
      file->read(offset, std::span(buffer).first(count * unit));
      decode(*file, offset, buffer.data(), std::span(part).first(count));
      std::size_t first = from == 0;  // no label is the first token
      std::copy_n(part.begin(), std::min(count, tokens.size() - from), tokens.begin() + from);
      std::copy_n(part.begin() + first, count - first, labels.begin() + from + first - 1);
      from += count;
    }
  }

 private:
  void decode(const RandomAccessFile& file, std::int64_t offset, const std::byte* bytes,
              std::span<std::int32_t> tokens) const {
    if (options_.stored == StoredToken::u16) {
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        std::uint16_t token = 0;
        std::memcpy(&token, bytes + i * sizeof token, sizeof token);
        tokens[i] = token;
      }
      return;
    }
    std::memcpy(tokens.data(), bytes, tokens.size_bytes());
    if (options_.stored == StoredToken::i32) return;
    for (std::size_t i = 0; i < tokens.size(); ++i)
      require(tokens[i] >= 0, file.path(), ": the token at byte ", offset + i * sizeof tokens[i],
              " is ", static_cast<std::uint32_t>(tokens[i]), ", expected at most ",
              std::numeric_limits<std::int32_t>::max(), "; is the file one of u32?");
  }

  // The oldest of those open makes room; whoever reads it holds it until that is done.
  std::shared_ptr<const RandomAccessFile> open(std::size_t number) BELFRY_EXCLUDES(mutex_) {
    constexpr std::size_t most = 64;
    MutexLock lock(mutex_);
    if (!open_[number]) {
      auto file = std::make_shared<const RandomAccessFile>(paths_[number]);
      if (order_.size() < most) {
        order_.push_back(number);
      } else {
        open_[std::exchange(order_[oldest_], number)] = nullptr;
        oldest_ = (oldest_ + 1) % most;
      }
      open_[number] = std::move(file);
    }
    return open_[number];
  }

  std::vector<std::string> paths_;
  TokenFilesOptions options_;
  Signature signature_;
  std::vector<std::int64_t> ends_;  // by file, the number behind its last row
  std::uint32_t checksum_ = 0;

  Mutex mutex_;
  std::vector<std::shared_ptr<const RandomAccessFile>> open_ BELFRY_GUARDED_BY(mutex_);  // by file
  std::vector<std::size_t> order_ BELFRY_GUARDED_BY(mutex_);  // of those open, a ring
  std::size_t oldest_ BELFRY_GUARDED_BY(mutex_) = 0;
};

// Says of each row where it is from, and that a position belongs to these files.
class NamedRows final : public Iterator {
 public:
  NamedRows(IteratorPtr source, std::shared_ptr<const TokenRows> rows)
      : source_(std::move(source)), rows_(std::move(rows)) {}

  bool next(Element& out) override {
    if (!source_->next(out)) return false;
    TokenRows::Place place = rows_->place_of(out.index);
    out.file = {rows_, place.path};
    out.offset = place.offset;
    return true;
  }
  std::int64_t skip(std::int64_t count) override { return source_->skip(count); }
  void position(Position& at) override {
    at.constant("tokens.files", rows_->checksum());
    at.constant("tokens.length", rows_->options().length);
    at.constant("tokens.stride", rows_->options().stride);
    source_->position(at);
  }

 private:
  IteratorPtr source_;
  std::shared_ptr<const TokenRows> rows_;
};

TokenFilesOptions checked(TokenFilesOptions o) {
  // A token takes 2 or 4 bytes, and offsets are to fit.
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  require(o.length >= 1 && o.length <= most, "token_files: a row has 1 to 2^31 - 1 tokens, got ",
          o.length);
  require(o.stride >= 0, "token_files: stride must be at least 1, or 0 for the length, got ",
          o.stride);
  require(o.header_bytes >= 0, "token_files: a header has at least 0 bytes, got ", o.header_bytes);
  require(!o.token.empty() && !o.label.empty() && o.token != o.label,
          "token_files: tokens and labels need names, and different ones; got `", o.token,
          "` and `", o.label, "`");
  if (o.stride == 0) o.stride = o.length;
  return o;
}

}  // namespace

Dataset token_files(std::vector<std::string> paths, TokenFilesOptions options) {
  options = checked(std::move(options));
  require(!paths.empty(), "token_files: there are no files");
  auto rows = std::make_shared<TokenRows>(std::move(paths), std::move(options));
  auto read = [rows](std::int64_t row, Features& out) { rows->read(row, out); };
  Dataset numbered = indexed(rows->count(), read, "token_files");
  auto make = [=](Pass pass) {
    pass.profile = nullptr;  // which counts the dataset around it
    return std::make_unique<NamedRows>(numbered.iterate(pass), rows);
  };
  return Dataset(numbered.name(), make, numbered.info());
}

MakeDataset read_token_file(TokenFilesOptions options) {
  options = checked(std::move(options));
  return [=](const Features& file) {
    return token_files(std::vector<std::string>{text_of(file.at("path"))}, options);
  };
}

}  // namespace belfry::data
