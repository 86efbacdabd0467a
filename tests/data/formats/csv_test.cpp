#include "belfry/data/formats/csv.h"

#include <zlib.h>

#include <array>
#include <filesystem>

#include "pipeline.h"

namespace belfry::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Lines = std::vector<std::string>;

// "age=3 name=Ann"
std::string show(const Features& features) {
  std::string out;
  for (const auto& [name, array] : features) {
    out += (out.empty() ? "" : " ") + name + "=";
    if (array.dtype() == DType::u8) {
      auto span = array.span<std::uint8_t>();
      out.append(span.begin(), span.end());
    } else {
      out += text(array.item());
    }
  }
  return out;
}

// Hands `content` to the reader in pieces of `step` bytes, from place() on.
Lines read_all(CsvReader& reader, std::string_view content, std::size_t step = 1 << 20) {
  Lines out;
  Features record;
  std::size_t end = static_cast<std::size_t>(reader.position().offset);
  while (out.size() < 100'000) {
    auto begin = static_cast<std::size_t>(reader.position().offset);
    std::string_view rest = content.substr(begin, std::max(begin, end) - begin);
    bool at_end = end >= content.size();
    try {
      bool got = reader.next(rest, at_end, record);
      if (got) out.push_back(show(record));
      if (!got && at_end) break;
      if (!got) end += step;
    } catch (const Error& error) {
      out.push_back(error.what());
    }
    EXPECT_EQ(rest.data(), content.data() + reader.position().offset);
  }
  return out;
}

Lines read(std::string_view content, const std::vector<CsvColumn>& columns,
           const CsvOptions& options = {}) {
  CsvReader reader(columns, options, "f.csv");
  Lines out = read_all(reader, content);
  for (std::size_t step = 1; step <= content.size(); ++step) {
    CsvReader again(columns, options, "f.csv");
    EXPECT_EQ(read_all(again, content, step), out) << "in pieces of " << step;
  }
  return out;
}

const std::vector<CsvColumn> a_and_b{{.name = "a"}, {.name = "b"}};
const CsvOptions no_header{.header = false};

TEST(Csv, ReadsWhatRfc4180Describes) {
  EXPECT_THAT(read("a,b\r\n"
                   "plain,\"in quotes\"\r\n"
                   "\"a \"\"quote\"\"\",\"a,comma\"\r\n"
                   "\"two\r\nlines\",\"\"\r\n"
                   ",last",
                   a_and_b),
              ElementsAre("a=plain b=in quotes", "a=a \"quote\" b=a,comma",
                          "a=two\r\nlines b=", "a= b=last"));
  EXPECT_THAT(read("a,b\n1,2\n3,4\n", a_and_b), ElementsAre("a=1 b=2", "a=3 b=4"));
  EXPECT_THAT(read("a,b\n", a_and_b), ElementsAre());
}

TEST(Csv, SkipsByteOrderMarkAndEmptyLines) {
  EXPECT_THAT(read("\xef\xbb\xbf"
                   "a,b\n\n\r\n1,2\n\n\n3,4\n\n",
                   a_and_b),
              ElementsAre("a=1 b=2", "a=3 b=4"));
  EXPECT_THAT(read("\"\"\n\nx\n", {{.name = "a"}}, no_header), ElementsAre("a=", "a=x"));
  EXPECT_THAT(read("\xef\xbb", {{.name = "a"}}, no_header), ElementsAre("a=\xef\xbb"));
}

TEST(Csv, CommentsAreOffUnlessAskedFor) {
  const char* content = "#a\nx\n#b\ny#\n#";
  EXPECT_THAT(read(content, {{.name = "a"}}, no_header),
              ElementsAre("a=#a", "a=x", "a=#b", "a=y#", "a=#"));
  EXPECT_THAT(read(content, {{.name = "a"}}, {.header = false, .comment = '#'}),
              ElementsAre("a=x", "a=y#"));
}

TEST(Csv, DelimiterAndSpaces) {
  EXPECT_THAT(read("a;b\n1,5; 2\n", a_and_b, {.delimiter = ';'}), ElementsAre("a=1,5 b= 2"));
  EXPECT_THAT(read("a\tb\n1\t\"2\t\"\n", a_and_b, {.delimiter = '\t'}), ElementsAre("a=1 b=2\t"));
  EXPECT_THAT(read("a,  b\n1,   \"2\"\n  3, 4 \n", a_and_b, {.skip_initial_space = true}),
              ElementsAre("a=1 b=2", "a=3 b=4 "));
}

