#include "belfry/data/sources/files.h"

#include <map>

#include "belfry/data/formats/arrays/npy.h"
#include "belfry/data/formats/arrays/npz.h"
#include "belfry/framework/tensor/safetensors.h"
#include "source_files.h"

namespace belfry::data {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Files : public ::testing::Test {
 protected:
  std::vector<std::string> write_all(const std::vector<std::string>& names) const {
    std::vector<std::string> out;
    for (const std::string& name : names) out.push_back(files_.write(name, ""));
    return out;
  }
  SourceFiles files_;
};

TEST_F(Files, TextIsAnArrayOfItsBytes) {
  Array bytes = array_of("h\xc3\xa9");
  EXPECT_EQ(to_string(bytes.type()), "u8[3]");
  EXPECT_EQ(bytes.at(1), 0xc3);
  EXPECT_EQ(text_of(bytes), "h\xc3\xa9");
  EXPECT_EQ(text_of(array_of("")), "");
  EXPECT_NE(error_of([] { text_of(Array::scalar(1.0f)); }), "no error");
}

TEST_F(Files, AreListedInOrder) {
  auto all = write_all({"a.txt", "B.txt", "c.log", "d1/e.txt", "d2/f.txt"});
  EXPECT_EQ(list_files(files_ / "*.txt"), (Words{all[1], all[0]}));  // in bytes
  EXPECT_EQ(list_files(files_ / "?.*"), (Words{all[1], all[0], all[2]}));
  EXPECT_EQ(list_files(files_ / "d[12]/*"), (Words{all[3], all[4]}));
  EXPECT_EQ(list_files(all[0]), Words{all[0]});
}

TEST_F(Files, MayBeListedInTheOrderOfASeed) {
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) names.push_back(concat(static_cast<char>('a' + i)));
  write_all(names);
  auto listed = [&](std::uint64_t seed) {
    return list_files(files_ / "*", {.shuffle_seed = seed});
  };
  Words plain = list_files(files_ / "*"), shuffled = listed(1);
  EXPECT_NE(shuffled, plain);
  EXPECT_EQ(shuffled, listed(1));
  EXPECT_NE(shuffled, listed(2));
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, plain);
}

TEST_F(Files, AllOrdersAreEquallyLikely) {
  write_all({"a", "b", "c"});
  std::map<Words, int> seen;
  for (std::uint64_t seed = 0; seed < 600; ++seed)
    ++seen[list_files(files_ / "*", {.shuffle_seed = seed})];
  EXPECT_EQ(seen.size(), 6u);
  // 100 of each are expected; 60 to 140 are more than four standard deviations (9.1).
  for (const auto& [order, count] : seen)
    EXPECT_THAT(count, ::testing::AllOf(::testing::Gt(60), ::testing::Lt(140)));
}

TEST_F(Files, ThatAreNotThereAreAnError) {
  EXPECT_EQ(error_of([&] { list_files(files_ / "*.png"); }),
            "list_files: nothing matches " + (files_ / "*.png"));
  EXPECT_THAT(error_of([&] { list_files(files_ / "gone/*.png"); }),
              StartsWith("list_files: nothing matches " + (files_ / "gone/*.png")));
}

TEST_F(Files, AreElements) {
  Dataset data = files({"b", "a", "a long/path"});
  EXPECT_EQ(data.cardinality(), 3);
  EXPECT_TRUE(data.info().random_access);
  EXPECT_EQ(strings(data, "path"), (Words{"b", "a", "a long/path"}));
  EXPECT_EQ(strings(data | skip(1), "path"), (Words{"a", "a long/path"}));
  EXPECT_EQ(words_of_shard(data, 2, 0, "path"), (Words{"b", "a long/path"}));
  EXPECT_EQ(words_of_shard(data, 2, 1, "path"), Words{"a"});
  EXPECT_EQ(error_of([] { files({}); }), "files: there are no files");
  expect_resumes(data | shuffle(3) | repeat(2), 60, 25, "path");
}

TEST_F(Files, AreSharedByFile) {
  Dataset data = files({"b", "a", "c"});
  EXPECT_EQ(data.info().files, (Words{"b", "a", "c"}));
  // One file an element: to share the files is to share the elements.
  std::string shares =
      "files, pipeline 0 of 2: elements 0, 2, 4, ... (2 of 3)\n"
      "files, pipeline 1 of 2: elements 1, 3, 5, ... (1 of 3)\n";
  EXPECT_EQ(describe_shards(data, 2), shares);
  for (ShardPolicy policy : {ShardPolicy::automatic, ShardPolicy::file, ShardPolicy::data}) {
    Dataset mine = data | with_options({.shard = policy});
    EXPECT_EQ(words_of_shard(mine, 2, 0, "path"), (Words{"b", "c"}));
    EXPECT_EQ(words_of_shard(mine, 2, 1, "path"), Words{"a"});
    Dataset shuffled = mine | shuffle(3, {.seed = 5});
    Words all = words_of_shard(shuffled, 2, 0, "path");
    for (const std::string& path : words_of_shard(shuffled, 2, 1, "path")) all.push_back(path);
    EXPECT_THAT(all, ::testing::UnorderedElementsAre("a", "b", "c"));
  }
  EXPECT_EQ(describe_shards(data | with_options({.shard = ShardPolicy::file}), 2), shares);
  EXPECT_EQ(words_of_shard(data | with_options({.shard = ShardPolicy::off}), 2, 1, "path"),
            (Words{"b", "a", "c"}));
  EXPECT_THAT(error_of([&] {
                words_of_shard(data | with_options({.shard = ShardPolicy::file}), 4, 0, "path");
              }),
              HasSubstr("3 elements cannot be shared by 4 pipelines"));
}

