// The limits of headers; bad_safetensors_test.cpp has those that are refused.
#include "belfry/framework/tensor/safetensors_header.h"

#include <gmock/gmock.h>

#include "safetensors_files.h"

namespace belfry {
namespace {

using ::testing::StartsWith;
using ::testing::ThrowsMessage;

using SafetensorsHeaderTest = SafetensorsTest;

TEST_F(SafetensorsHeaderTest, TheLongestHeaderAllowedIsRead) {
  write(file_of("{}" + std::string(99'999'998, ' ')));
  EXPECT_TRUE(load_safetensors(path).tensors.empty());
}

TEST_F(SafetensorsHeaderTest, BooleansAreZeroOrOne) {
  EXPECT_EQ(error_of(file_of("{" + tensor("w", "BOOL", "2", "0,2") + "}", 2)), "");
}

TEST_F(SafetensorsHeaderTest, ErrorsCutLongNamesBetweenCharacters) {
  std::string accents;
  for (int i = 0; i < 3000; ++i) accents += "é";
  EXPECT_THAT(error_of(file_of("{" + tensor("x" + accents, "U8", "", "0,1") + "}", 1)),
              StartsWith("the name `x" + accents.substr(0, 78) + "...` is 6001 bytes long"));
}

TEST_F(SafetensorsHeaderTest, AMillionTensorsAreReadAndOneMoreIsRefused) {
  std::string json = "{";
  for (int i = 0; i < 1'000'000; ++i)
    json += (i ? "," : "") + tensor(std::to_string(i), "U8", "0", "0,0");
  write(file_of(json + "}"));
  EXPECT_EQ(read_safetensors_header(path).tensors.size(), 1'000'000u);
  write(file_of(json + "," + tensor("x", "U8", "0", "0,0") + "}"));
  EXPECT_THAT([&] { read_safetensors_header(path); },
              ThrowsMessage<Error>(StartsWith("the header names more than 1000000 tensors")));
}

}  // namespace
}  // namespace belfry
