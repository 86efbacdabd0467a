#include <zlib.h>

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "belfry/data/formats/arrays/npy.h"
#include "belfry/data/formats/arrays/npz.h"
#include "belfry/data/formats/arrays/zip_entry.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/out_of_memory.h"

namespace belfry::data {
namespace {

using namespace zip;
using ByteVector = std::vector<std::byte>;

void put(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out += value >> (8 * i) & 0xff;
}

/// The fields of an entry that its local header and the directory have in common.
std::string common_fields(const Entry& entry) {
  std::string out;
  put(out, 20, 2);  // the version that can read it
  put(out, entry.flags, 2);
  put(out, entry.method, 2);
  put(out, 0x00210000, 4);  // midnight of 1 January 1980: equal arrays give equal files
  put(out, entry.checksum, 4);
  put(out, entry.stored_bytes, 4);
  put(out, entry.bytes, 4);
  put(out, entry.name.size(), 2);
  put(out, 0, 2);  // no extra field
  return out;
}

std::string local_header(const Entry& entry) {
  std::string out;
  put(out, local_signature, 4);
  return out + common_fields(entry) + entry.name;
}

std::string directory_entry(const Entry& entry) {
  std::string out;
  put(out, central_signature, 4);
  put(out, 20, 2);  // the version that wrote it
  out += common_fields(entry);
  put(out, 0, 2);  // no comment
  put(out, 0, 8);  // disk 0, no attributes
  put(out, entry.offset, 4);
  return out + entry.name;
}

std::string end_record(std::size_t entries, std::size_t directory_bytes, std::uint64_t offset) {
  std::string out;
  put(out, end_signature, 4);
  put(out, 0, 4);  // disks
  put(out, entries, 2);
  put(out, entries, 2);
  put(out, directory_bytes, 4);
  put(out, offset, 4);
  put(out, 0, 2);  // no comment
  return out;
}

ByteVector deflate_raw(const ByteVector& in) {
  struct Stream : z_stream {
    ~Stream() { deflateEnd(this); }
  } stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY)
      != Z_OK)
    throw OutOfMemory("out of host memory: could not begin to compress");
  ByteVector out(deflateBound(&stream, in.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
  stream.avail_in = in.size();
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = out.size();
  int code = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ensure(code == Z_STREAM_END, "deflate gave ", code);
  return out;
}

/// The parts of a file, in their order; those that are not the arrays' own memory are kept here.
class Archive {
 public:
  void add(const std::string& name, const Array& array, bool compress) {
    require(array.defined(), "the array is undefined");
    require(name.size() + suffix.size() <= ones16, "the name has ", name.size(), " bytes");
    std::string head = npy_header(array.type());
    auto bytes = array.bytes() + head.size();
    constexpr std::uint64_t most = ones32 - (1u << 20);  // deflate may add a little
    require(bytes < most && offset_ < most, "the archive would reach 4 GiB");
    Entry entry{.name = name + std::string(suffix), .bytes = bytes, .offset = offset_};
    bool ascii = std::all_of(name.begin(), name.end(), [](char c) { return (c & 0x80) == 0; });
    entry.flags = ascii ? 0 : 0x800;  // UTF-8
    auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(head.data()), head.size());
    entry.checksum = crc32_z(crc, static_cast<const Bytef*>(array.raw()), array.raw_bytes().size());
    entry.method = compress ? 8 : 0;
    ByteVector deflated = compress ? deflate_raw(to_npy(array)) : ByteVector();
    entry.stored_bytes = compress ? deflated.size() : bytes;
    directory_ += directory_entry(entry);
    keep(local_header(entry));
    if (compress) {
      deflated_.push_back(std::move(deflated));
      append(deflated_.back());
    } else {
      keep(std::move(head));
      append(array.raw_bytes());
    }
    ++entries_;
  }

  void write(const std::string& path) {
    require(entries_ < ones16 && offset_ + directory_.size() < ones32, "cannot write `", path,
            "`: ", entries_, " arrays in ", offset_, " bytes are more than 65,534 or 4 GiB");
    std::string end = end_record(entries_, directory_.size(), offset_);
    keep(std::move(directory_));
    keep(std::move(end));
    write_file_atomically(path, parts_);
  }

 private:
  void keep(std::string text) {
    texts_.push_back(std::move(text));
    append(std::as_bytes(std::span(std::as_const(texts_.back()))));
  }
  void append(std::span<const std::byte> bytes) {
    parts_.push_back(bytes);
    offset_ += bytes.size();
  }

  std::vector<std::span<const std::byte>> parts_;
  std::deque<std::string> texts_;
  std::deque<ByteVector> deflated_;
  std::string directory_;
  std::uint64_t offset_ = 0;
  std::size_t entries_ = 0;
};

}  // namespace

void write_npz(const std::string& path, const Features& arrays, NpzOptions options) {
  Archive archive;
  for (const auto& [name, array] : arrays)
    with_context(concat("writing array `", name, "` to `", path, "`"),
                 [&, &name = name, &array = array] { archive.add(name, array, options.compress); });
  archive.write(path);
}

}  // namespace belfry::data
