#include "belfry/data/formats/images/tiff_header.h"

#include <algorithm>
#include <map>
#include <set>

#include "belfry/data/formats/binary_view.h"

namespace belfry::data {
namespace {

using namespace std::string_view_literals;

enum Tag : int {
  image_width = 256,
  image_length = 257,
  bits_per_sample = 258,
  compression = 259,
  photometric_interpretation = 262,
  strip_offsets = 273,
  samples_per_pixel = 277,
  rows_per_strip = 278,
  strip_byte_counts = 279,
  tile_width = 322,
  tile_length = 323,
  tile_offsets = 324,
  tile_byte_counts = 325,
  sample_format = 339,
};

struct Entry {
  std::int64_t values = 0;  // offset of the first
  std::uint64_t count = 0;
  int width = 0;  // bytes a value; 0 for types that hold no whole numbers
};

int width_of_type(int type) {
  constexpr int byte_type = 1, short_type = 3, long_type = 4, long8_type = 16;
  return type == byte_type    ? 1
         : type == short_type ? 2
         : type == long_type  ? 4
         : type == long8_type ? 8
                              : 0;
}

class Directory {
 public:
  // BigTIFF has wider counts and offsets, and is else the same. `unread` is how many bytes all
  // directories together may still take: that they may not overlap bounds the work they can ask
  // for.
  Directory(const BinaryView& file, std::int64_t offset, bool big, std::int64_t& unread)
      : file_(file), offset_(offset) {
    std::uint64_t count = big ? file.u64(offset) : file.u16(offset);
    const int entry_size = big ? 20 : 12, inline_size = big ? 8 : 4;
    subtract(unread, count, entry_size);
    std::int64_t at = offset + (big ? 8 : 2);
    for (std::uint64_t i = 0; i < count; ++i, at += entry_size) {
      Entry entry{.count = big ? file.u64(at + 4) : file.u32(at + 4),
                  .width = width_of_type(file.u16(at + 2))};
      std::int64_t value = at + entry_size - inline_size;
      bool fits =
          entry.width == 0 || entry.count <= static_cast<std::uint64_t>(inline_size / entry.width);
      entry.values = fits ? value : link(value, big);
      entries_.emplace(file.u16(at), entry);  // the first of a tag counts
    }
    next_ = link(at, big);
    for (Tag tag : {bits_per_sample, strip_offsets, tile_offsets})
      if (has(tag)) subtract(unread, entries_.at(tag).count, 1);
  }

  std::int64_t next() const { return next_; }
  bool has(Tag tag) const { return entries_.contains(tag); }

  std::uint64_t count(Tag tag) const { return has(tag) ? entries_.at(tag).count : 0; }

  std::int64_t value(Tag tag, std::uint64_t index = 0) const {
    const Entry& entry = entries_.at(tag);
    require(index < entry.count && entry.width > 0, file_.name(), ": tag ", static_cast<int>(tag),
            " of the directory at byte ", offset_, " holds no whole number");
    require(index < static_cast<std::uint64_t>(file_.size()), file_.name(), ": truncated: tag ",
            static_cast<int>(tag), " of the directory at byte ", offset_, " promises ", entry.count,
            " values");
    std::int64_t at = entry.values + static_cast<std::int64_t>(index) * entry.width;
    std::uint64_t out = entry.width == 1   ? file_.u8(at)
                        : entry.width == 2 ? file_.u16(at)
                        : entry.width == 4 ? file_.u32(at)
                                           : file_.u64(at);
    require(out <= std::uint64_t{1} << 62, file_.name(), ": the number at byte ", at, " is ", out,
            ", more than any file holds");
    return out;
  }

  std::int64_t value_or(Tag tag, std::int64_t fallback) const {
    return has(tag) ? value(tag) : fallback;
  }

  // Strips or tiles, wherever they are, must lie within the file. Returns their size in bytes.
  std::int64_t check_pixels(Tag offsets, Tag byte_counts) const {
    std::int64_t out = 0;
    require(count(offsets) > 0 && count(offsets) == count(byte_counts), file_.name(),
            ": the directory at byte ", offset_, " has ", count(offsets), " offsets and ",
            count(byte_counts), " sizes of pixels, expected as many, and some");
    for (std::uint64_t i = 0; i < count(offsets); ++i) {
      std::int64_t begin = value(offsets, i), bytes = value(byte_counts, i);
      require(begin <= file_.size() && bytes <= file_.size() - begin, file_.name(),
              ": truncated: pixels at byte ", begin, " take ", bytes,
              " bytes but the data end at byte ", file_.size());
      out += bytes;
    }
    return out;
  }

 private:
  void subtract(std::int64_t& unread, std::uint64_t count, int bytes_each) const {
    auto most = static_cast<std::uint64_t>(unread) / bytes_each;
    require(count <= most, file_.name(), ": the directory at byte ", offset_,
            " and those before it claim more entries than ", file_.size(), " bytes hold");
    unread -= static_cast<std::int64_t>(count) * bytes_each;
  }

