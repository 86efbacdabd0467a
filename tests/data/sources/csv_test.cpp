#include "belfry/data/sources/text_buffer.h"
#include "source_files.h"

namespace belfry::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// "name=value ..." of each element, or "error: ...".
Words rows(InputStream& stream) {
  Words out;
  Features element;
  for (bool more = true; more;) {
    try {
      more = stream.next(element);
      if (!more) break;
      std::string row;
      for (const auto& [name, array] : element)
        row += concat(row.empty() ? "" : " ", name, "=",
                      array.dtype() == DType::u8 ? text_of(array) : text(array.item()));
      out.push_back(row);
    } catch (const Error& error) {
      out.push_back(std::string("error: ") + error.what());
    }
  }
  return out;
}
Words rows(const Dataset& dataset) { return rows(*open(dataset)); }

const std::vector<CsvColumn> id_and_name{{.name = "id", .type = CsvType::i64}, {.name = "name"}};

class CsvSource : public ::testing::Test {
 protected:
  SourceFiles files_;
};

TEST_F(CsvSource, ReadsTypedColumns) {
  std::string path = files_.write(
      "a.csv", "id,weight,name,ok,color\n1,0.5,Ann,true,red\n-2,1e3,\"B, \"\"C\"\"\",0,blue\n");
  Dataset data = csv({path}, {{.name = "name"},
                              {.name = "id", .type = CsvType::i32},
                              {.name = "weight", .type = CsvType::f64},
                              {.name = "ok", .type = CsvType::boolean},
                              {.name = "color", .vocabulary = {"blue", "red"}}});
  EXPECT_EQ(rows(data), (Words{"name=Ann id=1 weight=0.5 ok=1 color=1",
                               "name=B, \"C\" id=-2 weight=1000 ok=0 color=0"}));
  InputStreamPtr stream = open(data);
  Features element;
  stream->next(element);
  EXPECT_EQ(to_string(signature_of(element)),
            "name u8[3], id i32[], weight f64[], ok bool[], color i64[]");
}

TEST_F(CsvSource, SeveralNumbersAreOneFeature) {
  std::string path = files_.write("a", "label,p0,p1,p2,x,y\n7,1,2,,-1,0.5\n8,4,5,6,2,3\n");
  std::vector<CsvColumn> columns{
      {.name = "pixels", .type = CsvType::i32, .index = 1, .default_value = "0", .width = 3},
      {.name = "label", .type = CsvType::i64},
      {.name = "position", .type = CsvType::f32, .fields = {"y", "x"}}};
  InputStreamPtr stream = open(csv({path}, columns));
  Features element;
  ASSERT_TRUE(stream->next(element));
  EXPECT_TRUE(identical(element.at("pixels"), Array::of<std::int32_t>({1, 2, 0})));
  EXPECT_EQ(element.at("label").item(), 7);
  EXPECT_TRUE(identical(element.at("position"), Array::of<float>({0.5, -1})));
  Features kept = element;
  ASSERT_TRUE(stream->next(element));
  EXPECT_TRUE(identical(element.at("pixels"), Array::of<std::int32_t>({4, 5, 6})));
  EXPECT_TRUE(identical(element.at("position"), Array::of<float>({3, 2})));
  EXPECT_TRUE(identical(kept.at("pixels"), Array::of<std::int32_t>({1, 2, 0})));
  EXPECT_FALSE(stream->next(element));
  expect_resumes(csv({path}, columns), 9, 9, "pixels");
  // With a header a width begins at the field of that name; one of 1 is a feature [1].
  Dataset by_name = csv({path}, {{.name = "x", .type = CsvType::f32, .width = 2},
                                 {.name = "p1", .type = CsvType::i64, .width = 1}});
  stream = open(by_name);
  ASSERT_TRUE(stream->next(element));
  EXPECT_EQ(to_string(signature_of(element)), "x f32[2], p1 i64[1]");
  EXPECT_TRUE(identical(element.at("x"), Array::of<float>({-1, 0.5})));
}

