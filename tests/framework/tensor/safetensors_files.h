#pragma once
// Safetensors files, good and bad, for the tests of their reader and writer.

#include <gmock/gmock.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "../base/temporary_folder.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/tensor/safetensors.h"

namespace belfry {

/// A file with this header and this many bytes of data, 0, 1, 2, ...
inline std::string file_of(const std::string& json, std::size_t data_bytes = 0) {
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>(json.size() >> 8 * i);
  out += json;
  for (std::size_t i = 0; i < data_bytes; ++i) out += static_cast<char>(i);
  return out;
}

inline std::string tensor(const std::string& name, const std::string& dtype,
                          const std::string& shape, const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape
         + "],\"data_offsets\":[" + offsets + "]}";
}

inline NamedArrays all_types() {
  return {{"f64", Array::of({1.5, -2.25})},
          {"f32", Array::of({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}, {2, 3})},
          {"bf16", Array::of({0.5f, 3.0f, -1.0f}).cast(DType::bf16)},
          {"f16", Array::of({0.5f}).cast(DType::f16)},
          {"i64", Array::scalar(std::int64_t{-7})},
          {"i32", Array::of({1, -1, 1 << 30})},
          {"u8", Array::of<std::uint8_t>({1, 128, 255})},
          {"flags", Array::of({true, false, true})},
          {"none", Array({0, 4}, DType::f32)},
          {"scope/ünï", Array::scalar(8.0f)}};
}

inline const Metadata metadata{{"belfry.step", "1200"}, {"note", "line\nand \"quotes\""}};

inline void expect_equal(const NamedArrays& a, const NamedArrays& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, array] : a) {
    ASSERT_TRUE(b.contains(name)) << name;
    EXPECT_TRUE(identical(array, b.at(name))) << name;
  }
}

class SafetensorsTest : public ::testing::Test {
 protected:
  /// Error text of loading these bytes; the header-only scan must agree unless it is `data` that is
  /// wrong. Empty when they load.
  std::string error_of(const std::string& bytes) {
    write(bytes);
    try {
      load_safetensors(path);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }
  std::string error_of_header(const std::string& json, std::size_t data_bytes = 0) {
    std::string error = error_of(file_of(json, data_bytes));
    try {
      read_safetensors_header(path);
      EXPECT_EQ(error, "");
    } catch (const Error& header_error) {
      EXPECT_EQ(error, header_error.what());
    }
    EXPECT_THAT(error, ::testing::EndsWith(" (in `" + path + "`)"));
    return error.substr(0, error.rfind(" (in "));
  }

  /// Without the sync of write_file_atomically(): there are many files to write.
  void write(const std::string& bytes) {
    std::filesystem::remove(path);  // some file systems sync a file that is truncated
    std::FILE* file = std::fopen(path.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
    EXPECT_EQ(std::fclose(file), 0);
  }

  TemporaryFolder folder;
  std::string path = folder / "model.safetensors";
};

}  // namespace belfry
