#include "belfry/framework/tensor/tensor_bundle.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>

#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/folder_names.h"
#include "belfry/framework/tensor/safetensors_header.h"
#include "belfry/framework/tensor/sorted_table.h"
#include "belfry/framework/tensor/tensor_bundle_entry.h"

namespace belfry {
namespace {

using namespace tensor_bundle;

constexpr int most_axes = 8;

std::string index_path(const std::string& prefix) { return prefix + ".index"; }

std::string data_path(const std::string& prefix, std::int64_t shard, std::int64_t shards) {
  char suffix[64];
  std::snprintf(suffix, sizeof suffix, ".data-%05lld-of-%05lld", static_cast<long long>(shard),
                static_cast<long long>(shards));
  return prefix + suffix;
}

struct Index {
  std::int64_t shards = 0;
  std::map<std::string, Entry, std::less<>> tensors, slices;  // slices by slice_key()
};

// As in safetensors: what follows a name, such as regular expressions, may rely on it.
void check_name(std::string_view key) {
  require(is_slice_key(key) || key.size() <= safetensors::max_name_bytes, "the name ",
          safetensors::quote(key), " is ", key.size(), " bytes long; at most ",
          safetensors::max_name_bytes, " are allowed");
}

Index read_index(const std::string& prefix) {
  return with_context(concat("in `", index_path(prefix), "`"), [&] {
    std::string file = read_file(index_path(prefix));
    Index out;
    sorted_table::read(std::as_bytes(std::span(std::as_const(file))), [&](auto key, auto value) {
      if (key.empty()) {
        out.shards = parse_shard_count(value);
      } else {
        check_name(key);
        with_context(concat("entry `", is_slice_key(key) ? "of a slice" : key, "`"), [&] {
          (is_slice_key(key) ? out.slices : out.tensors).emplace(key, parse_entry(value));
        });
      }
    });
    require(out.shards > 0, "there is no header: this is no index of a TensorFlow checkpoint");
    return out;
  });
}

TensorType type_of(const Entry& entry, DType dtype) {
  require(std::ssize(entry.shape) <= most_axes, "it has ", entry.shape.size(), " axes; at most ",
          most_axes, " are allowed");
  std::int64_t bytes = size_of(dtype);
  for (std::int64_t size : entry.shape)  // zeros do not excuse what is beside them
    require(!__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes),
            "its shape has more bytes than there can be");
  return {Shape(entry.shape), dtype};
}

/// The data files of a checkpoint. Every tensor that is read lies apart from those before.
class DataFiles {
 public:
  DataFiles(std::string prefix, std::int64_t shards)
      : prefix_(std::move(prefix)), shards_(shards) {}

  Array read(const Entry& entry, DType dtype) {
    TensorType type = type_of(entry, dtype);
    require(type.bytes() == entry.bytes, "it has ", entry.bytes, " bytes, but ", type, " takes ",
            type.bytes());
    Array out;
    if (type.bytes() == 0) return Array(type);
    const RandomAccessFile& file = open(entry.shard);
    with_context(concat("in `", file.path(), "`"), [&] {
      require(entry.offset <= file.size() && entry.bytes <= file.size() - entry.offset,
              "it is at bytes ", entry.offset, " to ", entry.offset, " + ", entry.bytes,
              ", but the file has ", file.size());
      claim(entry);
      out = Array(type);
      file.read(entry.offset, out.raw_bytes());
      std::uint32_t computed = masked(crc32c(out.raw_bytes()));
      require(computed == entry.checksum, "its checksum is ", computed, ", expected ",
              entry.checksum, ": the file is damaged");
      check_booleans(out);
    });
    return out;
  }

 private:
  const RandomAccessFile& open(std::int64_t shard) {
    require(shard < shards_, "it is in data file ", shard, " of ", shards_);
    auto& file = files_[shard];
    if (!file) file = std::make_unique<RandomAccessFile>(data_path(prefix_, shard, shards_));
    return *file;
  }

  void claim(const Entry& entry) {
    auto& taken = taken_[entry.shard];  // ends, by where the tensor begins
    auto after = taken.upper_bound(entry.offset);
    bool apart = (after == taken.end() || after->first >= entry.offset + entry.bytes)
                 && (after == taken.begin() || std::prev(after)->second <= entry.offset);
    require(apart, "it shares bytes with another tensor");
    taken[entry.offset] = entry.offset + entry.bytes;
  }

  static void check_booleans(const Array& array) {
    if (array.dtype() != DType::boolean) return;
    for (std::byte b : array.raw_bytes())
      require(b <= std::byte{1}, "a BOOL has the value ", std::to_integer<int>(b),
              ", expected 0 or 1");
  }