TEST_F(CsvSource, WithoutHeaderSeveralFieldsAreCounted) {
  std::string path = files_.write("a", "1,2,x,3\n4,5,y,6\n7,8\n");
  Dataset data = csv({path},
                     {{.name = "value", .type = CsvType::i64, .width = 2},
                      {.name = "name"},
                      {.name = "z", .type = CsvType::i64}},
                     {.csv = {.header = false}});
  EXPECT_EQ(words(data), (Words{"1,2", "4,5",
                                "error: " + path
                                    + ": line 3, byte 16: the record has 2 fields, expected 4, as "
                                      "many as the first record (at element 2, epoch 0)"}));
  EXPECT_EQ(words(data, 2, "z"), (Words{"3", "6"}));
}

TEST_F(CsvSource, SeveralFieldsAreNumbersThatAreThere) {
  auto error = [](CsvColumn column, bool header = true) {
    return error_of([&] { csv({"a"}, {column}, {.csv = {.header = header}}); });
  };
  EXPECT_EQ(error({.name = "x", .width = 2}),
            "csv: column `x` is text, which makes a feature of one field only");
  EXPECT_EQ(error({.name = "x", .type = CsvType::f32, .width = -1}),
            "csv: the width of column `x` is -1, expected 0 to 16777216");
  const std::string fields =
      "csv: column `x` has .fields, which name all there are in the header: they go with neither "
      ".width nor .index nor .header = false";
  EXPECT_EQ(error({.name = "x", .type = CsvType::f32, .width = 1, .fields = {"a"}}), fields);
  EXPECT_EQ(error({.name = "x", .type = CsvType::f32, .index = 0, .fields = {"a"}}), fields);
  EXPECT_EQ(error({.name = "x", .type = CsvType::f32, .fields = {"a"}}, false), fields);
  std::string path = files_.write("a", "a,b\n1,2\n3,x\n");
  EXPECT_THAT(rows(csv({path}, {{.name = "x", .type = CsvType::f32, .fields = {"a", "c"}}})),
              ElementsAre(HasSubstr("no column `c` in the header on line 1; it has a, b")));
  EXPECT_THAT(rows(csv({path}, {{.name = "b", .type = CsvType::f32, .width = 2}})),
              ElementsAre(HasSubstr("no field 2 for column `b`: the record has 2"),
                          HasSubstr("no field 2 for column `b`: the record has 2")));
  EXPECT_THAT(
      words(csv({path}, {{.name = "value", .type = CsvType::f32, .fields = {"a", "b"}}})),
      ElementsAre(
          "1,2",
          HasSubstr("line 3, byte 10, column `b` of feature `value`: `x` is not of type f32")));
}

TEST_F(CsvSource, EachFileHasItsOwnHeader) {
  std::string a = files_.write("a", "id,name\n1,a\n2,b"),
              b = files_.write("b", "name,x,id\nc,9,3\n");
  EXPECT_EQ(rows(csv({a, b}, id_and_name)), (Words{"id=1 name=a", "id=2 name=b", "id=3 name=c"}));
}

TEST_F(CsvSource, WithoutHeaderFieldsAreCounted) {
  std::string a = files_.write("a", "1,a\n2,b\n"), none = files_.write("none", ""),
              b = files_.write("b", "3,c,x\n4,d,y\n");
  Dataset data = csv({a, none, b}, id_and_name, {.csv = {.header = false}});
  EXPECT_EQ(rows(data), (Words{"id=1 name=a", "id=2 name=b", "id=3 name=c", "id=4 name=d"}));
  expect_resumes(data, 60, 25, "id");
}

