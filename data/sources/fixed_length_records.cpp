#include <algorithm>

#include "belfry/data/sources/file_records.h"
#include "belfry/data/sources/files.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

class FixedLength final : public RecordFile {
 public:
  FixedLength(const std::string& path, std::int64_t bytes, const FixedLengthOptions& options)
      : file_(path, options.compression), bytes_(bytes), footer_(options.footer_bytes) {
    position_.offset = file_.skip(options.header_bytes);
    require(position_.offset == options.header_bytes, path, ": ends at byte ", position_.offset,
            ", inside its header of ", options.header_bytes, " bytes");
  }

  // A record and the footer's bytes behind it are read together, to know whether it is one.
  bool next(Features& out) override {
    if (!read_record()) return false;
    put_bytes("record", std::span(window_).first(bytes_), out);
    return true;
  }
  bool skip() override { return read_record(); }

  bool lost() const override { return lost_; }

  RecordPosition position() const override { return position_; }
  void seek(RecordPosition position) override {
    file_.seek(position.offset);
    position_ = position;
    ahead_ = 0;
  }

 private:
  bool read_record() {
    std::size_t record = bytes_, footer = footer_;
    window_.resize(record + footer);
    // The bytes behind the last record are the beginning of this one.
    auto behind = window_.begin() + bytes_;
    std::copy(behind, behind + ahead_, window_.begin());
    lost_ = true;  // unless all goes well
    std::size_t have = ahead_ + file_.read(std::span(window_).subspan(ahead_));
    if (have == footer) return false;
    require(have == window_.size(), file_.path(), ": ", have, " bytes are left at byte ",
            position_.offset, ", expected a record of ", bytes_, " and a footer of ", footer_);
    lost_ = false;
    ahead_ = footer;
    position_.offset += bytes_;
    ++position_.number;
    return true;
  }

  ByteReader file_;
  std::int64_t bytes_, footer_;
  RecordPosition position_;
  std::vector<std::byte> window_;
  std::size_t ahead_ = 0;  // bytes of the window behind its record that have been read
  bool lost_ = false;
};

}  // namespace

Dataset fixed_length_records(std::vector<std::string> paths, std::int64_t record_bytes,
                             FixedLengthOptions options) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  require(record_bytes >= 1 && record_bytes <= most,
          "fixed_length_records: a record has 1 to 2^31 bytes, got ", record_bytes);
  require(options.header_bytes >= 0 && options.footer_bytes >= 0 && options.footer_bytes <= most,
          "fixed_length_records: a header has at least 0 bytes and a footer 0 to 2^31, got ",
          options.header_bytes, " and ", options.footer_bytes);
  return file_records("fixed_length_records", std::move(paths), [=](const std::string& path) {
    return std::make_unique<FixedLength>(path, record_bytes, options);
  });
}

}  // namespace belfry::data
