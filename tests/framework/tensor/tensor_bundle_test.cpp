// Files of TensorFlow 2.15 are in tensorflow/: tests/bench/peers/tensorflow_checkpoint.py made
// them. compressed.index has the entries of types.index in four blocks, as LevelDB's TableBuilder
// wrote them with Snappy.

#include "belfry/framework/tensor/tensor_bundle.h"

#include <gmock/gmock.h>

#include <map>

#include "../base/error_of.h"
#include "../base/temporary_folder.h"
#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/tensor/sorted_table.h"
#include "belfry/framework/tensor/tensor_bundle_entry.h"

namespace belfry {
namespace {

using tensor_bundle::Entry;
using tensor_bundle::Slice;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Entries = std::vector<std::pair<std::string, std::string>>;

const std::string folder = BELFRY_SOURCE_DIR "/tests/framework/tensor/tensorflow/";

// The tensors that write_types() of the script writes.
NamedArrays written_types() {
  NamedArrays out;
  Array numbers = Array::of<double>({0, 1, 2, 3, 4, 5}, {2, 3});
  out["float64"] = numbers;
  out["float32"] = numbers.cast(DType::f32);
  out["bfloat16"] = numbers.cast(DType::bf16);
  out["float16"] = numbers.cast(DType::f16);
  out["int64"] = numbers.cast(DType::i64);
  out["int32"] = numbers.cast(DType::i32);
  out["uint8"] = numbers.cast(DType::u8);
  out["bool"] = Array::of<bool>({true, false});
  out["empty"] = Array::zeros({0, 3});
  out["scalar"] = Array::scalar(-1.5f);
  return out;
}

void expect_equal(const NamedArrays& expected, const NamedArrays& found) {
  EXPECT_EQ(expected.size(), found.size());
  for (const auto& [name, array] : expected) {
    ASSERT_TRUE(found.contains(name)) << name;
    EXPECT_TRUE(identical(found.at(name), array)) << name << ": " << to_string(found.at(name));
  }
}

Entries entries_of(const std::string& file) {
  Entries out;
  sorted_table::read(std::as_bytes(std::span(file)),
                     [&](auto key, auto value) { out.emplace_back(key, value); });
  return out;
}

bool has_snappy() {
  return error_of([] { read_tensor_bundle(folder + "compressed"); }).find("libsnappy-dev")
         == std::string::npos;
}

TEST(TensorBundle, ReadsTheTypesOfTensorFlow) {
  TensorBundle bundle = read_tensor_bundle(folder + "types");
  expect_equal(written_types(), bundle.tensors);
  EXPECT_THAT(bundle.skipped, ElementsAre("complex64: complex64", "int8: int8", "string: string"));
}

TEST(TensorBundle, ReadsCompressedBlocks) {
  if (!has_snappy()) GTEST_SKIP() << "built without Snappy";
  expect_equal(written_types(), read_tensor_bundle(folder + "compressed").tensors);
}

// The values are what tf.train.load_checkpoint() gave.
TEST(TensorBundle, JoinsPartitionedVariables) {
  NamedArrays tensors = read_tensor_bundle(folder + "model.ckpt-40").tensors;
  EXPECT_EQ(tensors.size(), 26u);
  EXPECT_EQ(tensors.at("global_step").item(), 40);
  EXPECT_EQ(tensors.at("words/table").shape(), (Shape{7, 2}));
  auto table = tensors.at("words/table").span<float>();
  EXPECT_THAT(std::vector<float>(table.begin(), table.end()),
              ElementsAre(0.6007123589515686f, 0.3248424232006073f, 0.19147683680057526f,
                          0.5118981003761292f, -0.9148328304290771f, -2.093414545059204f,
                          0.5606010556221008f, 2.168579339981079f, 2.5351219177246094f,
                          -0.5239903926849365f, -0.8781683444976807f, 0.9651831984519958f,
                          1.0249218940734863f, 2.1860556602478027f));
}

TEST(TensorBundle, WritesWhatTensorFlowWrites) {
  TemporaryFolder out;
  write_tensor_bundle(out / "types", written_types());
  expect_equal(written_types(), read_tensor_bundle(out / "types").tensors);
  EXPECT_EQ(out.names(), (std::set<std::string>{"types.data-00000-of-00001", "types.index"}));
  // Its own entries, written again, are its own file.
  for (const char* name : {"types.index", "model.ckpt-40.index"}) {
    std::string file = read_file(folder + name);
    EXPECT_EQ(sorted_table::write(entries_of(file)), file) << name;
    for (const auto& [key, value] : entries_of(file)) {
      if (key.empty()) continue;
      EXPECT_EQ(tensor_bundle::to_message(tensor_bundle::parse_entry(value)), value) << key;
    }
  }
  // Where no tensor is left out, offsets are its too.
  Entries ours = entries_of(read_file(out / "types.index"));
  Entries theirs = entries_of(read_file(folder + "types.index"));
  EXPECT_EQ(ours.front(), theirs.front());
  Entry mine = tensor_bundle::parse_entry(ours[1].second),
        its = tensor_bundle::parse_entry(theirs[1].second);
  EXPECT_EQ(ours[1].first, "bfloat16");
  EXPECT_EQ(mine.checksum, its.checksum);
  its.offset = mine.offset;
  EXPECT_EQ(tensor_bundle::to_message(its), ours[1].second);
}

// Lengths at the borders of 1, 2, 9 and 10 bytes, by TensorFlow's ordered_code.cc: 63 is BF, 64 is
// C0 40, -64 is 40, -65 is 3F BF.
TEST(TensorBundle, KeysOfSlicesAreThoseOfTensorFlow) {
  auto key = [](std::int64_t start, std::int64_t length) {
    return tensor_bundle::slice_key("v", {.start = {start}, .length = {length}});
  };
  std::string head = std::string("\0v\0\1\1\1", 6);
  EXPECT_EQ(key(0, 63), head + "\x80\xbf");
  EXPECT_EQ(key(64, -1), head + "\xc0\x40\x7f");
  EXPECT_EQ(key(8191, 8192), head + "\xdf\xff" + std::string("\xe0\x20\x00", 3));
  EXPECT_EQ(tensor_bundle::slice_key(std::string("a\0\xff", 3), {}),
            std::string("\0a\0\xff\xff\0\0\1\0", 9));
}

/// A checkpoint of which one thing is changed.
class Damaged : public ::testing::Test {
 protected:
  void write(const Entries& entries) {
    write_file_atomically(out / "x.index", sorted_table::write(entries));
    write_file_atomically(out / "x.data-00000-of-00001", std::string(16, '\1'));
  }
  std::string error() {
    return error_of([&] { read_tensor_bundle(out / "x"); });
  }
  std::string error_of_entry(Entry entry, const char* name = "a") {
    write({{"", tensor_bundle::header_message()}, {name, tensor_bundle::to_message(entry)}});
    return error();
  }

