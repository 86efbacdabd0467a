#include "belfry/framework/tensor/sorted_table.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/varint.h"
#ifdef BELFRY_SNAPPY
#include <snappy.h>
#endif

namespace belfry::sorted_table {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint64_t magic = 0xdb4775248b80fb57;
constexpr std::size_t footer_bytes = 48, handles_bytes = 40;
constexpr std::size_t trailer_bytes = 5;  // the kind of compression, and a checksum
constexpr std::size_t restart_interval = 16;
constexpr std::size_t most_key_bytes = 64;  // for each byte of the file

std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::uint32_t u32(Bytes bytes) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// Takes numbers and texts off the front of bytes; all messages name the place of the first byte.
class Reader {
 public:
  Reader(Bytes bytes, std::string where) : rest_(bytes), where_(std::move(where)) {}

  bool done() const { return rest_.empty(); }

  std::uint64_t varint() {
    Varint number = read_varint(rest_);
    require(number.bytes > 0, where_, ": a number is cut short or has more than 64 bits");
    rest_ = rest_.subspan(number.bytes);
    return number.value;
  }

  std::string_view next_bytes(std::uint64_t count) {
    require(count <= rest_.size(), where_, ": ", count, " bytes are announced but ", rest_.size(),
            " are left");
    Bytes taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return as_text(taken);
  }

 private:
  Bytes rest_;
  std::string where_;
};

struct Handle {
  std::uint64_t offset = 0, size = 0;
};

Handle read_handle(Reader& reader) {
  std::uint64_t offset = reader.varint();
  return {offset, reader.varint()};
}

std::string uncompress(Bytes block, std::uint64_t offset) {
#ifdef BELFRY_SNAPPY
  std::size_t size = 0;
  // A copy of three bytes gives 64 at most, and nothing gives more.
  bool sound = snappy::GetUncompressedLength(as_text(block).data(), block.size(), &size)
               && size / 22 <= block.size();
  std::string out(sound ? size : 0, '\0');
  require(sound && snappy::RawUncompress(as_text(block).data(), block.size(), out.data()),
          "the block at byte ", offset, " is not what Snappy writes: the file is damaged");
  return out;
#else
  (void)block;
  fail("the block at byte ", offset,
       " is compressed by Snappy, without which this program was built; install libsnappy-dev and "
       "build Belfry again");
#endif
}

/// A file, and how far its blocks have been read: they stand in the order of their entries, and so
/// no two handles can name the same bytes.
class File {
 public:
  explicit File(Bytes bytes) : bytes_(bytes) {}

  /// Calls entry(key, value) for each entry of a block.
  template <class Entry>
  void read_block(Handle handle, Entry entry) {
    Bytes raw = raw_block(handle);
    Bytes block = raw.first(raw.size() - trailer_bytes);
    std::string unpacked;
    auto compression = std::to_integer<int>(raw[block.size()]);
    require(compression <= 1, "the block at byte ", handle.offset, " is compressed in way ",
            compression, ", expected 0 (not) or 1 (Snappy)");
    if (compression == 1) {
      unpacked = uncompress(block, handle.offset);
      block = std::as_bytes(std::span(std::as_const(unpacked)));
    }
    std::string where = concat("in the block at byte ", handle.offset);
    std::uint32_t restarts =
        block.size() < 4 ? 0 : u32(block.last(4));  // entries that stand without the one before
    require(restarts > 0 && restarts <= block.size() / 4 - 1, where, ": ", restarts,
            " restarts do not fit into ", block.size(), " bytes");
    Reader reader(block.first(block.size() - 4 * (std::size_t{restarts} + 1)), where);
    std::string key;
    for (bool first = true; !reader.done(); first = false) {
      std::uint64_t shared = reader.varint(), own = reader.varint(), value = reader.varint();
      require(shared <= key.size(), where, ": a key shares ", shared,
              " bytes with the one before, which has ", key.size());
      std::string_view suffix = reader.next_bytes(own);
      count_key(shared + own);
      bool rises = first || suffix > std::string_view(key).substr(shared);
      require(rises, where, ": the keys do not rise");
      key.resize(shared);
      key += suffix;
      entry(std::as_const(key), reader.next_bytes(value));
    }
  }

  void expect_blocks_until(std::uint64_t end) { end_ = end, next_ = 0; }

