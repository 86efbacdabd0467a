#include "belfry/data/formats/arrays/npz.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "belfry/data/formats/arrays/npy.h"
#include "belfry/data/formats/arrays/zip_entry.h"
#include "belfry/data/formats/byte_reader.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/out_of_memory.h"

namespace belfry::data {
namespace {

using ByteVector = std::vector<std::byte>;

using namespace zip;

constexpr std::uint64_t local_bytes = 30, end_bytes = 22, end64_bytes = 56, locator64_bytes = 20;
constexpr std::size_t max_arrays = 65'536;  // Features look names up one by one

/// Little-endian numbers, one after the other.
class Fields {
 public:
  Fields(std::span<const std::byte> bytes, const std::string& path) : rest_(bytes), path_(path) {}

  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    auto taken = next_bytes(bytes);
    for (std::size_t i = bytes; i-- > 0;)
      value = value << 8 | std::to_integer<std::uint64_t>(taken[i]);
    return value;
  }
  std::uint32_t u16() { return number(2); }
  std::uint32_t u32() { return number(4); }
  std::uint64_t u64() { return number(8); }
  std::span<const std::byte> next_bytes(std::size_t count) {
    require(count <= rest_.size(), path_, ": the directory of the archive is damaged: ", count,
            " bytes expected where ", rest_.size(), " are left");
    auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  std::size_t left() const { return rest_.size(); }

 private:
  std::span<const std::byte> rest_;
  const std::string& path_;
};

ByteVector read_at(ByteReader& file, std::uint64_t offset, std::uint64_t count,
                   std::string_view what) {
  std::uint64_t size = *file.size();
  require(offset <= size && count <= size - offset, file.path(), ": ", what, " has ", count,
          " bytes at byte ", offset, ", but the file ends at byte ", size);
  file.seek(offset);
  ByteVector bytes(count);
  file.read(bytes);
  return bytes;
}

struct Directory {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
};

/// The directory as the end record of a large archive gives it. `end` is the offset of the other
/// end record.
Directory find_directory64(ByteReader& file, std::uint64_t end) {
  require(end >= locator64_bytes, file.path(), ": no ZIP64 locator before byte ", end);
  ByteVector locator_bytes =
      read_at(file, end - locator64_bytes, locator64_bytes, "the ZIP64 locator");
  Fields locator(locator_bytes, file.path());
  require(locator.u32() == locator64_signature, file.path(), ": no ZIP64 locator at byte ",
          end - locator64_bytes);
  locator.u32();
  std::uint64_t at = locator.u64();
  ByteVector record_bytes = read_at(file, at, end64_bytes, "the ZIP64 end record");
  Fields record(record_bytes, file.path());
  require(record.u32() == end64_signature, file.path(), ": no ZIP64 end record at byte ", at);
  record.next_bytes(28);  // sizes, versions, disks, entries on this disk
  Directory out;
  out.entries = record.u64();
  out.bytes = record.u64();
  out.offset = record.u64();
  return out;
}

Directory find_directory(ByteReader& file) {
  // The end record ends in a comment of up to 65,535 bytes.
  std::uint64_t size = *file.size();
  std::uint64_t tail_bytes = std::min<std::uint64_t>(size, end_bytes + ones16);
  ByteVector tail = read_at(file, size - tail_bytes, tail_bytes, "the end of the archive");
  for (std::size_t back = end_bytes; back <= tail.size(); ++back) {
    Fields record(std::span<const std::byte>(tail).last(back), file.path());
    if (record.u32() != end_signature) continue;
    std::uint32_t disk = record.u16(), directory_disk = record.u16();
    record.u16();  // entries on this disk
    Directory out;
    out.entries = record.u16();
    out.bytes = record.u32();
    out.offset = record.u32();
    if (record.u16() != back - end_bytes) continue;
    if (out.entries == ones16 || out.bytes == ones32 || out.offset == ones32)
      return find_directory64(file, size - back);
    require(disk == 0 && directory_disk == 0, file.path(), ": a part of a divided archive");
    return out;
  }
  fail(file.path(), ": not a ZIP archive, or truncated: it has no end record");
}

/// Replaces what does not fit 32 bits, in the order in which the field holds it.
void read_extra(Entry& entry, Fields extra, const std::string& path) {
  while (extra.left() >= 4) {
    std::uint32_t id = extra.u16(), size = extra.u16();
    Fields content(extra.next_bytes(size), path);
    if (id != 1) continue;
    for (std::uint64_t* value : {&entry.bytes, &entry.stored_bytes, &entry.offset})
      if (*value == ones32) *value = content.u64();
  }
}

std::vector<Entry> read_directory(ByteReader& file) {
  Directory directory = find_directory(file);
  require(directory.entries <= max_arrays, file.path(), ": the archive has ", directory.entries,
          " entries, expected at most ", max_arrays);
  ByteVector bytes = read_at(file, directory.offset, directory.bytes, "the directory");
  Fields fields(bytes, file.path());
  std::vector<Entry> entries;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    require(fields.u32() == central_signature, file.path(), ": the directory at byte ",
            directory.offset, " is damaged: no signature before entry ", i);
    Entry entry;
    fields.next_bytes(4);  // versions
    entry.flags = fields.u16();
    entry.method = fields.u16();
    fields.next_bytes(4);  // time and date
    entry.checksum = fields.u32();
    entry.stored_bytes = fields.u32();
    entry.bytes = fields.u32();
    std::uint32_t name_bytes = fields.u16(), extra_bytes = fields.u16(), comment = fields.u16();
    fields.next_bytes(8);  // disk, attributes
    entry.offset = fields.u32();
    auto name = fields.next_bytes(name_bytes);
    entry.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
    read_extra(entry, Fields(fields.next_bytes(extra_bytes), file.path()), file.path());
    fields.next_bytes(comment);
    entries.push_back(std::move(entry));
  }
  return entries;
}

/// Inflates `in`, which must give exactly `size` bytes.
ByteVector inflate_raw(std::span<const std::byte> in, std::uint64_t size) {
  // Deflate cannot do better than 258 bytes in two bits.
  require(size / 1032 <= in.size(), "it says that ", in.size(), " bytes inflate to ", size,
          ": more than deflate can");
  constexpr std::size_t chunk = std::size_t{1} << 22;
  ByteVector out;  // grows with what there is
  std::size_t have = 0;
  struct Stream : z_stream {
    ~Stream() { inflateEnd(this); }
  } stream{};
  int code = inflateInit2(&stream, -MAX_WBITS);
  while (code == Z_OK) {
    constexpr std::size_t most = std::numeric_limits<uInt>::max();
    if (have == out.size()) out.resize(std::min<std::uint64_t>(size, have + chunk));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    stream.avail_in = std::min(in.size(), most);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + have);
    stream.avail_out = out.size() - have;
    const uInt before_in = stream.avail_in, before_out = stream.avail_out;
    code = inflate(&stream, Z_NO_FLUSH);
    in = in.subspan(before_in - stream.avail_in);
    have += before_out - stream.avail_out;
  }
  if (code == Z_MEM_ERROR) throw OutOfMemory("out of host memory while inflating it");
  require(code == Z_STREAM_END && in.empty() && have == size, "its compressed data are damaged");
  return out;
}

