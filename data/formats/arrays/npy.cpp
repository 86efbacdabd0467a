#include "belfry/data/formats/arrays/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string_view>
#include <utility>

#include "belfry/data/formats/arrays/stored_type.h"
#include "belfry/data/formats/byte_reader.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"

namespace belfry::data {
namespace {

static_assert(std::endian::native == std::endian::little, "written little-endian, swapped if not");

constexpr std::string_view magic = "\x93NUMPY";

constexpr std::array<StoredType, 11> stored_types{{{'f', 8, DType::f64},
                                                   {'f', 4, DType::f32},
                                                   {'f', 2, DType::f16},
                                                   {'i', 8, DType::i64},
                                                   {'i', 4, DType::i32},
                                                   {'i', 2, DType::i32},
                                                   {'i', 1, DType::i32},
                                                   {'u', 4, DType::i64},
                                                   {'u', 2, DType::i32},
                                                   {'u', 1, DType::u8},
                                                   {'b', 1, DType::boolean}}};

struct Header {
  std::string descr;  // such as "<f8"
  bool fortran_order = false;
  Shape shape;
};

/// The header's text is a Python dict with three entries, in any order:
///   {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& path, std::int64_t offset)
      : text_(text), path_(path), offset_(offset) {}

  Header parse() {
    std::optional<std::string> descr;
    std::optional<bool> fortran_order;
    std::optional<Shape> shape;
    expect('{');
    while (!accept('}')) {
      const std::size_t begin = at_;
      std::string key = string();
      expect(':');
      if (key == "descr" && !descr) {
        descr = string();
      } else if (key == "fortran_order" && !fortran_order) {
        fortran_order = boolean();
      } else if (key == "shape" && !shape) {
        shape = tuple();
      } else {
        at_ = begin;
        fail_here("each of 'descr', 'fortran_order' and 'shape' once");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (at_ < text_.size()) fail_here("nothing after the dict");
    require(descr && fortran_order && shape, path_, ": the header at byte ", offset_,
            " lacks one of 'descr', 'fortran_order' and 'shape'");
    return {.descr = *descr, .fortran_order = *fortran_order, .shape = *shape};
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  /// The next character that is no space; '\0' at the end.
  char peek() {
    skip_spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool accept(char c) {
    bool found = peek() == c;
    if (found) ++at_;
    return found;
  }

  void expect(char c) {
    if (!accept(c)) fail_here(concat("`", c, "`"));
  }

  std::string string() {
    const char quote = peek();
    auto end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) {
      fail_here(quote == '[' ? "a string; records (structured types) cannot be read" : "a string");
    }
    auto content = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return std::string(content);
  }

  bool boolean() {
    skip_spaces();
    for (auto [word, value] : {std::pair("True", true), std::pair("False", false)}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += std::string_view(word).size();
      return value;
    }
    fail_here("True or False");
  }

  Shape tuple() {
    std::vector<std::int64_t> sizes;
    expect('(');
    while (!accept(')')) {
      if (sizes.size() == Shape::max_rank) fail_here("at most 8 axes");
      sizes.push_back(integer());
      accept('L');  // as Python 2 wrote them
      // (3) is a number, and (3,) a tuple.
      if (accept(',')) continue;
      if (sizes.size() == 1) fail_here("`,`");
      expect(')');
      break;
    }
    return with_context(concat("in the header of ", path_), [&] { return Shape(sizes); });
  }

  std::int64_t integer() {
    if (peek() < '0' || peek() > '9') fail_here("a size");
    std::int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (value > (std::int64_t{1} << 59)) fail_here("a size below 2^60");
      value = 10 * value + (text_[at_] - '0');
    }
    return value;
  }

  [[noreturn]] void fail_here(std::string_view expected) {
    skip_spaces();
    std::string found(text_.substr(at_, 10));
    std::replace_if(
        found.begin(), found.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    fail(path_, ": the header is damaged at byte ", offset_ + static_cast<std::int64_t>(at_), ": ",
         found.empty() ? "it ends there" : "found `" + found + "`", ", expected ", expected);
  }

  std::string_view text_;
  const std::string& path_;
  std::int64_t offset_;  // of the text in the file
  std::size_t at_ = 0;
};

std::string read_text(ByteReader& file, std::uint64_t count, const char* what) {
  const std::int64_t begin = file.offset();
  require(count <= static_cast<std::uint64_t>(*file.size() - begin), file.path(),
          ": truncated at byte ", *file.size(), ": ", what, " at byte ", begin, " takes ", count,
          " bytes");
  std::string text(count, '\0');
  file.read(std::as_writable_bytes(std::span(text)));
  return text;
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  return value;
}

Header read_header(ByteReader& file) {
  std::string begin = read_text(file, magic.size() + 2, "the magic number");
  require(begin.starts_with(magic), file.path(),
          ": not an NPY file: it does not begin with the bytes 93 4e 55 4d 50 59");
  std::uint8_t major = begin[6], minor = begin[7];
  require(major >= 1 && major <= 3 && minor == 0, file.path(), ": the version at byte 6 is ", major,
          ".", minor, ", expected 1.0, 2.0 or 3.0");
  auto length = little_endian(read_text(file, major == 1 ? 2 : 4, "the length of the header"));
  const std::int64_t offset = file.offset();
  std::string text = read_text(file, length, "the header");
  return HeaderParser(text, file.path(), offset).parse();
}

const char* why_not(std::string_view type) {
  if (type.starts_with('c')) return "complex numbers have no type here; save both parts";
  if (type.starts_with('O')) return "Python objects are pickled and are not read";
  if (type.starts_with('S') || type.starts_with('U') || type.starts_with('a'))
    return "strings have no type here";
  if (type.starts_with('M') || type.starts_with('m')) return "save dates as integers";
  if (type == "V2") return "if that is bf16, save it as f4";
  if (type == "u8") return "no type here holds all its values; save it as i8";
  return "it has no type here";
}

StoredType stored_type(const Header& header, const std::string& path) {
  std::string_view type = header.descr;
  require(type.size() >= 2 && std::string_view("<>|=").find(type[0]) != std::string_view::npos,
          path, ": the type `", type, "` in the header is none of NumPy's");
  type.remove_prefix(1);
  for (const StoredType& stored : stored_types)
    if (type == concat(stored.kind, stored.bytes)) return stored;
  fail(path, ": elements of type `", header.descr, "` cannot be read: ", why_not(type),
       "; types that can be are f8 f4 f2 i8 i4 i2 i1 u4 u2 u1 b1");
}

/// The elements of `in` lie in Fortran order, the first axis fastest.
Array to_row_major(const Array& in) {
  const Shape& shape = in.shape();
  Array out(in.type());
  std::array<std::int64_t, Shape::max_rank> strides{}, index{};
  std::int64_t stride = 1;
  for (int axis = 0; axis < shape.rank(); stride *= shape[axis++]) strides[axis] = stride;
  dispatch(in.dtype(), [&](auto t) {
    using T = decltype(t);
    auto from = in.span<T>();
    std::int64_t at = 0;
    for (T& element : out.span<T>()) {
      element = from[at];
      for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        std::size_t a = axis;
        at += strides[a];
        if (++index[a] < shape[axis]) break;
        at -= strides[a] * shape[axis];
        index[a] = 0;
      }
    }
  });
  return out;
}

void check_booleans(const Array& array, const std::string& path, std::int64_t offset) {
  if (array.dtype() != DType::boolean) return;
  auto bytes = array.raw_bytes();
  auto wrong =
      std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
  require(wrong == bytes.end(), path, ": the boolean at byte ", offset + (wrong - bytes.begin()),
          " is neither 0 nor 1");
}

Array read(ByteReader& file) {
  const Header header = read_header(file);
  const StoredType stored = stored_type(header, file.path());
  const std::int64_t offset = file.offset();
  const std::int64_t left = *file.size() - offset;
  const std::int64_t wanted = header.shape.elements() * static_cast<std::int64_t>(stored.bytes);
  require(left == wanted, file.path(), ": ", left, " bytes follow after the header at byte ",
          offset, ", expected ", wanted, " for ", header.shape, " elements of ", stored.bytes,
          " bytes");

  Array out(header.shape, stored.dtype);
  std::vector<std::byte> narrow(stored.narrow() ? static_cast<std::size_t>(wanted) : 0);
  std::span<std::byte> bytes = narrow.empty() ? out.raw_bytes() : std::span(narrow);
  file.read(bytes);
  if (header.descr[0] == '>') reverse_each(bytes, stored.bytes);
  if (!narrow.empty()) widen(stored, narrow, out);
  check_booleans(out, file.path(), offset);
  return header.fortran_order && header.shape.rank() > 1 ? to_row_major(out) : out;
}

}  // namespace

Array read_npy(const std::string& path) {
  ByteReader file(path, Compression::none);
  return read(file);
}

Array parse_npy(std::span<const std::byte> bytes, const std::string& name) {
  ByteReader file(bytes, name, Compression::none);
  return read(file);
}

std::string npy_header(const TensorType& type) {
  auto same = std::find_if(stored_types.begin(), stored_types.end(), [&](const StoredType& s) {
    return s.dtype == type.dtype && s.bytes == size_of(s.dtype);
  });
  require(same != stored_types.end(), "NumPy has no type for ", type.dtype, "; cast to f32");
  std::string dict = concat("{'descr': '", same->bytes == 1 ? '|' : '<', same->kind, same->bytes,
                            "', 'fortran_order': False, 'shape': (", join(type.shape, ", "),
                            type.shape.rank() == 1 ? ",), }" : "), }");
  // Spaces and a newline, so that the elements begin at a multiple of 64 bytes.
  constexpr std::size_t prefix = 10, alignment = 64;
  std::size_t length = (prefix + dict.size()) / alignment * alignment + alignment - prefix;
  dict.resize(length - 1, ' ');
  return concat(magic, '\1', '\0', static_cast<char>(length & 0xff), static_cast<char>(length >> 8),
                dict, '\n');
}

std::vector<std::byte> to_npy(const Array& array) {
  require(array.defined(), "to_npy: the array is undefined");
  std::string header = npy_header(array.type());
  auto head = std::as_bytes(std::span(header));
  std::vector<std::byte> out(head.begin(), head.end());
  out.insert(out.end(), array.raw_bytes().begin(), array.raw_bytes().end());
  return out;
}

void write_npy(const std::string& path, const Array& array) {
  require(array.defined(), "cannot write `", path, "`: the array is undefined");
  std::string header =
      with_context(concat("writing `", path, "`"), [&] { return npy_header(array.type()); });
  std::array parts{std::as_bytes(std::span(std::as_const(header))), array.raw_bytes()};
  write_file_atomically(path, parts);
}

}  // namespace belfry::data
