#pragma once
// Common parts of the sources that read files of records. Internal to data/.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/data/dataset.h"

namespace belfry::data {

/// Where the next record of a file begins.
struct RecordPosition {
  std::int64_t offset = 0;  ///< in bytes
  std::int64_t number = 0;  ///< of the record or line, for messages
};

/// The records of one open file.
class RecordFile {
 public:
  virtual ~RecordFile() = default;
  /// Puts the next record into `out`, whose memory may be used again; false at the end. Error
  /// naming file and offset: the next call goes on after it, unless lost().
  virtual bool next(Features& out) = 0;
  /// Passes over the next record; false at the end. Error: as of next().
  virtual bool skip() = 0;
  /// After an Error: the rest of the file cannot be read.
  virtual bool lost() const = 0;
  virtual RecordPosition position() const = 0;
  /// Goes to a place saved before. Error: the file ends before it.
  virtual void seek(RecordPosition position) = 0;
};

using OpenRecordFile = std::function<std::unique_ptr<RecordFile>(const std::string& path)>;

/// The records of `paths`, one file after the other. A file that cannot be opened is one Error, and
/// so is the rest of one that cannot be read on. Error: no paths.
Dataset file_records(std::string name, std::vector<std::string> paths, OpenRecordFile open);

/// `elements`, which has random access and the i-th of which is made from the i-th of `paths`,
/// known as a source of files: elements name theirs, and ShardPolicy::file may be asked for.
Dataset one_file_each(const Dataset& elements, std::vector<std::string> paths);

/// One element {"line"} or {"record"} or ... of bytes, in memory that may be used again.
void put_bytes(std::string_view name, std::span<const std::byte> bytes, Features& out);

}  // namespace belfry::data