TEST(Csv, TypesOfColumns) {
  CsvReader reader({{.name = "f", .type = CsvType::f32},
                    {.name = "d", .type = CsvType::f64},
                    {.name = "i", .type = CsvType::i32},
                    {.name = "l", .type = CsvType::i64},
                    {.name = "b", .type = CsvType::boolean},
                    {.name = "t"},
                    {.name = "w", .vocabulary = {"red", "green"}}},
                   no_header);
  std::string_view text = "0.1,-1e300,-2147483648,9223372036854775807,TRUE,abc,green\n";
  Features out;
  ASSERT_TRUE(reader.next(text, true, out));
  EXPECT_EQ(to_string(signature_of(out)),
            "f f32[], d f64[], i i32[], l i64[], b bool[], t u8[3], w i64[]");
  EXPECT_EQ(out.at("f").span<float>()[0], 0.1f);
  EXPECT_EQ(out.at("d").item(), -1e300);
  EXPECT_EQ(out.at("i").span<std::int32_t>()[0], -2147483648LL);
  EXPECT_EQ(out.at("l").span<std::int64_t>()[0], 9223372036854775807LL);
  EXPECT_TRUE(out.at("b").span<bool>()[0]);
  EXPECT_EQ(out.at("w").item(), 1);
  EXPECT_TRUE(text.empty());
}

TEST(Csv, SelectsColumnsByNameOrIndex) {
  const char* content = "x,y,z\n1,2,3\n";
  EXPECT_THAT(read(content, {{.name = "z"}, {.name = "x"}}), ElementsAre("z=3 x=1"));
  EXPECT_THAT(read(content, {{.name = "first", .index = 0}, {.name = "y"}}),
              ElementsAre("first=1 y=2"));
  EXPECT_THAT(
      read("1,2,3,4\n", {{.name = "p"}, {.name = "r", .index = 2}, {.name = "s"}}, no_header),
      ElementsAre("p=1 r=3 s=4"));
}

TEST(Csv, AnErrorAboutTheHeaderIsFinal) {
  EXPECT_THAT(read("x,y\n1,2\n3,4\n", {{.name = "z"}}),
              ElementsAre("f.csv: no column `z` in the header on line 1; it has x, y (a file "
                          "without one: .header = false)"));
  EXPECT_THAT(read("\nx,x\n1,2\n", {{.name = "x"}}),
              ElementsAre("f.csv: the header on line 2 has the column `x` twice; choose one by "
                          ".index"));
  EXPECT_THAT(read("x,x\n1,2\n", {{.name = "x", .index = 1}}), ElementsAre("x=2"));
  EXPECT_THAT(read("", {{.name = "x"}}), ElementsAre("f.csv: ends at byte 0 without a header"));
  EXPECT_THAT(read("\n\n", {{.name = "x"}}), ElementsAre("f.csv: ends at byte 2 without a header"));
}

TEST(Csv, EmptyFieldsTakeTheDefault) {
  std::vector<CsvColumn> columns{{.name = "n", .type = CsvType::i64, .default_value = "-1"},
                                 {.name = "t", .default_value = "none"},
                                 {.name = "w", .default_value = "b", .vocabulary = {"a", "b"}}};
  EXPECT_THAT(read("5,x,a\n,,\n \t,\"\",b\n", columns, no_header),
              ElementsAre("n=5 t=x w=0", "n=-1 t=none w=1", "n=-1 t=none w=1"));
  EXPECT_THAT(read(",\n", {{.name = "n", .type = CsvType::i64}, {.name = "m"}}, no_header),
              ElementsAre("f.csv: line 1, byte 0, column `n`: the field is empty, expected type "
                          "i64; a column may have a .default_value"));
}

TEST(Csv, WordsOutsideTheVocabulary) {
  const char* content = "a\nred\nblue\nred\n";
  EXPECT_THAT(
      read(content, {{.name = "a", .vocabulary = {"green", "red"}}}),
      ElementsAre("a=1",
                  "f.csv: line 3, byte 6, column `a`: `blue` is not in the vocabulary of 2 words; "
                  "add it, or set .unknown to give such words an index",
                  "a=1"));
  EXPECT_THAT(read(content, {{.name = "a", .vocabulary = {"green", "red"}, .unknown = -1}}),
              ElementsAre("a=1", "a=-1", "a=1"));
}

