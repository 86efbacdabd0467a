#include "belfry/framework/tensor/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/out_of_memory.h"
#include "belfry/framework/tensor/safetensors_header.h"

namespace belfry {
namespace {

using safetensors::Header;
using safetensors::quote;
using safetensors::TensorEntry;

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

// Two entries, so that damage to the name of either does not go unseen: where one is, or any other
// of Belfry's keys, both must be. The header's checksum covers its text as to_json() gives it,
// without these entries: rewriting a file with the stock packages keeps it valid.
constexpr const char* data_checksum_key = "belfry.crc32c";
constexpr const char* header_checksum_key = "belfry.header_crc32c";

constexpr std::int64_t length_bytes = 8;

std::string to_hex(std::uint32_t value) {
  std::array<char, 9> out;
  std::snprintf(out.data(), out.size(), "%08x", value);
  return out.data();
}

std::string header_checksum(const Header& header) {
  std::string json = safetensors::to_json(header);
  return to_hex(crc32c(std::as_bytes(std::span(json))));
}

/// The bytes of a BOOL are 0 or 1; another value in a C++ bool is undefined behaviour.
void check_elements(const TensorEntry& tensor, const Array& array) {
  if (tensor.type.dtype != DType::boolean) return;
  auto bytes = array.raw_bytes();
  auto wrong =
      std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
  require(wrong == bytes.end(), "tensor ", quote(tensor.name), ": element ", wrong - bytes.begin(),
          " of type BOOL is ", wrong == bytes.end() ? 0 : std::to_integer<int>(*wrong),
          "; expected 0 or 1");
}

/// The header's length and text, as the file begins.
std::string framed(std::string json) {
  json.resize((json.size() + 7) / 8 * 8, ' ');
  require(std::ssize(json) <= safetensors::max_header_bytes, "names and metadata take ",
          json.size(), " bytes; at most ", safetensors::max_header_bytes, " are allowed");
  std::string out;
  for (int shift = 0; shift < 64; shift += 8)
    out += static_cast<std::uint64_t>(json.size()) >> shift & 0xff;
  return out + json;
}

struct Checksums {
  std::string data;
  std::string header;
};

/// Moves the checksums out of the metadata; none when another program wrote the file.
std::optional<Checksums> take_checksums(Metadata& metadata) {
  auto ours = metadata.lower_bound("belfry.");
  if (ours == metadata.end() || !ours->first.starts_with("belfry.")) return {};
  for (const char* key : {data_checksum_key, header_checksum_key})
    require(metadata.contains(key), "the metadata has ", quote(ours->first), " but no ", quote(key),
            ": the file is damaged");
  return Checksums{.data = metadata.extract(data_checksum_key).mapped(),
                   .header = metadata.extract(header_checksum_key).mapped()};
}

void check_checksum(const std::string& stored, const std::string& computed, const char* what) {
  require(stored == computed, "the checksum of the ", what, " is ", computed, ", expected ",
          quote(stored), ": the file is damaged, or a program changed it and kept the checksum");
}

struct OpenFile {
  Header header;
  std::optional<Checksums> checksums;
  std::int64_t data_begin = 0;  // from the start of the file
};

OpenFile read_header(const RandomAccessFile& file) {
  require(file.size() >= length_bytes, "the file has ", file.size(),
          " bytes; a header's length alone takes ", length_bytes);
  std::array<unsigned char, length_bytes> prefix;
  file.read(0, std::as_writable_bytes(std::span(prefix)));
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | prefix[i];
  require(length <= static_cast<std::uint64_t>(safetensors::max_header_bytes),
          "the header's length at byte 0 is ", length, "; at most ", safetensors::max_header_bytes,
          " are allowed: this is no safetensors file");
  std::int64_t header_bytes = length;
  std::int64_t data_begin = length_bytes + header_bytes;
  require(data_begin <= file.size(), "the header ends at byte ", data_begin, ", but the file has ",
          file.size(), " bytes; was it cut short?");
  std::string json(static_cast<std::size_t>(header_bytes), '\0');
  file.read(length_bytes, std::as_writable_bytes(std::span(json)));

  OpenFile out{.header = safetensors::parse(json, file.size() - data_begin),
               .checksums = {},
               .data_begin = data_begin};
  out.checksums = take_checksums(out.header.metadata);
  if (out.checksums) check_checksum(out.checksums->header, header_checksum(out.header), "header");
  return out;
}

/// Runs `body(file)`; what leaves it is an Error that names the file.
template <class Body>
auto with_file(const std::string& path, Body body) {
  RandomAccessFile file(path);
  return with_context(concat("in `", path, "`"), [&] {
    try {
      return body(file);
    } catch (const std::bad_alloc&) {
      throw OutOfMemory("out of host memory while reading the header");
    }
  });
}

}  // namespace

void save_safetensors(const std::string& path, const NamedArrays& tensors,
                      const Metadata& metadata) {
  std::string head;
  std::vector<std::span<const std::byte>> parts{{}};
  with_context(concat("saving `", path, "`"), [&] {
    for (const char* key : {data_checksum_key, header_checksum_key})
      require(!metadata.contains(key), "the metadata key ", quote(key), " is reserved");
    Header header = safetensors::lay_out(tensors, metadata);
    header.metadata.emplace("format", "pt");
    std::uint32_t data_checksum = 0;
    for (const TensorEntry& tensor : header.tensors) {
      const Array& array = tensors.at(tensor.name);
      check_elements(tensor, array);
      data_checksum = crc32c(array.raw_bytes(), data_checksum);
      parts.push_back(array.raw_bytes());
    }
    std::string checksum = header_checksum(header);
    header.metadata.emplace(data_checksum_key, to_hex(data_checksum));
    header.metadata.emplace(header_checksum_key, checksum);
    head = framed(safetensors::to_json(header));
    parts.front() = std::as_bytes(std::span(head));
  });
  write_file_atomically(path, parts);
}

Safetensors load_safetensors(const std::string& path) {
  return with_file(path, [](const RandomAccessFile& file) {
    OpenFile opened = read_header(file);
    Safetensors out;
    std::uint32_t checksum = 0;
    for (const TensorEntry& tensor : opened.header.tensors) {
      Array array(tensor.type);
      file.read(opened.data_begin + tensor.begin, array.raw_bytes());
      checksum = crc32c(array.raw_bytes(), checksum);
      check_elements(tensor, array);
      out.tensors.emplace(tensor.name, std::move(array));
    }
    if (opened.checksums) check_checksum(opened.checksums->data, to_hex(checksum), "data");
    out.metadata = std::move(opened.header.metadata);
    return out;
  });
}

SafetensorsHeader read_safetensors_header(const std::string& path) {
  return with_file(path, [](const RandomAccessFile& file) {
    Header header = read_header(file).header;
    SafetensorsHeader out{.tensors = {}, .metadata = std::move(header.metadata)};
    for (TensorEntry& tensor : header.tensors)
      out.tensors.emplace(std::move(tensor.name), tensor.type);
    return out;
  });
}

}  // namespace belfry