  std::int64_t link(std::int64_t at, bool big) const {
    std::uint64_t to = big ? file_.u64(at) : file_.u32(at);
    require(to <= static_cast<std::uint64_t>(file_.size()), file_.name(), ": the offset at byte ",
            at, " is ", to, ", beyond the end at byte ", file_.size());
    return to;
  }

  const BinaryView& file_;
  std::int64_t offset_;
  std::int64_t next_ = 0;
  std::map<int, Entry> entries_;
};

// One strip or tile is decoded at a time, into memory of the size that it states, which may be more
// than the page's.
void check_block(const BinaryView& file, const Directory& d, const TiffPage& page, bool tiled) {
  constexpr std::int64_t all = 0xffffffff;  // rows: a single strip
  std::int64_t rows = d.value_or(rows_per_strip, all);
  double h = tiled ? d.value_or(tile_length, 0) : rows == all ? page.h : rows;
  double w = tiled ? d.value_or(tile_width, 0) : page.w;
  constexpr double always_fine = 1 << 22;
  double most = std::max(always_fine, static_cast<double>(page.h) * page.w);
  require(h * w <= most, file.name(), ": the directory at byte ", page.directory,
          " states strips or tiles of ", h, " x ", w, " pixels for a page of ", page.h, " x ",
          page.w);
}

TiffPage read_page(const BinaryView& file, const Directory& d, std::int64_t offset) {
  for (Tag tag : {image_width, image_length})
    require(d.has(tag) && d.value(tag) >= 1 && d.value(tag) < std::int64_t{1} << 31, file.name(),
            ": the directory at byte ", offset, " states no width or height from 1 to 2^31 - 1");
  TiffPage out{.h = d.value(image_length), .w = d.value(image_width), .directory = offset};
  out.channels = d.value_or(samples_per_pixel, 1) & 0xffff;
  out.bits = d.value_or(bits_per_sample, 1) & 0xffff;
  for (std::uint64_t i = 1; i < d.count(bits_per_sample) && i < 0xffff; ++i)
    require(d.value(bits_per_sample, i) == out.bits, file.name(), ": the page at byte ", offset,
            " has samples of different widths");
  std::int64_t format = d.value_or(sample_format, 1);
  out.samples = format >= 1 && format <= 3 ? TiffSamples(format) : TiffSamples::other;
  if (d.has(photometric_interpretation))
    out.photometric = d.value(photometric_interpretation) & 0xffff;
  const bool tiled = d.has(tile_width) || d.has(tile_offsets);
  check_block(file, d, out, tiled);
  const std::int64_t stored = tiled ? d.check_pixels(tile_offsets, tile_byte_counts)
                                    : d.check_pixels(strip_offsets, strip_byte_counts);
  // libtiff would make up the rest.
  const bool compressed = d.value_or(compression, 1) != 1;
  const double needed = static_cast<double>(out.h) * out.w * out.channels * out.bits / 8;
  require(compressed || stored >= needed, file.name(), ": truncated: the page at byte ", offset,
          " has ", stored, " bytes of pixels, expected ", needed);
  return out;
}

}  // namespace

bool is_tiff(std::span<const std::byte> bytes) {
  BinaryView file(bytes, "image");
  return file.spells(0, "II\x2a\0"sv) || file.spells(0, "MM\0\x2a"sv)
         || file.spells(0, "II\x2b\0"sv) || file.spells(0, "MM\0\x2b"sv);
}

std::string describe(const TiffPage& page) {
  const char* kind = page.samples == TiffSamples::unsigned_integer ? "unsigned"
                     : page.samples == TiffSamples::signed_integer ? "signed"
                     : page.samples == TiffSamples::floating       ? "float"
                                                                   : "other";
  return concat(page.h, " x ", page.w, " pixels of ", page.channels, " ", kind, " samples of ",
                page.bits, " bits, photometric interpretation ", page.photometric);
}

std::vector<TiffPage> tiff_pages(std::span<const std::byte> bytes, std::string_view name,
                                 std::size_t limit) {
  require(is_tiff(bytes), name, ": not TIFF data: they do not begin with II or MM and 42 or 43");
  BinaryView little(bytes, name), big_endian(bytes, name, std::endian::big);
  const BinaryView& file = little.spells(0, "MM") ? big_endian : little;
  bool big = file.u16(2) == 43;
  std::uint64_t first = big ? file.u64(8) : file.u32(4);
  require(first <= static_cast<std::uint64_t>(file.size()), name,
          ": truncated: the first directory is at byte ", first, " but the data end at byte ",
          file.size());
  std::vector<TiffPage> out;
  std::set<std::int64_t> seen;
  std::int64_t unread = file.size();
  for (std::int64_t at = first; at != 0 && out.size() < limit;) {
    require(seen.insert(at).second, name, ": the directories form a circle through byte ", at);
    Directory directory(file, at, big, unread);
    out.push_back(read_page(file, directory, at));
    at = directory.next();
  }
  require(!out.empty(), name, ": TIFF data without a page");
  return out;
}

}  // namespace belfry::data