// Numbers worked out in Python: SplitMix64's finaliser of that of 0 xor FNV-1a of the word.
TEST(Csv, WordsMayBeHashed) {
  const char* content = "a\nred\nblue\n\"\"\nred\n";
  EXPECT_THAT(read(content, {{.name = "a", .buckets = 1000}}),
              ElementsAre("a=406", "a=675", "a=604", "a=406"));
  EXPECT_THAT(read(content, {{.name = "a", .vocabulary = {"green", "red"}, .buckets = 10}}),
              ElementsAre("a=1", "a=7", "a=6", "a=1"));
}

TEST(Csv, AnErrorCostsOneRecord) {
  EXPECT_THAT(
      read("a,b\n1,2\n3\n\"4\n4\",x,y\n5,6\n", a_and_b),
      ElementsAre("a=1 b=2",
                  "f.csv: line 3, byte 8: the record has 1 fields, expected 2, as many as the "
                  "header",
                  "f.csv: line 4, byte 10: the record has 3 fields, expected 2, as many as the "
                  "header",
                  "a=5 b=6"));
  EXPECT_THAT(read("1,2\n3\n", {{.name = "a"}}, no_header),
              ElementsAre("a=1",
                          "f.csv: line 2, byte 4: the record has 1 fields, expected 2, as "
                          "many as the first record"));
  EXPECT_THAT(read("1,2\n", {{.name = "a", .index = 2}}, no_header),
              ElementsAre("f.csv: line 1, byte 0: no field 2 for column `a`: the record has 2"));
}

TEST(Csv, MisplacedQuotesCostOneLine) {
  EXPECT_THAT(
      read("a,b\n1,x\"y\n\"2\"x,3\n4,5\r6\n7,8\n9,9\r", a_and_b),
      ElementsAre("f.csv: line 2, byte 7: a quote within a field that does not begin with "
                  "one",
                  "f.csv: line 3, byte 13: text after a closing quote; a quote within "
                  "quotes is doubled",
                  "f.csv: line 4, byte 20: a carriage return that no line feed follows", "a=7 b=8",
                  "f.csv: line 6, byte 30: a carriage return that no line feed follows"));
}

TEST(Csv, AnUnclosedQuoteDoesNotSwallowTheRest) {
  EXPECT_THAT(
      read("a,b\n1,\"2\n3,4\n5,6", a_and_b),
      ElementsAre("f.csv: line 2, byte 6: a quote that is never closed", "a=3 b=4", "a=5 b=6"));
  std::string many = "a,b\n1,\"2\n";
  for (int i = 0; i < 20; ++i) many += "3,4\n";
  Lines out = read(many, a_and_b, {.max_record_bytes = 50});
  ASSERT_EQ(out.size(), 21u);
  EXPECT_EQ(out[0],
            "f.csv: line 2, byte 4: the record is longer than 50 bytes: a quote may never "
            "have been closed; else raise max_record_bytes");
  EXPECT_EQ(out[1], "a=3 b=4");
  EXPECT_EQ(out[20], "a=3 b=4");
}

TEST(Csv, RecordsUpToTheLimitAreRead) {
  std::string line(9, 'x');
  EXPECT_THAT(read(line + "\n" + line, {{.name = "a"}}, {.header = false, .max_record_bytes = 10}),
              ElementsAre("a=" + line, "a=" + line));
  EXPECT_THAT(
      read("ab\n" + line + "yz\ncd\n", {{.name = "a"}}, {.header = false, .max_record_bytes = 10}),
      ElementsAre("a=ab", HasSubstr("line 2, byte 3: the record is longer than 10 bytes"), "a=cd"));
  EXPECT_THAT(read("#" + line + line + "\ncd\n", {{.name = "a"}},
                   {.header = false, .comment = '#', .max_record_bytes = 10}),
              ElementsAre("a=cd"));
}

