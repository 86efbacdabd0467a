// Arrays: NPY, NPZ, IDX, safetensors, checkpoints of TensorFlow and of this library.

#include <zlib.h>

#include <algorithm>
#include <map>
#include <vector>

#include "../data/formats/image_bytes.h"
#include "../framework/tensor/bad_safetensors.h"
#include "../framework/tensor/table_bytes.h"
#include "belfry/data/formats/arrays/npy.h"
#include "belfry/data/formats/arrays/npz.h"
#include "belfry/data/formats/byte_writer.h"
#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/tensor/safetensors.h"
#include "belfry/framework/tensor/sorted_table.h"
#include "belfry/framework/tensor/tensor_bundle.h"
#include "belfry/framework/tensor/tensor_bundle_entry.h"
#include "seeds.h"

namespace belfry {

using namespace data;

namespace {

// With elements of 16 bytes together.
std::string npy_with(const std::string& header) {
  return "\x93NUMPY\1" + std::string(1, '\0') + number(header.size(), 2) + header
         + std::string(16, '\1');
}

std::string npy_of(const std::string& type, const std::string& shape) {
  return npy_with("{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }\n");
}

// An archive whose sizes and places stand in records of 64 bits.
std::string zip64_of(const std::string& member) {
  const std::string name = "x.npy", size = number(member.size(), 8), none = number(0xffffffff, 4),
                    checksum = number(crc32(0, reinterpret_cast<const Bytef*>(member.data()),
                                            static_cast<uInt>(member.size())),
                                      4);
  const std::string sizes = number(1, 2) + number(16, 2) + size + size;
  const std::string file = "PK\3\4" + number(45, 2) + number(0, 8) + checksum + none + none
                           + number(name.size(), 2) + number(sizes.size(), 2) + name + sizes
                           + member;
  const std::string more = number(1, 2) + number(24, 2) + size + size + number(0, 8);
  const std::string directory = "PK\1\2" + number(45, 2) + number(45, 2) + number(0, 8) + checksum
                                + none + none + number(name.size(), 2) + number(more.size(), 2)
                                + std::string(10, '\0') + none + name + more;
  const std::string end64 = "PK\6\6" + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8)
                            + number(1, 8) + number(1, 8) + number(directory.size(), 8)
                            + number(file.size(), 8);
  const std::string locator =
      "PK\6\7" + number(0, 4) + number(file.size() + directory.size(), 8) + number(1, 4);
  const std::string end =
      "PK\5\6" + number(0, 4) + number(0xffff, 2) + number(0xffff, 2) + none + none + number(0, 2);
  return file + directory + end64 + locator + end;
}

void write_arrays(const std::string& folder) {
  Seeds npy(folder, "fuzz_npy"), idx(folder, "fuzz_idx"), tensors(folder, "fuzz_safetensors");
  const Features arrays{{"x", Array::of<float>({1, 2, 3, 4, 5, 6}, {2, 3})},
                        {"flag", Array::of<bool>({true, false})},
                        {"n", Array::of<std::int64_t>({-1, 1 << 20})}};
  for (const auto& [name, array] : arrays) write_npy(npy.path(name + ".npy"), array);
  std::string fortran = text_of(to_npy(arrays.at("x")));
  fortran.replace(fortran.find("False"), 5, "True ");
  npy.write("fortran.npy", fortran);
  for (const char* type : {"<u2", ">u2", "<f2"}) npy.write(type, npy_of(type, "(8,)"));
  for (const char* type : {"<u4", "<i4"}) npy.write(type, npy_of(type, "(2, 2)"));
  for (const char* type : {"|b1", "<i1"}) npy.write(type, npy_of(type, "(16,)"));
  for (const char* type : {">f8", "<U3", "|S3", "<c8", "<M8[s]", "|O", "|V2", "<u8", "|V3"})
    npy.write(type, npy_of(type, "(2,)"));
  npy.write("twice", npy_of("<f4', 'descr': '<f4", "(2,)"));
  npy.write("negative", npy_of("<f4", "(-1,)"));
  npy.write("short", npy_with("{'descr': '<f8', 'fortran_order': False, 'shape': (2L,)}"));
  npy.write("records",
            npy_with("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,)}"));
  npy.write("no_order", npy_with("{'descr': '<f8', 'fortran_order': 0, 'shape': (2,)}"));
  npy.write("no_end", npy_with("{'descr': '<f8', 'shape': (2,) 'fortran_order': False}"));
  npy.write("more", npy_with("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)} x"));
  npy.write("zip64", zip64_of(text_of(to_npy(arrays.at("x")))));
  write_npz(npy.path("stored.npz"), arrays);
  write_npz(npy.path("deflated.npz"), arrays, {.compress = true});
  save_safetensors(tensors.path("own"), {{"x", arrays.at("x")}, {"n", arrays.at("n")}},
                   {{"belfry.a", "b"}});
  std::string header = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  tensors.write("other", number(header.size(), 8) + header + "12345678");
  int count = 0;
  for (const BadFile& bad : bad_safetensors()) tensors.write(concat("bad", count++), bad.bytes);
  for (std::uint64_t type : {0x08, 0x09, 0x0b, 0x0c, 0x0d, 0x0e})
    idx.write(concat("type", type), number(0, 2) + number(type, 1) + number(2, 1)
                                        + number(2, 4, true) + number(1, 4, true)
                                        + std::string(type < 0x0b    ? 2
                                                      : type == 0x0b ? 4
                                                      : type == 0x0e ? 16
                                                                     : 8,
                                                      '\1'));
  idx.write("no_type", number(0, 2) + number(7, 1) + number(1, 1) + number(1, 4, true) + "x");
  // Reads of at least 1 MiB go past the buffer; the file ends within this one.
  idx.write("large", number(0, 2) + number(8, 1) + number(1, 1) + number(1 << 21, 4, true) + "x");
  ByteWriter zipped(idx.path("gzip"), Compression::gzip);
  zipped.write(as_bytes(read_file(idx.path("type8"))));
  zipped.close();
  const std::string gzip = read_file(idx.path("gzip"));
  idx.write("padded_gzip", gzip + std::string(8, '\0'));
  idx.write("two_gzips", gzip + std::string(8, '\0') + gzip);
}

// The data of the target are bytes of 1, so that the checksums of these arrays are right there.
Array array_of_ones(const TensorType& type) {
  Array out(type);
  std::ranges::fill(out.raw_bytes(), std::byte{1});
  return out;
}

// The index of a variable of two parts, cut along its second axis.
std::string partitioned_index() {
  using namespace tensor_bundle;
  const Array part = array_of_ones({{2, 3}, DType::f32});
  Entry whole{.type = number_of(DType::f32), .shape = {2, 6}, .slices = {}};
  std::map<std::string, std::string> entries{{"", header_message()}};
  for (std::int64_t i : {0, 1}) {
    whole.slices.push_back({.start = {0, 3 * i}, .length = {-1, 3}});
    entries[slice_key("v", whole.slices.back())] =
        to_message({.type = whole.type,
                    .shape = {2, 3},
                    .offset = i * part.bytes(),
                    .bytes = part.bytes(),
                    .checksum = masked(crc32c(part.raw_bytes())),
                    .slices = {}});
  }
  entries["v"] = to_message(whole);
  return sorted_table::write({entries.begin(), entries.end()});
}

// As Snappy stores what it cannot make smaller: the size, and pieces of up to 60 bytes.
std::string snappy_of(const std::string& bytes) {
  std::string out = varint_bytes(bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += 60) {
    const std::string piece = bytes.substr(at, 60);
    out += static_cast<char>((piece.size() - 1) << 2) + piece;
  }
  return out;
}

// As the index of a checkpoint, and as its only block, which ends 5 bytes before the block that the
// footer names first.
void write_bundle_seeds(const Seeds& seeds, const std::string& name, const std::string& index) {
  std::size_t end = 0;
  for (std::size_t at = index.size() - 48, shift = 0;; ++at, shift += 7) {
    auto byte = static_cast<unsigned char>(index[at]);
    end |= std::size_t{byte & 0x7fu} << shift;
    if (byte < 0x80) break;
  }
  seeds.write(name + "file", "\2" + index);
  const std::string block = index.substr(0, end - 5);
  seeds.write(name + "block", std::string(1, '\0') + block);
  seeds.write(name + "compressed", std::string(1, '\1') + snappy_of(block));
}

void write_bundles(const std::string& folder) {
  Seeds seeds(folder, "fuzz_tensor_bundle");
  const std::string path = folder + "/bundle";
  write_tensor_bundle(path, {{"a/b", array_of_ones({{2, 2}, DType::f32})},
                             {"a/c", array_of_ones({{}, DType::i64})},
                             {"flag", array_of_ones({{2}, DType::boolean})}});
  write_bundle_seeds(seeds, "", read_file(path + ".index"));
  write_bundle_seeds(seeds, "partitioned-", partitioned_index());
  using namespace tensor_bundle;
  const std::string negative = "\x08" + std::string(9, '\xff') + '\1', big_endian = "\x08\1\x10\1";
  auto write = [&](const std::string& name, const std::string& header, const std::string& entry) {
    seeds.write(name, "\2" + sorted_table::write({{"", header}, {"x", entry}}));
  };
  write("negative", header_message(), negative);
  write("big_endian", big_endian, "");
  // Texts, and a type that is still to come.
  write("skipped", header_message(), "\x08\7");
  write("unknown", header_message(), "\x08\x63");
}

// The target has the checkpoint. These are changes to it: how, where (in two bytes), with what.
void write_checkpoints(const std::string& folder) {
  Seeds seeds(folder, "fuzz_checkpoint");
  const std::string one_bit("\0\3\7\2", 4), one_byte("\1\2\0x", 4), shorter("\2\0\x20\0\1", 5),
      longer("\3\0\x20 ", 4), cut("\4\3\0", 3), moved("\5\3\0\0\x40\0\x10", 7),
      reworded("\6\0\0\0\4\0\5", 7), more("\7\0\x09\0\x1c", 5);
  int number = 0;
  for (const std::string& change :
       {one_bit, one_byte, shorter, longer, cut, moved, reworded, more, moved + reworded + one_bit})
    for (char choice : {'\0', '\1', '\2', '\3'})
      seeds.write(concat("changes", number++), std::string(1, choice) + change);
}

}  // namespace

void write_array_seeds(const std::string& folder) {
  write_arrays(folder);
  write_bundles(folder);
  write_checkpoints(folder);
}

}  // namespace belfry