 private:
  Bytes raw_block(Handle handle) {
    require(handle.offset >= next_ && handle.offset <= end_ && handle.size <= end_ - handle.offset
                && trailer_bytes <= end_ - handle.offset - handle.size,
            "a block of ", handle.size, " bytes is announced at byte ", handle.offset,
            ", which does not fit between byte ", next_, " and byte ", end_);
    next_ = handle.offset + handle.size + trailer_bytes;
    Bytes raw = bytes_.subspan(handle.offset, handle.size + trailer_bytes);
    std::uint32_t stored = u32(raw.last(4)), computed = masked(crc32c(raw.first(raw.size() - 4)));
    require(stored == computed, "the checksum of the block at byte ", handle.offset, " is ",
            computed, ", expected ", stored, ": the file is damaged");
    return raw;
  }

  void count_key(std::uint64_t size) {
    key_bytes_ += size;
    require(key_bytes_ / most_key_bytes <= bytes_.size(), "the keys have more than ",
            most_key_bytes, " times the bytes of the file");
  }

  Bytes bytes_;
  std::uint64_t next_ = 0, end_ = 0, key_bytes_ = 0;
};

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += value >> (8 * i) & 0xff;
}

class BlockWriter {
 public:
  void add(const std::string& key, const std::string& value) {
    std::size_t shared = 0;
    if (count_++ % restart_interval == 0) {
      restarts_.push_back(out_.size());
    } else {
      std::size_t most = std::min(key.size(), last_.size());
      while (shared < most && key[shared] == last_[shared]) ++shared;
    }
    append_varint(out_, shared);
    append_varint(out_, key.size() - shared);
    append_varint(out_, value.size());
    out_ += key.substr(shared) + value;
    last_ = key;
  }

  /// Appends the block to a file and gives its handle.
  std::string finish(std::string& file) {
    if (restarts_.empty()) restarts_.push_back(0);
    for (std::size_t restart : restarts_) put(out_, restart, 4);
    put(out_, restarts_.size(), 4);
    std::string handle;
    append_varint(handle, file.size());
    append_varint(handle, out_.size());
    out_ += '\0';  // not compressed
    std::uint32_t checksum = masked(crc32c(std::as_bytes(std::span(std::as_const(out_)))));
    put(out_, checksum, 4);
    file += out_;
    return handle;
  }

 private:
  std::string out_, last_;
  std::vector<std::size_t> restarts_;
  std::size_t count_ = 0;
};

// The shortest key above all that begin like this one: what LevelDB names the last block by.
std::string short_successor(std::string key) {
  for (std::size_t i = 0; i < key.size(); ++i)
    if (key[i] != '\xff') {
      ++key[i];
      return key.substr(0, i + 1);
    }
  return key;
}

}  // namespace

void read(Bytes bytes, const Visit& visit) {
  require(bytes.size() >= footer_bytes, "the file has ", bytes.size(), " bytes; its footer alone ",
          "takes ", footer_bytes);
  std::size_t footer = bytes.size() - footer_bytes;
  std::uint64_t found = 0;
  std::memcpy(&found, bytes.data() + footer + handles_bytes, sizeof found);
  require(found == magic, "the last eight bytes are not those of a table of LevelDB");
  Reader reader(bytes.subspan(footer, handles_bytes), concat("in the footer at byte ", footer));
  Handle more = read_handle(reader);
  Handle index = read_handle(reader);
  std::vector<Handle> blocks;
  File file(bytes);
  file.expect_blocks_until(footer);
  file.read_block(index, [&](const std::string&, std::string_view value) {
    Reader handle(std::as_bytes(std::span(value)), "in the index of blocks");
    blocks.push_back(read_handle(handle));
  });
  file.expect_blocks_until(index.offset);
  std::string last;
  bool any = false;
  for (Handle block : blocks)
    file.read_block(block, [&](const std::string& key, std::string_view value) {
      require(!any || key > last, "the keys of the block at byte ", block.offset,
              " do not come after those before it");
      any = true;
      last = key;
      visit(key, value);
    });
  file.read_block(more, [](const std::string&, std::string_view) {});  // about the table
}

std::string write(const std::vector<std::pair<std::string, std::string>>& entries) {
  for (std::size_t i = 1; i < entries.size(); ++i)
    require(entries[i - 1].first < entries[i].first, "table: key `", entries[i].first,
            "` does not come after `", entries[i - 1].first, "`");
  std::string out;
  BlockWriter data, more, index;
  for (const auto& [key, value] : entries) data.add(key, value);
  std::string handle = entries.empty() ? std::string() : data.finish(out);
  std::string footer = more.finish(out);
  if (!entries.empty()) index.add(short_successor(entries.back().first), handle);
  footer += index.finish(out);
  footer.resize(handles_bytes);
  put(footer, magic, 8);
  return out + footer;
}

}  // namespace belfry::sorted_table