/// The entry's bytes.
ByteVector read_entry(ByteReader& file, const Entry& entry) {
  require(entry.name.ends_with(suffix), "its name does not end in ", suffix,
          "; to leave it out, name the arrays to read");
  require((entry.flags & 1) == 0, "it is encrypted");
  require(entry.method == 0 || entry.method == 8, "its compression is method ", entry.method,
          ", expected 0 (stored) or 8 (deflated)");
  ByteVector header_bytes = read_at(file, entry.offset, local_bytes, "its header");
  Fields header(header_bytes, file.path());
  require(header.u32() == local_signature, "no local header at byte ", entry.offset);
  header.next_bytes(22);  // the same as in the directory, or zeros
  std::uint32_t name_bytes = header.u16(), extra_bytes = header.u16();
  std::uint64_t begin = entry.offset + local_bytes + name_bytes + extra_bytes;
  ByteVector content = read_at(file, begin, entry.stored_bytes, "its content");
  if (entry.method == 8) content = inflate_raw(content, entry.bytes);
  require(content.size() == entry.bytes, "it has ", content.size(), " bytes, expected ",
          entry.bytes);
  auto checksum = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
  require(checksum == entry.checksum, "its checksum is ", checksum, ", expected ", entry.checksum,
          ": the file is damaged");
  return content;
}

/// The array that the entry is, or an empty name where it is none.
std::string_view array_name(const Entry& entry) {
  std::string_view name = entry.name;
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : "";
}

void check_names(const std::vector<std::string>& wanted, const std::vector<Entry>& entries,
                 const std::string& path) {
  std::vector<std::string_view> there;
  for (const Entry& entry : entries) there.push_back(array_name(entry));
  for (const std::string& name : wanted)
    require(std::find(there.begin(), there.end(), name) != there.end(), path, ": no array `", name,
            "`; there are ", join(there, ", "));
}

Features read(ByteReader& file, const std::vector<std::string>& wanted) {
  Features out;
  std::set<std::string_view> names;
  std::uint64_t left = *file.size();
  const std::vector<Entry> entries = read_directory(file);
  check_names(wanted, entries, file.path());
  for (const Entry& entry : entries) {
    with_context(concat("in entry `", entry.name, "` of ", file.path()), [&] {
      require(names.insert(entry.name).second, "there are two of that name");
      // Else many entries could share one piece of the file, and fill any memory.
      require(entry.stored_bytes <= left, "it overlaps with others, or the file is truncated");
      left -= entry.stored_bytes;
      std::string name(array_name(entry));
      bool asked_for = std::find(wanted.begin(), wanted.end(), name) != wanted.end();
      if (!wanted.empty() && !asked_for) return;
      const ByteVector content = read_entry(file, entry);
      with_context(asked_for ? "it was asked for" : "to leave it out, name the arrays to read",
                   [&] { out.set(name, parse_npy(content, entry.name)); });
    });
  }
  return out;
}

}  // namespace

Features read_npz(const std::string& path, const std::vector<std::string>& names) {
  ByteReader file(path, Compression::none);
  return read(file, names);
}

Features parse_npz(std::span<const std::byte> bytes, const std::string& name,
                   const std::vector<std::string>& names) {
  ByteReader file(bytes, name, Compression::none);
  return read(file, names);
}

}  // namespace belfry::data