// Text that has been seen is not looked at again: else a long record in pieces would take quadratic
// time.
TEST(Csv, GoesOnWithinARecord) {
  for (const auto& [record, expected] :
       {std::pair("abc,defgh,i\n", "a=abc b=defgh"), {"a,\"x\"\"y,\nz\",c\n", "a=a b=x\"y,\nz"}}) {
    const std::string content = record;
    CsvReader reader({{.name = "a"}, {.name = "b", .index = 1}}, no_header);
    Features out;
    for (std::size_t size = 1; size < content.size(); ++size) {
      std::string changed = content.substr(0, size);
      // All but the last character, which may be one that only the next one tells the meaning of.
      if (size > 1) std::fill(changed.begin(), changed.end() - 2, '"');
      std::string_view text = changed;
      ASSERT_FALSE(reader.next(text, false, out)) << size;
    }
    std::string_view text = content;
    ASSERT_TRUE(reader.next(text, false, out));
    EXPECT_EQ(show(out), expected);
  }
}

TEST(Csv, SkipsWithoutLookingAtValues) {
  CsvReader reader({{.name = "a", .type = CsvType::i64}, {.name = "b"}}, {}, "f.csv");
  std::string_view text = "a,b\nbad,\"x\ny\"\n1,2,3\n4,d\n";
  EXPECT_TRUE(reader.skip(text, true));
  EXPECT_EQ(reader.position(), (CsvPosition{14, 4}));
  EXPECT_THAT(error_of([&] { reader.skip(text, true); }), HasSubstr("the record has 3 fields"));
  Features out;
  EXPECT_TRUE(reader.next(text, true, out));
  EXPECT_EQ(show(out), "a=4 b=d");
  EXPECT_FALSE(reader.skip(text, true));
}

TEST(Csv, GoesOnFromAnyPlace) {
  std::string content =
      "\xef\xbb\xbf"
      "a,b\n1,\"x\ny\"\n\nbad\n2,z\n3,w";
  CsvReader reader(a_and_b, {}, "f.csv");
  const Lines all = read_all(reader, content);
  ASSERT_EQ(all.size(), 4u);
  CsvReader first(a_and_b, {}, "f.csv");
  std::string_view rest = content;
  std::vector<CsvPosition> places;
  Features out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    error_of([&] { first.next(rest, true, out); });
    places.push_back(first.position());
  }
  EXPECT_EQ(places[0], (CsvPosition{15, 4}));
  EXPECT_EQ(places[1], (CsvPosition{20, 6}));
  EXPECT_EQ(places[2], (CsvPosition{24, 7}));
  for (std::size_t i = 0; i < all.size(); ++i) {
    CsvReader resumed(a_and_b, {}, "f.csv");
    std::string_view head = content;
    ASSERT_TRUE(resumed.read_header(head, false));
    EXPECT_EQ(resumed.position(), (CsvPosition{7, 2}));
    resumed.seek(places[i]);
    EXPECT_EQ(read_all(resumed, content, 2),
              Lines(all.begin() + static_cast<int>(i) + 1, all.end()));
  }
  CsvReader fresh(a_and_b, {}, "f.csv");
  EXPECT_EQ(error_of([&] { fresh.seek({.offset = 7, .line = 2}); }),
            "f.csv: cannot go to byte 7 before the header has been read");
}

TEST(Csv, UsesMemoryAgainUnlessItIsHeld) {
  CsvReader reader({{.name = "a", .type = CsvType::i64}, {.name = "t"}}, no_header);
  std::string_view text = "1,xy\n2,zw\n3,uvw\n";
  Features out;
  ASSERT_TRUE(reader.next(text, true, out));
  const void* a = std::as_const(out).at("a").raw();
  const void* t = std::as_const(out).at("t").raw();
  ASSERT_TRUE(reader.next(text, true, out));
  EXPECT_EQ(std::as_const(out).at("a").raw(), a);
  EXPECT_EQ(std::as_const(out).at("t").raw(), t);
  Array held = out.at("a");
  ASSERT_TRUE(reader.next(text, true, out));
  EXPECT_EQ(held.item(), 2);
  EXPECT_EQ(show(out), "a=3 t=uvw");
}