  TemporaryFolder out;
  const Entry good{
      .type = 1,
      .shape = {4},
      .shard = 0,
      .offset = 0,
      .bytes = 16,
      .checksum = masked(crc32c(std::as_bytes(std::span("\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1", 16)))),
      .slices = {}};
};

TEST_F(Damaged, EntriesThatDoNotFitTheFilesAreErrors) {
  EXPECT_EQ(error_of_entry(good), "no error");
  auto with = [&](auto change) {
    Entry entry = good;
    change(entry);
    return error_of_entry(entry);
  };
  EXPECT_THAT(with([](Entry& e) { e.offset = 4; }),
              HasSubstr("it is at bytes 4 to 4 + 16, but the file has 16"));
  EXPECT_THAT(with([](Entry& e) { e.shape = {5}; }),
              HasSubstr("it has 16 bytes, but f32[5] takes 20"));
  EXPECT_THAT(
      with([](Entry& e) { e.shape = {std::int64_t{1} << 40}, e.bytes = std::int64_t{4} << 40; }),
      HasSubstr("but the file has 16"));
  EXPECT_THAT(with([](Entry& e) {
                e.shape = {std::int64_t{1} << 62, 0};
              }),
              HasSubstr("more bytes than there can be"));
  EXPECT_THAT(with([](Entry& e) { e.shape.assign(9, 1); }), HasSubstr("it has 9 axes"));
  EXPECT_THAT(with([](Entry& e) { e.checksum ^= 1; }), HasSubstr("the file is damaged"));
  EXPECT_THAT(with([](Entry& e) { e.shard = 1; }), HasSubstr("it is in data file 1 of 1"));
  EXPECT_THAT(with([](Entry& e) { e.type = 10, e.shape = {16}; }), "no error");
  EXPECT_THAT(with([](Entry& e) { e.offset = -1; }), HasSubstr("is negative"));
}

TEST_F(Damaged, ABoolIsZeroOrOne) {
  Entry entry = good;
  entry.type = 10, entry.shape = {2}, entry.bytes = 2;
  entry.checksum = masked(crc32c(std::as_bytes(std::span("\1\2", 2))));
  write({{"", tensor_bundle::header_message()}, {"a", tensor_bundle::to_message(entry)}});
  write_file_atomically(out / "x.data-00000-of-00001", "\1\2");
  EXPECT_THAT(error(), HasSubstr("a BOOL has the value 2"));
}

TEST_F(Damaged, LongNamesAreErrors) {
  EXPECT_EQ(error_of_entry(good, std::string(4096, 'a').c_str()), "no error");
  const std::string longer(4097, 'a');
  EXPECT_THAT(error_of_entry(good, longer.c_str()), HasSubstr("is 4097 bytes long; at most 4096"));
  EXPECT_THAT(error_of([&] {
                write_tensor_bundle(out / "y", {{longer, Array::scalar(1.0f)}});
              }),
              HasSubstr("is 4097 bytes long"));
}

/// A tensor `a` of f32 that is cut into parts, and what is said of them.
class LyingSlices : public Damaged {
 protected:
  struct Part {
    Slice slice;
    std::vector<std::int64_t> shape;
  };
  // Each part's elements lie behind those of the part before.
  std::string error_of_parts(std::vector<std::int64_t> shape, const std::vector<Part>& parts) {
    Entry whole{.type = 1, .shape = std::move(shape), .slices = {}};
    std::map<std::string, std::string> entries{{"", tensor_bundle::header_message()}};
    std::int64_t offset = 0;
    for (const Part& part : parts) {
      whole.slices.push_back(part.slice);
      Entry entry{.type = 1, .shape = part.shape, .offset = offset, .bytes = 4, .slices = {}};
      for (std::int64_t size : part.shape) entry.bytes *= size;
      offset += entry.bytes;
      const std::string bytes(static_cast<std::size_t>(entry.bytes), '\1');
      entry.checksum = masked(crc32c(std::as_bytes(std::span(bytes))));
      entries[tensor_bundle::slice_key("a", part.slice)] = tensor_bundle::to_message(entry);
    }
    entries["a"] = tensor_bundle::to_message(whole);
    for (const std::string& key : left_out) entries.erase(key);
    write({entries.begin(), entries.end()});
    return error();
  }
  std::set<std::string> left_out;
};

TEST_F(LyingSlices, AreErrors) {
  const Slice low{{0, 0}, {1, -1}}, high{{1, 0}, {1, -1}};
  EXPECT_EQ(error_of_parts({2, 2}, {{high, {1, 2}}, {low, {1, 2}}}), "no error");
  EXPECT_THAT(error_of_parts({2, 2}, {{low, {1, 2}}}), HasSubstr("its parts end at 1 of axis 0"));
  EXPECT_THAT(error_of_parts({2, 2}, {{high, {1, 2}}}),
              HasSubstr("a part begins at 1 of axis 0 and has 1, expected to begin at 0 of 2"));
  EXPECT_THAT(error_of_parts({2, 1}, {{{{0, 0}, {2, -1}}, {2, 1}}, {high, {1, 1}}}),
              HasSubstr("a part begins at 1 of axis 0 and has 1, expected to begin at 2 of 2"));
  EXPECT_THAT(error_of_parts({2, 1}, {{low, {1, 1}}, {{{1, 0}, {2, -1}}, {2, 1}}}),
              HasSubstr("a part begins at 1 of axis 0 and has 2, expected to begin at 1 of 2"));
  EXPECT_THAT(error_of_parts({2, 2}, {{{{0, 0}, {1, 1}}, {1, 1}}, {{{1, 1}, {1, 1}}, {1, 1}}}),
              HasSubstr("it is cut along 2 axes; one can be joined"));
  EXPECT_THAT(error_of_parts({2, 2}, {{low, {1, 2}}, {high, {2, 1}}}),
              HasSubstr("the part from 1 of axis 0 has another type or shape"));
  EXPECT_THAT(error_of_parts({}, {{{}, {}}}), HasSubstr("a scalar cannot be cut"));
  // The first part alone shows that the axis is cut.
  EXPECT_THAT(error_of_parts({4}, {{{{1}, {1}}, {1}}, {{}, {}}}),
              HasSubstr("a part has 0 axes, the whole 1"));
  left_out = {tensor_bundle::slice_key("a", high)};
  EXPECT_THAT(error_of_parts({2, 2}, {{low, {1, 2}}, {high, {1, 2}}}),
              HasSubstr("the part from 1 of axis 0 is missing"));
}

TEST_F(LyingSlices, WithoutElementsAreJoinedAtOnce) {
  constexpr std::int64_t many = std::int64_t{1} << 40;
  EXPECT_EQ(error_of_parts({many, 2, 0}, {{{{0, 0, 0}, {-1, 1, -1}}, {many, 1, 0}},
                                          {{{0, 1, 0}, {-1, 1, -1}}, {many, 1, 0}}}),
            "no error");
}

TEST_F(Damaged, TensorsThatShareBytesAreErrors) {
  std::string entry = tensor_bundle::to_message(good);
  write({{"", tensor_bundle::header_message()}, {"a", entry}, {"b", entry}});
  EXPECT_THAT(error(), HasSubstr("it shares bytes with another tensor"));
}

TEST_F(Damaged, FilesThatAreMissingOrNoIndexAreErrors) {
  EXPECT_THAT(error(), HasSubstr("x.index"));
  write_file_atomically(out / "x.index", std::string(100, 'x'));
  EXPECT_THAT(error(), HasSubstr("are not those of a table of LevelDB"));
  write({{"a", tensor_bundle::to_message(good)}});
  EXPECT_THAT(error(), HasSubstr("there is no header"));
  write({{"", "\x10\x01"}});
  EXPECT_THAT(error(), HasSubstr("big-endian"));
  write({{"", tensor_bundle::header_message()}, {"a", tensor_bundle::to_message(good)}});
  std::filesystem::remove(out / "x.data-00000-of-00001");
  EXPECT_THAT(error(), HasSubstr("x.data-00000-of-00001"));
}

// Every byte of an index, changed, and every truncation: its checksums leave nothing through but
// what changes nothing, in the padding of the footer and the handle that nobody needs.
TEST_F(Damaged, NoChangedByteGoesUnseen) {
  for (std::string name : {"types", "compressed"}) {
    if (name == "compressed" && !has_snappy()) break;
    const std::string whole = read_file(folder + name + ".index");
    auto outcome = [&](const std::string& file) { return error_of([&] { entries_of(file); }); };
    std::string untouched = outcome(whole);
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_NE(outcome(whole.substr(0, size)), untouched) << name << " cut to " << size;
    for (std::size_t at = 0; at < whole.size(); ++at)
      for (int value : {0, 1, 0x7f, 0x80, 0xff}) {
        std::string file = whole;
        file[at] = static_cast<char>(value);
        if (outcome(file) == untouched) {
          EXPECT_TRUE(file == whole || at >= whole.size() - 48) << name << " at " << at;
        }
      }
  }
}

}  // namespace
}  // namespace belfry
