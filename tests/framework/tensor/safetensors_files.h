#pragma once
// Safetensors files, good and bad, for the tests of their reader and writer.

#include <gmock/gmock.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "../base/temporary_folder.h"
#include "bad_safetensors.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/tensor/safetensors.h"

namespace belfry {

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
  /// Error text of loading these bytes; empty when they load.
  std::string error_of(const std::string& bytes) {
    write(bytes);
    try {
      load_safetensors(path);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
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
