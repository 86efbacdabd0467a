#pragma once
// Elements on disk: what cache and snapshot write.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "belfry/data/element.h"
#include "belfry/framework/base/file.h"

namespace belfry::data {

/// The bytes of an element: index and epoch, then name, type, shape and little-endian values of
/// each array.
void encode_element(const Element& element, std::vector<std::byte>& out);
/// Puts it into `out`, whose memory is used again. Error naming `where` unless the bytes are those
/// of one element.
void decode_element(std::span<const std::byte> bytes, Element& out, const std::string& where);

/// Writes a file of elements: TFRecords, one an element, then one with the offsets of all and a
/// fixed tail that points to it. The file appears whole at close() or not at all; until then it is
/// a hidden temporary, as of ByteWriter. Begins by removing those that killed writers of it left.
class ElementWriter {
 public:
  explicit ElementWriter(const std::string& path);
  ~ElementWriter();

  void write(const Element& element);
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Reads such a file in any order. Thread rules: any number of threads may read.
class ElementReader {
 public:
  /// Error naming the file and the offset: not such a file, or a damaged one.
  explicit ElementReader(const std::string& path);

  std::int64_t size() const { return std::ssize(offsets_); }
  /// Puts element `index` into `out`, whose memory is used again. Error: its checksum is wrong.
  void read(std::int64_t index, Element& out) const;

 private:
  RandomAccessFile file_;
  std::vector<std::int64_t> offsets_;
};

}  // namespace belfry::data