TEST_F(CsvSource, AFileWithAWrongHeaderIsOneError) {
  std::string wrong = files_.write("wrong", "id,nom\n1,a\n2,b\n"), none = files_.write("none", ""),
              good = files_.write("good", "id,name\n3,c\n");
  Dataset data = csv({wrong, none, files_ / "gone", good}, id_and_name);
  EXPECT_THAT(
      rows(data),
      ElementsAre("error: " + wrong
                      + ": no column `name` in the header on line 1; it has "
                        "id, nom (a file without one: .header = false) (at element 0, epoch 0)",
                  "error: " + none
                      + ": ends at byte 0 without a header (at element 1, "
                        "epoch 0)",
                  HasSubstr(files_ / "gone"), "id=3 name=c"));
  expect_resumes(data, 60, 25, "id");
  expect_skips(data, "name");
}

TEST_F(CsvSource, ARecordThatCannotBeReadIsOneError) {
  std::string a = files_.write("a", "id,name\n1,a\nx,b\n3,c,d\n4,\"e\"f\n5,g\n");
  Dataset data = csv({a, a}, id_and_name);
  Words twice;
  for (int i : {0, 5}) {
    Words once{
        "id=1 name=a",
        concat("error: ", a, ": line 3, byte 12, column `id`: `x` is not of type i64",
               " (at element ", i + 1, ", epoch 0)"),
        concat("error: ", a, ": line 4, byte 16: the record has 3 fields, expected 2, as ",
               "many as the header (at element ", i + 2, ", epoch 0)"),
        concat("error: ", a, ": line 5, byte 27: text after a closing quote; a quote within ",
               "quotes is doubled (at element ", i + 3, ", epoch 0)"),
        "id=5 name=g"};
    twice.insert(twice.end(), once.begin(), once.end());
  }
  EXPECT_EQ(rows(data), twice);
  expect_resumes(data, 60, 25, "id");
  expect_skips(data, "name");
}

TEST_F(CsvSource, ResumesWithTheFirstRecordsNumberOfFields) {
  // The first record is damaged, and the second has the wrong type: it counts nevertheless.
  std::string a = files_.write("a", "1,\"a\"b\nx,b\n3,c,d\n4,e\n5,f,g\n");
  Dataset data = csv({a}, id_and_name, {.csv = {.header = false}});
  EXPECT_THAT(rows(data),
              ElementsAre(HasSubstr("text after a closing quote"), HasSubstr("`x` is not of type"),
                          HasSubstr("the record has 3 fields, expected 2, as many as the first"),
                          "id=4 name=e", HasSubstr("the record has 3 fields, expected 2")));
  expect_resumes(data, 60, 25, "id");
}

TEST_F(CsvSource, ResumesBetweenQuotedLineEnds) {
  std::string text = "\xef\xbb\xbf# made by hand\r\nid,name\r\n";
  for (int i = 0; i < 12; ++i)
    text +=
        concat(i, ",\"line\n", i, "\r\n\"\"and\"\", more\"\r\n", i % 3 ? "" : "\n# a \"comment\n");
  for (Compression compression : {Compression::none, Compression::gzip}) {
    std::string a = files_.write("a", text, compression);
    Dataset data = csv({a, a}, id_and_name, {.csv = {.comment = '#'}});
    Words got = rows(data);
    ASSERT_EQ(got.size(), 24u);
    EXPECT_EQ(got[11], "id=11 name=line\n11\r\n\"and\", more");
    EXPECT_EQ(got[12], "id=0 name=line\n0\r\n\"and\", more");
    expect_resumes(data, 60, 25, "name");
    expect_skips(data, "name");
  }
}

TEST_F(CsvSource, NamesTheLineAlsoAfterResuming) {
  std::string a = files_.write("a", "id,name\n1,\"a\n\n\"\n2,b\nx,c\n");
  InputStreamPtr stream = open(csv({a}, id_and_name));
  Features element;
  stream->next(element);
  std::string state = stream->save();
  InputStreamPtr resumed = open(csv({a}, id_and_name));
  resumed->restore(state);
  EXPECT_EQ(
      rows(*resumed),
      (Words{
          "id=2 name=b",
          "error: " + a
              + ": line 6, byte 20, column `id`: `x` is not of type i64 (at element 2, epoch 0)"}));
}

