#include "belfry/data/formats/csv.h"

#include "belfry/data/sources/file_records.h"
#include "belfry/data/sources/files.h"
#include "belfry/data/sources/text_buffer.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/out_of_memory.h"

namespace belfry::data {
namespace {

class CsvFile final : public RecordFile {
 public:
  // Reads the header here, so that a file with a wrong one counts as a file that cannot be opened.
  CsvFile(const std::string& path, const std::vector<CsvColumn>& columns,
          const CsvFilesOptions& options)
      : text_(path, options.compression),
        reader_(columns, options.csv, path),
        header_(options.csv.header) {
    read([&](auto& text, bool at_end) { return reader_.read_header(text, at_end); });
  }

  bool next(Features& out) override {
    return read([&](auto& text, bool at_end) { return reader_.next(text, at_end, out); });
  }
  bool skip() override {
    return read([&](auto& text, bool at_end) { return reader_.skip(text, at_end); });
  }
  bool lost() const override { return text_.damaged(); }

  RecordPosition position() const override {
    return {reader_.position().offset, reader_.position().line};
  }
  void seek(RecordPosition position) override {
    if (!header_) count_fields(position.offset);
    text_.seek(position.offset);
    reader_.seek({position.offset, position.number});
  }

 private:
  template <class Read>
  bool read(Read read_some) {
    while (true) {
      std::string_view text = text_.from(reader_.position().offset);
      if (read_some(text, text_.at_end())) return true;
      if (text_.at_end()) return false;
      text_.read_more();
    }
  }

  // How many fields records have is what the first one says; `end` is where to look no further.
  void count_fields(std::int64_t end) {
    while (reader_.position().offset < end) {
      try {
        skip();
        return;
      } catch (const Error&) {  // it was reported when it was first read
        if (lost() || is_shortage()) throw;
      }
    }
  }

  TextBuffer text_;
  CsvReader reader_;
  bool header_;
};

}  // namespace

Dataset csv(std::vector<std::string> paths, std::vector<CsvColumn> columns,
            CsvFilesOptions options) {
  CsvReader(columns, options.csv);  // says now what is wrong with them
  return file_records("csv", std::move(paths), [=](const std::string& path) {
    return std::make_unique<CsvFile>(path, columns, options);
  });
}

}  // namespace belfry::data
