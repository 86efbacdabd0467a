#include "belfry/framework/tensor/safetensors.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>

#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/tensor/philox.h"
#include "safetensors_files.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

std::string checksum(std::string_view bytes) {
  char out[9];
  std::snprintf(out, sizeof out, "%08x", crc32c(std::as_bytes(std::span(bytes))));
  return out;
}

TEST_F(SafetensorsTest, AllTypesShapesAndMetadataComeBack) {
  save_safetensors(path, all_types(), metadata);
  Safetensors loaded = load_safetensors(path);
  expect_equal(all_types(), loaded.tensors);
  EXPECT_THAT(loaded.metadata, ElementsAre(Pair("belfry.step", "1200"), Pair("format", "pt"),
                                           Pair("note", "line\nand \"quotes\"")));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(loaded.tensors.at("f32").raw()) % 64, 0u);
}

TEST_F(SafetensorsTest, LoadedContentsCanBeSavedAgainToTheSameBytes) {
  save_safetensors(path, all_types(), metadata);
  Safetensors loaded = load_safetensors(path);
  save_safetensors(folder / "again", loaded.tensors, loaded.metadata);
  EXPECT_EQ(read_file(path), read_file(folder / "again"));
}

TEST_F(SafetensorsTest, TheBytesAreThoseOfTheFormat) {
  save_safetensors(path, {{"b", Array::of<std::uint8_t>({1, 2, 3})}, {"a", Array::scalar(1.0f)}},
                   {{"format", "np"}});
  std::string data = std::string("\x00\x00\x80\x3f", 4) + "\x01\x02\x03";
  std::string tensors =
      "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
      "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[4,7]}}";
  std::string unmarked = "{\"__metadata__\":{\"format\":\"np\"}," + tensors;
  std::string json = "{\"__metadata__\":{\"belfry.crc32c\":\"" + checksum(data)
                     + "\",\"belfry.header_crc32c\":\"" + checksum(unmarked)
                     + "\",\"format\":\"np\"}," + tensors;
  json.resize((json.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(read_file(path), file_of(json) + data);
}

TEST_F(SafetensorsTest, LargerTypesComeFirstThenNames) {
  save_safetensors(path, all_types());
  std::string bytes = read_file(path);
  std::size_t last = 0;
  for (const char* name :
       {"i64", "f64", "f32", "none", "scope/ünï", "i32", "bf16", "f16", "u8", "flags"}) {
    std::size_t at = bytes.find("\"" + std::string(name) + "\":");
    ASSERT_NE(at, std::string::npos) << name;
    EXPECT_GT(at, last) << name;
    last = at;
  }
  EXPECT_EQ(static_cast<unsigned char>(bytes[0]) % 8, 0);
}

TEST_F(SafetensorsTest, NoTensorsAtAllIsAFileToo) {
  save_safetensors(path, {});
  EXPECT_TRUE(load_safetensors(path).tensors.empty());
  EXPECT_EQ(error_of(file_of("{}")), "");
}

TEST_F(SafetensorsTest, TheHeaderAloneGivesNamesTypesAndMetadata) {
  save_safetensors(path, all_types(), metadata);
  SafetensorsHeader header = read_safetensors_header(path);
  EXPECT_EQ(header.tensors.size(), all_types().size());
  for (const auto& [name, array] : all_types()) EXPECT_EQ(header.tensors.at(name), array.type());
  EXPECT_EQ(header.metadata, load_safetensors(path).metadata);
}

TEST_F(SafetensorsTest, ReadsWhatOtherProgramsWrite) {
  // No padding, no metadata, any order of names and fields, an empty tensor between two others.
  write_file_atomically(
      path, file_of("{\"z\":{\"data_offsets\":[0,2],\"shape\":[2],\"dtype\":\"U8\"},"
                        + tensor("a", "U8", "1,1,1", "2,3") + "," + tensor("e", "I64", "0,7", "2,2")
                        + "}",
                    3));
  Safetensors loaded = load_safetensors(path);
  expect_equal(loaded.tensors, {{"z", Array::of<std::uint8_t>({0, 1})},
                                {"a", Array::of<std::uint8_t>({2}, {1, 1, 1})},
                                {"e", Array({0, 7}, DType::i64)}});
  EXPECT_TRUE(loaded.metadata.empty());
  // Names are not paths, and escapes mean what JSON says.
  write_file_atomically(path, file_of("{" + tensor("../a/\\u00e9", "U8", "", "0,1") + "}  \n", 1));
  EXPECT_TRUE(load_safetensors(path).tensors.contains("../a/é"));
}

TEST_F(SafetensorsTest, SavingRefusesWhatItCouldNotReadBack) {
  Array x = Array::scalar(1.0f);
  auto error = [&](const NamedArrays& tensors, const Metadata& entries) -> std::string {
    try {
      save_safetensors(path, tensors, entries);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  std::string where = " (saving `" + path + "`)";
  EXPECT_EQ(error({{"x", Array()}}, {}), "tensor `x` is undefined" + where);
  EXPECT_EQ(error({{"__metadata__", x}}, {}), "a tensor cannot be called __metadata__" + where);
  EXPECT_EQ(error({{"a\nb", x}}, {}), "the name `a?b` contains a control character" + where);
  EXPECT_THAT(error({{std::string(4097, 'n'), x}}, {}),
              HasSubstr("...` is 4097 bytes long; at most 4096 are allowed"));
  EXPECT_EQ(error({{std::string(4096, 'n'), x}}, {}), "");
  EXPECT_THAT(error({{"\xff", x}}, {}), HasSubstr("is not valid UTF-8"));
  EXPECT_THAT(error({}, {{"k", "\xc3"}}), HasSubstr("is not valid UTF-8"));
  EXPECT_EQ(error({}, {{"belfry.crc32c", "0"}}),
            "the metadata key `belfry.crc32c` is reserved" + where);
  EXPECT_THAT(error({}, {{"k", std::string(100'000'000, 'v')}}),
              HasSubstr("names and metadata take 1000001"));
  Array flags = Array::of<bool>({true, true});
  flags.raw_bytes()[1] = std::byte{2};
  EXPECT_EQ(error({{"flags", flags}}, {}),
            "tensor `flags`: element 1 of type BOOL is 2; expected 0 or 1" + where);
}

TEST_F(SafetensorsTest, AFailedSaveLeavesTheOldFile) {
  save_safetensors(path, all_types(), metadata);
  std::string before = read_file(path);
  rlimit unlimited{};
  ::getrlimit(RLIMIT_FSIZE, &unlimited);
  rlimit limit = unlimited;
  limit.rlim_cur = 100'000;
  auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_THAT(
      [&] {
        save_safetensors(path, {{"large", Array::zeros({100'000})}});
      },
      ThrowsMessage<Error>(StartsWith("cannot write `" + path + "`: File too large; ")));
  ::setrlimit(RLIMIT_FSIZE, &unlimited);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_file(path), before);
  EXPECT_THAT(folder.names(), ElementsAre("model.safetensors"));
}

TEST_F(SafetensorsTest, AMissingFileIsAnError) {
  EXPECT_THAT(
      [&] { load_safetensors(path); },
      ThrowsMessage<Error>(StartsWith("cannot read `" + path + "`: No such file or directory; ")));
}

// ---- Damage to a good file

TEST_F(SafetensorsTest, ChecksumsThatDisagreeAreErrors) {
  save_safetensors(path, {{"w", Array::of({1.0f, 2.0f})}}, {{"belfry.step", "5"}});
  std::string good = read_file(path);
  auto replaced = [&](const std::string& from, const std::string& to) {
    std::string out = good;
    return out.replace(out.find(from), from.size(), to);
  };
  std::string bad_data = good;
  bad_data.back() ^= 1;
  EXPECT_THAT(
      error_of(bad_data),
      AllOf(StartsWith("the checksum of the data is "),
            HasSubstr("expected `" + checksum(std::string_view(good).substr(good.size() - 8))
                      + "`: the file is damaged")));
  EXPECT_NO_THROW(read_safetensors_header(path));  // it reads no data
  EXPECT_THAT(error_of(replaced("\"w\"", "\"v\"")), StartsWith("the checksum of the header is "));
  EXPECT_THAT(error_of(replaced("F32", "I32")), StartsWith("the checksum of the header is "));
  EXPECT_THAT(error_of(replaced(":\"5\"", ":\"6\"")), StartsWith("the checksum of the header is "));
  EXPECT_THAT(error_of(replaced("belfry.crc32c", "celfry.crc32c")),
              StartsWith("the metadata has `belfry.header_crc32c` but no `belfry.crc32c`: the file "
                         "is damaged"));
  EXPECT_THAT(error_of(replaced("header_crc", "heater_crc")),
              StartsWith("the metadata has `belfry.crc32c` but no `belfry.header_crc32c`"));
  // White space does not matter: another program may write the header in its own way.
  EXPECT_EQ(
      error_of(file_of("{ " + good.substr(9, good.size() - 17)) + good.substr(good.size() - 8)),
      "");
}

/// The outcome of loading damaged bytes: an Error that names the file, or the same content.
class Damage : public SafetensorsTest {
 protected:
  Damage() {
    save_safetensors(path, all_types(), metadata);
    good = read_file(path);
    content = load_safetensors(path);
  }

  void check(const std::string& bytes, const std::string& what) {
    write(bytes);
    try {
      Safetensors loaded = load_safetensors(path);
      ++harmless;
      SCOPED_TRACE(what);
      EXPECT_EQ(loaded.metadata, content.metadata);
      expect_equal(content.tensors, loaded.tensors);
    } catch (const Error& error) {
      ++refused;
      EXPECT_THAT(error.what(), HasSubstr("`" + path + "`")) << what;
    }
  }

  std::string good;
  Safetensors content;
  int refused = 0;
  int harmless = 0;
};

TEST_F(Damage, EveryFlippedBitIsFound) {
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    check(bytes, concat("bit ", bit));
  }
  EXPECT_EQ(harmless, 0);
}

TEST_F(Damage, EveryTruncationIsFound) {
  for (std::size_t size = 0; size < good.size(); ++size)
    check(good.substr(0, size), concat("size ", size));
  EXPECT_EQ(harmless, 0);
}

TEST_F(Damage, TwoThousandRandomMutationsGiveAnErrorOrTheSameContent) {
  std::size_t header_bytes =
      static_cast<unsigned char>(good[0]) + 256u * static_cast<unsigned char>(good[1]);
  PhiloxStream random(philox_key(20, "damage"));
  auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random.below(bound)); };
  const std::vector<std::string> numbers{"0",
                                         "1",
                                         "-1",
                                         "2",
                                         "00",
                                         "1e9",
                                         "0.5",
                                         "4294967295",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "18446744073709551615",
                                         "18446744073709551616",
                                         "[]",
                                         "null",
                                         "\"\""};
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = good;
    int times = 1 + static_cast<int>(below(3));
    for (int t = 0; t < times && !bytes.empty(); ++t) {
      std::size_t at = below(bytes.size());
      std::size_t length = std::min(below(64), bytes.size() - at);
      switch (below(7)) {
        case 0:  // flip a bit
          bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8));
          break;
        case 1:  // cut the end
          bytes.resize(at);
          break;
        case 2:  // insert
          bytes.insert(at, length, static_cast<char>(below(256)));
          break;
        case 3:  // remove from the middle
          bytes.erase(at, length);
          break;
        case 4:  // overwrite with bytes from elsewhere
          bytes.replace(at, length, good.substr(below(good.size()), length));
          break;
        case 5: {  // swap two ranges
          std::size_t other = below(bytes.size());
          length = std::min({length, bytes.size() - at, bytes.size() - other});
          if (at + length <= other || other + length <= at)
            std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                             bytes.begin() + static_cast<std::ptrdiff_t>(at + length),
                             bytes.begin() + static_cast<std::ptrdiff_t>(other));
          break;
        }
        default: {  // put another number into the header
          std::size_t digit = bytes.find_first_of("0123456789", 8 + below(header_bytes));
          if (digit == std::string::npos) break;
          std::size_t end = bytes.find_first_not_of("0123456789", digit);
          bytes.replace(digit, std::min(end, bytes.size()) - digit, numbers[below(numbers.size())]);
        }
      }
    }
    check(bytes, concat("mutation ", i));
  }
  EXPECT_GT(refused, 1900);
}

// Without checksums damage to the data cannot be seen, but it must not crash either.
TEST_F(Damage, FilesOfOtherProgramsNeverCrashTheLoader) {
  std::string plain = file_of("{\"__metadata__\":{\"k\":\"v\"}," + tensor("a", "F32", "2,2", "0,16")
                                  + "," + tensor("b", "BOOL", "2", "16,18") + "}",
                              16)
                      + std::string("\0\1", 2);
  write(plain);
  EXPECT_NO_THROW(load_safetensors(path));
  PhiloxStream random(philox_key(21, "damage"));
  int loaded = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = plain;
    for (int t = 0; t < 2; ++t) {
      auto bit = random.below(8 * bytes.size());
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    }
    write(bytes);
    try {
      loaded += load_safetensors(path).tensors.size() == 2;
    } catch (const Error& error) {
      ++refused;
      EXPECT_THAT(error.what(), HasSubstr(path));
    }
  }
  EXPECT_GT(loaded, 0);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace belfry