TEST_F(Files, AreInterleavedWithoutAFunctionOfYourOwn) {
  std::string a = files_.write("a", "1\n2\n"), b = files_.write("b", "3\n4\n");
  Dataset both = files({a, b});
  EXPECT_EQ(strings(both | interleave(read_text_lines), "line"), (Words{"1", "3", "2", "4"}));
  CsvFilesOptions plain{.csv = {.header = false}};
  EXPECT_EQ(words(both | interleave(read_csv({{.name = "value", .type = CsvType::i64}}, plain))),
            (Words{"1", "3", "2", "4"}));
  EXPECT_EQ(strings(both | interleave(read_fixed_length_records(2)), "record"),
            (Words{"1\n", "3\n", "2\n", "4\n"}));
  EXPECT_EQ(error_of([] { read_csv({}); }), "csv: no columns are asked for");
  EXPECT_EQ(error_of([] { read_fixed_length_records(0); }),
            "fixed_length_records: a record has 1 to 2^31 bytes, got 0");
}

TEST_F(Files, OfNumPyAreRows) {
  std::string path = files_ / "a.npy";
  write_npy(path, Array::of<std::int64_t>({1, 2, 3, 4, 5, 6}, {3, 2}));
  EXPECT_EQ(words(npy(path)), (Words{"1,2", "3,4", "5,6"}));
  EXPECT_TRUE(npy(path).info().random_access);
  expect_resumes(npy(path));
  write_npy(path, Array::scalar(1.0f));
  EXPECT_THAT(error_of([&] { npy(path); }), HasSubstr("`value` is a scalar"));
  EXPECT_THAT(error_of([&] { npy(files_ / "gone"); }), HasSubstr(files_ / "gone"));
}

TEST_F(Files, OfSeveralArraysAreRowsOfAll) {
  Features arrays{{"value", Array::of<std::int64_t>({1, 2, 3})},
                  {"x", Array::of<float>({1, 2, 3, 4, 5, 6}, {3, 2})}};
  write_npz(files_ / "a.npz", arrays);
  save_safetensors(files_ / "a.safetensors",
                   {{"value", arrays.at("value")}, {"x", arrays.at("x")}});
  for (const Dataset& data : {npz(files_ / "a.npz"), safetensors(files_ / "a.safetensors")}) {
    EXPECT_EQ(words(data), (Words{"1", "2", "3"}));
    EXPECT_EQ(words(data, 1000, "x"), (Words{"1,2", "3,4", "5,6"}));
  }
  Dataset only = npz(files_ / "a.npz", {"x"});
  EXPECT_EQ(words(only, 1000, "x"), (Words{"1,2", "3,4", "5,6"}));
  InputStreamPtr stream = open(only);
  Features element;
  ASSERT_TRUE(stream->next(element));
  EXPECT_EQ(to_string(signature_of(element)), "x f32[2]");
  arrays.set("x", Array::zeros({2}));
  write_npz(files_ / "a.npz", arrays);
  EXPECT_EQ(error_of([&] { npz(files_ / "a.npz"); }),
            "npz: arrays must agree in axis 0, but `value` is [3] and `x` is [2] (in "
                + (files_ / "a.npz") + ")");
}

std::string idx_file(std::vector<std::uint8_t> sizes, std::string_view elements) {
  std::string out{'\0', '\0', '\x08', static_cast<char>(sizes.size())};
  for (std::uint8_t size : sizes) out += std::string(3, '\0') + static_cast<char>(size);
  return out + std::string(elements);
}

TEST_F(Files, OfIdxAreImagesAndLabels) {
  std::string images = files_.write("images.gz", idx_file({3, 1, 2}, "abcdef"), Compression::gzip);
  std::string labels = files_.write("labels", idx_file({3}, "\x05\xff\x07"));
  Dataset data = idx(images, labels);
  EXPECT_EQ(words(data, 1000, "label"), (Words{"5", "255", "7"}));
  EXPECT_EQ(strings(data, "image"), (Words{"ab", "cd", "ef"}));
  InputStreamPtr stream = open(data);
  Features element;
  stream->next(element);
  EXPECT_EQ(to_string(signature_of(element)), "image u8[1, 2], label i64[]");

  files_.write("labels", idx_file({2}, "\x05\x06"));
  EXPECT_EQ(error_of([&] { idx(images, labels); }),
            labels + ": the labels are [2], expected [3], one for each row of " + images);
  EXPECT_THAT(error_of([&] { idx(labels, images); }), StartsWith(images + ": the labels are"));
}

}  // namespace
}  // namespace belfry::data