  std::string prefix_;
  std::int64_t shards_;
  std::map<std::int64_t, std::unique_ptr<RandomAccessFile>> files_;
  std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> taken_;
};

std::int64_t length_of(const Slice& slice, const Entry& whole, std::size_t axis) {
  return slice.length[axis] < 0 ? whole.shape[axis] : slice.length[axis];
}

// The only axis that is cut, or 0. Error: there are several.
std::size_t cut_axis(const Entry& whole) {
  for (const Slice& slice : whole.slices)
    require(slice.start.size() == whole.shape.size(), "a part has ", slice.start.size(),
            " axes, the whole ", whole.shape.size());
  std::vector<std::size_t> cut;
  for (std::size_t axis = 0; axis < whole.shape.size(); ++axis)
    for (const Slice& slice : whole.slices) {
      if (slice.start[axis] == 0 && length_of(slice, whole, axis) == whole.shape[axis]) continue;
      cut.push_back(axis);
      break;
    }
  require(cut.size() <= 1, "it is cut along ", cut.size(), " axes; one can be joined");
  return cut.empty() ? 0 : cut[0];
}

Array join_slices(const std::string& name, Entry whole, const Index& index, DType dtype,
                  DataFiles& data) {
  TensorType type = type_of(whole, dtype);
  require(!whole.shape.empty(), "a scalar cannot be cut into parts");
  std::size_t axis = cut_axis(whole);
  std::sort(whole.slices.begin(), whole.slices.end(),
            [&](const Slice& a, const Slice& b) { return a.start[axis] < b.start[axis]; });
  std::int64_t next = 0;
  std::vector<Array> parts;
  for (const Slice& slice : whole.slices) {
    require(slice.start[axis] == next && length_of(slice, whole, axis) <= whole.shape[axis] - next,
            "a part begins at ", slice.start[axis], " of axis ", axis, " and has ",
            length_of(slice, whole, axis), ", expected to begin at ", next, " of ",
            whole.shape[axis]);
    next += length_of(slice, whole, axis);
    auto found = index.slices.find(slice_key(name, slice));
    require(found != index.slices.end(), "the part from ", slice.start[axis], " of axis ", axis,
            " is missing");
    std::vector<std::int64_t> expected = whole.shape;
    expected[axis] = length_of(slice, whole, axis);
    require(found->second.shape == expected && found->second.type == whole.type, "the part from ",
            slice.start[axis], " of axis ", axis, " has another type or shape than it should");
    parts.push_back(data.read(found->second, dtype));
  }
  require(next == whole.shape[axis], "its parts end at ", next, " of axis ", axis, ", which has ",
          whole.shape[axis]);
  Array out(type);
  if (type.bytes() == 0) return out;  // before the axes in front are counted, which may be many
  auto outer = std::accumulate(whole.shape.begin(), whole.shape.begin() + axis, std::int64_t{1},
                               std::multiplies<>());
  std::byte* to = out.raw_bytes().data();
  for (std::int64_t row = 0; row < outer; ++row)
    for (const Array& part : parts) {
      std::size_t bytes = part.bytes() / outer;
      if (bytes == 0) continue;
      std::memcpy(to, part.raw_bytes().data() + row * bytes, bytes);
      to += bytes;
    }
  return out;
}

}  // namespace

bool is_tensor_bundle(const std::string& prefix) { return is_file(index_path(prefix)); }

TensorBundle read_tensor_bundle(const std::string& prefix) {
  Index index = read_index(prefix);
  DataFiles data(prefix, index.shards);
  TensorBundle out;
  for (const auto& [name, entry] : index.tensors) {
    auto dtype = dtype_of_number(entry.type);
    if (!dtype) {
      out.skipped.push_back(concat(name, ": ", type_name(entry.type)));
      continue;
    }
    with_context(concat("tensor `", name, "` of `", prefix, "`"), [&, &name = name, &e = entry] {
      out.tensors[name] =
          e.slices.empty() ? data.read(e, *dtype) : join_slices(name, e, index, *dtype, data);
    });
  }
  return out;
}

void write_tensor_bundle(const std::string& prefix, const NamedArrays& tensors) {
  std::vector<std::pair<std::string, std::string>> entries{{"", header_message()}};
  std::vector<std::span<const std::byte>> parts{{}};
  std::int64_t offset = 0;
  for (const auto& [name, array] : tensors) {
    require(!name.empty() && !is_slice_key(name), "writing `", prefix,
            "`: a tensor's name is empty or begins with a zero byte");
    require(array.defined(), "writing `", prefix, "`: tensor `", name, "` is undefined");
    check_name(name);
    Entry entry{.type = number_of(array.dtype()),
                .shape = {},
                .shard = 0,
                .offset = offset,
                .bytes = array.bytes(),
                .checksum = masked(crc32c(array.raw_bytes())),
                .slices = {}};
    for (int axis = 0; axis < array.shape().rank(); ++axis)
      entry.shape.push_back(array.shape()[axis]);
    entries.emplace_back(name, to_message(entry));
    parts.push_back(array.raw_bytes());
    offset += array.bytes();
  }
  write_file_atomically(data_path(prefix, 0, 1), parts);
  write_file_atomically(index_path(prefix), sorted_table::write(entries));
}

}  // namespace belfry