TEST_F(CsvSource, ReadsFilesOfManyBlocks) {
  std::string text = "id,name\n";
  Words expected;
  for (int i = 0; i < 60; ++i) {
    std::string name(static_cast<std::size_t>(i * 397 % 30'000), static_cast<char>('a' + i % 26));
    text += concat(i, ",\"", name, "\n\"\n");
    expected.push_back(concat("id=", i, " name=", name, "\n"));
  }
  ASSERT_GT(text.size(), 2 * TextBuffer::block_bytes);
  for (Compression compression : {Compression::none, Compression::gzip}) {
    Dataset data = csv({files_.write("a", text, compression)}, id_and_name);
    EXPECT_EQ(rows(data), expected);
    expect_resumes(data, 60, 5, "id");
  }
  std::string path = files_.write("b", text.substr(0, text.size() - 3));  // in the last quote
  Words got = rows(csv({path}, id_and_name));
  EXPECT_THAT(got.back(), HasSubstr("a quote that is never closed"));
  expected.pop_back();
  got.pop_back();
  EXPECT_EQ(got, expected);
}

TEST_F(CsvSource, DamageEndsAFileOnce) {
  PhiloxStream random(philox_key(3, "csv"));
  std::string text = "id,name\n";
  for (int i = 0; i < 40; ++i) {
    text += concat(i, ",");
    for (int k = 0; k < 10'000; ++k) text += static_cast<char>('a' + random.below(26));
    text += "\n#" + std::string(static_cast<std::size_t>(random.below(9'000)), 'c') + "\n";
  }
  std::string zipped = content_of(files_.write("whole.gz", text, Compression::gzip));
  Words whole = rows(csv({files_ / "whole.gz"}, id_and_name, {.csv = {.comment = '#'}}));
  std::string good = files_.write("good", "id,name\n7,g\n");
  int in_records = 0;
  for (std::size_t cut = zipped.size() * 3 / 4; cut < zipped.size() - 10; cut += 2711) {
    std::string path = files_.write("cut.gz", zipped.substr(0, cut));
    Dataset data = csv({path, good}, id_and_name, {.csv = {.comment = '#'}});
    Words got = rows(data);
    ASSERT_GT(got.size(), 20u);
    EXPECT_EQ(got.back(), "id=7 name=g");
    EXPECT_THAT(got[got.size() - 2], StartsWith("error: " + path + ": truncated"));
    got.resize(got.size() - 2);
    EXPECT_EQ(got, Words(whole.begin(), whole.begin() + std::ssize(got)));
    if (in_records++ == 0) expect_resumes(data, 60, 5, "id");
  }
  EXPECT_GT(in_records, 5);
}

TEST_F(CsvSource, WholeFilesAreShared) {
  std::vector<std::string> paths;
  for (int i = 0; i < 4; ++i)
    paths.push_back(files_.write(concat("f", i), concat("id,name\n", i, ",a\n", i, ",b\n")));
  Dataset data = csv(paths, id_and_name);
  EXPECT_EQ(rows(*data.open({.pipelines = 2, .pipeline = 1})),
            (Words{"id=1 name=a", "id=1 name=b", "id=3 name=a", "id=3 name=b"}));
  EXPECT_EQ(rows(*data.open({.pipelines = 2, .pipeline = 0})),
            (Words{"id=0 name=a", "id=0 name=b", "id=2 name=a", "id=2 name=b"}));
}

TEST_F(CsvSource, RefusesColumnsAtOnce) {
  EXPECT_EQ(error_of([] { csv({"a"}, {}); }), "csv: no columns are asked for");
  EXPECT_EQ(error_of([] { csv({}, id_and_name); }), "csv: there are no files");
}

}  // namespace
}  // namespace belfry::data
