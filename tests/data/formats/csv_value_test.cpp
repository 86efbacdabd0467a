#include "belfry/data/formats/csv_value.h"

#include <cmath>

#include "pipeline.h"

namespace belfry::data {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

double value(CsvType type, const std::string& field) {
  Array out;
  convert_field({.name = "x", .type = type}, {}, field, 0, out);
  return out.item();
}

// The value that a field reads as: a number, or the error.
std::string field(CsvType type, const std::string& content) {
  std::string out;
  std::string error = error_of([&] { out = text(value(type, content)); });
  return error == "no error" ? out : error;
}

TEST(CsvValue, NumbersAreReadStrictly) {
  for (auto type : {CsvType::f32, CsvType::f64, CsvType::i32, CsvType::i64}) {
    EXPECT_EQ(field(type, " \t-12 "), "-12");
    for (const char* bad : {"1_000", "12a", "+1", "0x10", "1 2", "--1", "1,", "e", "'1'", " "})
      EXPECT_EQ(field(type, bad), concat("`", bad, "` is not of type ", type));
  }
  EXPECT_EQ(field(CsvType::i64, "1.0"), "`1.0` is not of type i64");
  EXPECT_EQ(field(CsvType::i64, "9223372036854775808"), "`9223372036854775808` does not fit i64");
  EXPECT_EQ(field(CsvType::i32, "2147483648"), "`2147483648` does not fit i32");
  EXPECT_EQ(field(CsvType::f32, "1e39"), "`1e39` does not fit f32");
  EXPECT_EQ(field(CsvType::f64, "1e39"), "1e+39");
  EXPECT_EQ(field(CsvType::f64, "1e400"), "`1e400` does not fit f64");
  EXPECT_EQ(field(CsvType::f64, ".5e-3"), "5e-04");
  EXPECT_EQ(field(CsvType::f32, "-inf"), "-inf");
  EXPECT_THAT(field(CsvType::f32, "nan"), HasSubstr("nan"));
  EXPECT_EQ(field(CsvType::i64, std::string(50, '9')),
            "`" + std::string(40, '9') + "...` does not fit i64");
}

TEST(CsvValue, TinyNumbersAreRounded) {
  EXPECT_EQ(value(CsvType::f32, "1e-40"), 1e-40f);  // denormal
  for (const char* tiny : {"1e-50", "1e-400", "0.1e-99999999999999999999", "12345.6e-500",
                           "0.00000000000000000000000000000000000000000000000000000000001"})
    EXPECT_EQ(value(CsvType::f32, tiny), 0) << tiny;
  EXPECT_TRUE(std::signbit(value(CsvType::f32, "-1e-50")));
  EXPECT_EQ(value(CsvType::f64, "1e-50"), 1e-50);
  EXPECT_EQ(value(CsvType::f64, "5e-324"), 5e-324);
  EXPECT_EQ(value(CsvType::f64, "1e-400"), 0);
  EXPECT_EQ(value(CsvType::f64, "0." + std::string(400, '0') + "1"), 0);
  for (const std::string& huge : {"-1e400"s, "0.001e400"s, "1e99999999999999999999"s, "1e+400"s,
                                  std::string(400, '9'), std::string(500, '9') + "e-5"})
    EXPECT_THAT(field(CsvType::f64, huge), HasSubstr("does not fit f64")) << huge;
  EXPECT_EQ(field(CsvType::f64, "1e-400x"), "`1e-400x` is not of type f64");
}

TEST(CsvValue, Booleans) {
  for (const char* yes : {"true", "True", " TRUE ", "1"})
    EXPECT_EQ(field(CsvType::boolean, yes), "1");
  for (const char* no : {"false", "FALSE", "0"}) EXPECT_EQ(field(CsvType::boolean, no), "0");
  for (const char* bad : {"yes", "2", "t"})
    EXPECT_EQ(field(CsvType::boolean, bad),
              concat("`", bad, "` is not of type bool: expected true, false, 1 or 0"));
}

}  // namespace
}  // namespace belfry::data
