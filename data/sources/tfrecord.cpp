#include "belfry/data/formats/tfrecord.h"

#include "belfry/data/sources/file_records.h"
#include "belfry/data/sources/files.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

class TfRecords final : public RecordFile {
 public:
  TfRecords(const std::string& path, Compression compression) : reader_(path, compression) {}

  bool next(Features& out) override {
    if (!reader_.next(record_)) return false;
    put_bytes("record", record_, out);
    return true;
  }
  bool skip() override { return reader_.skip(); }
  bool lost() const override { return reader_.position().offset == TfRecordPosition::lost; }

  RecordPosition position() const override {
    return {reader_.position().offset, reader_.position().record};
  }
  void seek(RecordPosition position) override { reader_.seek({position.offset, position.number}); }

 private:
  TfRecordReader reader_;
  std::vector<std::byte> record_;
};

template <class Spec, class Parse>
Transform parse_records(Spec spec, MapOptions options, Parse parse) {
  auto shared = std::make_shared<const Spec>(std::move(spec));
  return map([=](Features in) { return parse(in.at("record").raw_bytes(), *shared); }, options);
}

}  // namespace

Dataset tfrecord(std::vector<std::string> paths, RecordOptions options) {
  return file_records("tfrecord", std::move(paths), [=](const std::string& path) {
    return std::make_unique<TfRecords>(path, options.compression);
  });
}

Transform parse_examples(ExampleSpec spec, MapOptions options) {
  return parse_records(std::move(spec), options, parse_example);
}

Transform parse_sequence_examples(SequenceExampleSpec spec, MapOptions options) {
  return parse_records(std::move(spec), options, parse_sequence_example);
}

}  // namespace belfry::data
