#include <algorithm>

#include "belfry/data/sources/file_records.h"
#include "belfry/data/sources/files.h"
#include "belfry/data/sources/text_buffer.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

constexpr std::size_t longest_line = std::size_t{64} << 20;

class Lines final : public RecordFile {
 public:
  Lines(const std::string& path, Compression compression) : text_(path, compression) {}

  bool next(Features& out) override {
    std::string_view line;
    if (!read_record(line)) return false;
    put_bytes("line", std::as_bytes(std::span(line)), out);
    return true;
  }
  bool skip() override {
    std::string_view line;
    return read_record(line);
  }
  bool lost() const override { return too_long_ || text_.damaged(); }

  RecordPosition position() const override { return position_; }
  void seek(RecordPosition position) override {
    text_.seek(position.offset);
    position_ = position;
  }

 private:
  bool read_record(std::string_view& line) {
    std::size_t end = 0;
    for (std::size_t searched = 0;; searched = line.size()) {
      line = text_.from(position_.offset);
      end = line.find('\n', searched);
      if (end != std::string_view::npos || line.size() > longest_line || text_.at_end()) break;
      text_.read_more();
    }
    if (line.empty()) return false;
    std::size_t length = std::min(end, line.size());
    too_long_ = length > longest_line;
    require(!too_long_, text_.path(), ": the line at byte ", position_.offset, " is longer than ",
            longest_line, " bytes; is this a text file?");
    bool ended = length < line.size();
    position_.offset += (length + ended);
    ++position_.number;
    line = line.substr(0, length);
    if (ended && line.ends_with('\r')) line.remove_suffix(1);
    return true;
  }

  TextBuffer text_;
  RecordPosition position_;
  bool too_long_ = false;
};

}  // namespace

Dataset text_lines(std::vector<std::string> paths, RecordOptions options) {
  return file_records("text_lines", std::move(paths), [=](const std::string& path) {
    return std::make_unique<Lines>(path, options.compression);
  });
}

}  // namespace belfry::data