TEST(Csv, RefusesColumnsAndOptionsThatMakeNoSense) {
  auto error = [](std::vector<CsvColumn> columns, CsvOptions options = {}) {
    return error_of([&] { CsvReader(columns, options); });
  };
  EXPECT_EQ(error({}), "csv: no columns are asked for");
  EXPECT_EQ(error({{.name = "x"}, {.name = "x"}}), "csv: two columns are named `x`");
  EXPECT_EQ(error({{.name = "x", .index = -2}}),
            "csv: the index of column `x` is -2, expected a field's number from 0, or -1");
  EXPECT_EQ(error({{.name = "x", .type = CsvType::i64, .default_value = "none"}}),
            "`none` is not of type i64 (the default value of column `x`)");
  EXPECT_EQ(error({{.name = "x", .type = CsvType::i64, .vocabulary = {"a"}}}),
            "csv: column `x` has a vocabulary or buckets but is of type i64; only text can have "
            "them");
  EXPECT_EQ(error({{.name = "x", .vocabulary = {"a", "a"}}}),
            "the vocabulary has `a` twice (csv: column `x`)");
  EXPECT_EQ(error({{.name = "x", .buckets = -1}}),
            "-1 buckets; expected at least 0 (csv: column `x`)");
  EXPECT_EQ(error({{.name = "x", .unknown = 0, .buckets = 5}}),
            "5 buckets beside .unknown; give one of the two (csv: column `x`)");
  EXPECT_EQ(error({{.name = "x", .type = CsvType::i64, .buckets = 5}}),
            "csv: column `x` has a vocabulary or buckets but is of type i64; only text can have "
            "them");
  for (CsvOptions bad : {CsvOptions{.delimiter = '"'}, {.delimiter = '\n'}, {.comment = ','}})
    EXPECT_EQ(error({{.name = "x"}}, bad),
              "csv: delimiter and comment must differ and be neither quote nor line end");
  EXPECT_EQ(error({{.name = "x"}}, {.max_record_bytes = 0}),
            "csv: max_record_bytes must be at least 1, got 0");
}

TEST(Csv, RandomBytesAreReadToTheirEnd) {
  PhiloxStream random(philox_key(1, "csv"));
  constexpr std::string_view letters = "ab1 ,\"\n\r#\xef\0";
  for (int i = 0; i < 300; ++i) {
    std::string content;
    for (std::uint64_t n = random.below(40); n > 0; --n)
      content += letters[random.below(letters.size())];
    CsvOptions options{.header = random.flip(0.5f), .comment = '#', .max_record_bytes = 12};
    CsvReader whole({{.name = "a", .index = 0}}, options), pieces = whole;
    Lines out = read_all(whole, content);
    EXPECT_EQ(whole.position().offset, std::ssize(content));
    EXPECT_EQ(read_all(pieces, content, 1 + random.below(5)), out) << content;
  }
}

TEST(Csv, ReadsTheCensus) {
  const char* given = std::getenv("BELFRY_DATA");
  std::string path =
      (given ? std::string(given) : BELFRY_SOURCE_DIR "/../shared/data") + "/adult.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << "; set BELFRY_DATA";
  std::string content(4'000'000, '\0');
  gzFile file = gzopen(path.c_str(), "rb");
  int size = gzread(file, content.data(), 4'000'000);
  gzclose(file);
  content.resize(static_cast<std::size_t>(std::max(size, 0)));

  CsvReader reader({{.name = "age", .type = CsvType::i64},
                    {.name = "work", .index = 1},
                    {.name = "weight", .type = CsvType::f64},
                    {.name = "hours", .type = CsvType::i32, .index = 12},
                    {.name = "country"},
                    {.name = "income", .vocabulary = {"<=50K", ">50K"}}},
                   {.header = false, .skip_initial_space = true}, path);
  std::string_view rest = content;
  Features record;
  std::int64_t records = 0, country_bytes = 0, unknown_work = 0;
  double age = 0, weight = 0, hours = 0, rich = 0;
  while (reader.next(rest, true, record)) {
    ++records;
    age += record.at("age").item();
    weight += record.at("weight").item();
    hours += record.at("hours").item();
    rich += record.at("income").item();
    country_bytes += record.at("country").elements();
    auto work = record.at("work").span<std::uint8_t>();
    unknown_work += work.size() == 1 && work[0] == '?';
  }
  // Counted with another reader.
  EXPECT_EQ(records, 32561);
  EXPECT_EQ(age, 1256257);
  EXPECT_EQ(weight, 6179373392);
  EXPECT_EQ(hours, 1316684);
  EXPECT_EQ(rich, 7841);
  EXPECT_EQ(country_bytes, 400300);
  EXPECT_EQ(unknown_work, 1836);
}

}  // namespace
}  // namespace belfry::data
