#include <gmock/gmock.h>

#include <filesystem>

#include "../../framework/base/temporary_folder.h"
#include "belfry/data/augment/augment.h"
#include "belfry/data/formats/arrays/npy.h"
#include "belfry/data/formats/arrays/npz.h"
#include "belfry/data/formats/images/image.h"
#include "belfry/data/formats/tfrecord.h"
#include "belfry/data/sources/sources.h"
#include "belfry/data/transforms/transforms.h"
#include "belfry/framework/export/export_model.h"
#include "belfry/framework/export/predictor.h"
#include "belfry/framework/ops/ops.h"
#include "belfry/framework/tensor/example.h"
#include "belfry/version.h"
#include "run_program.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// Without weights, so that every number can be worked out by hand.
EstimatorSpec sums(Scope, const Batch& batch, Mode) {
  Tensor x = batch["x"];
  return {.predictions = {{"sum", sum(x, {.axes = {1}}) + batch["y"]}, {"twice", x * 2}}};
}
EstimatorSpec brightness(Scope, const Batch& batch, Mode) {
  return {.predictions = {{"mean", mean(batch["image"], {.axes = {1, 2, 3}})},
                          {"all", sum(batch["image"])}}};
}

class BelfryPredict : public ::testing::Test {
 protected:
  BelfryPredict() {
    file("words", "a b c");
    export_model(folder / "sums",
                 {.model_fn = sums,
                  .signatures = {{"predict",
                                  {.inputs = {{"x", {{2}, DType::f32}}, {"y", {{}, DType::f32}}},
                                   .examples = {{"y", {.feature = "z", .default_value = 100}}}}}},
                  .assets = {{"words.txt", folder / "words"}},
                  .onnx = false},
                 {.step = 12});
    export_model(folder / "images",
                 {.model_fn = brightness,
                  .signatures = {{"predict", {.inputs = {{"image", {{2, 2, 1}, DType::f32}}}}}},
                  .onnx = false},
                 Checkpoint{});
  }
  Ran run(const std::string& arguments) { return run_in(folder.path(), BELFRY_PREDICT, arguments); }
  std::string error(const std::string& arguments) {
    Ran ran = run(arguments);
    EXPECT_EQ(ran.status, 2);
    EXPECT_EQ(ran.out, "");
    return ran.err;
  }
  void file(const std::string& name, const std::string& content) {
    write_file_atomically(folder / name, content);
  }
  void image(const std::string& name, const Array& pixels) {
    write_file_atomically(folder / name, data::encode_png(pixels));
  }

  TemporaryFolder folder;
  const Array pixels = Array::of<std::uint8_t>({0, 51, 102, 255}, {2, 2});
};

TEST_F(BelfryPredict, DescribesAnExport) {
  Ran ran = run("sums");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, MatchesRegex("sums/[0-9]+, step 12\n"
                                    "signature predict\n"
                                    "  input    x          f32\\[n, 2\\]\n"
                                    "  input    y          f32\\[n\\]\n"
                                    "  output   sum        f32\\[n\\]\n"
                                    "  output   twice      f32\\[n, 2\\]\n"
                                    "  example  y          feature `z`, default 100\n"
                                    "asset      words.txt  5 B\n"));
  EXPECT_THAT(run("--help").out, HasSubstr("belfry-predict exports people.csv --json"));
}

TEST_F(BelfryPredict, SaysItsVersion) {
  EXPECT_EQ(run("--version").out, concat(build_info(), "\n"));
}

TEST_F(BelfryPredict, DescribesTheSignatureThatIsAskedFor) {
  ExportSignature signature{.inputs = {{"image", {{2, 2, 1}, DType::f32}}}};
  export_model(folder / "several",
               {.model_fn = brightness,
                .signatures = {{"predict", signature}, {"serve", signature}},
                .onnx = false},
               Checkpoint{});
  EXPECT_THAT(run("several").out, HasSubstr("signature predict\n"));
  Ran serve = run("several --signature serve");
  EXPECT_EQ(serve.status, 0) << serve.err;
  EXPECT_THAT(serve.out, MatchesRegex("several/[0-9]+, step 0\n"
                                      "signature serve\n"
                                      "  input   image  f32\\[n, 2, 2, 1\\]\n"
                                      "  output  mean   f32\\[n\\]\n"
                                      "  output  all    f32\\[\\]\n"));
  EXPECT_THAT(error("several --signature foo"),
              MatchesRegex("error: predictor: there is no signature `foo`; several/[0-9]+ has "
                           "predict, serve\n"));
}

TEST_F(BelfryPredict, PredictsFromCsv) {
  file("a.csv", "y,x_1,name,x_0\n1,2,Ann,3\n10,20,Bob,30\n-1,0.5,Cid,nan\n");
  Ran ran = run("sums a.csv --batch 2");
  EXPECT_EQ(ran.out,
            "from     sum  twice\na.csv:0  6    [6, 4]\na.csv:1  60   [60, 40]\n"
            "a.csv:2  nan  [nan, 1]\n")
      << ran.err;
  EXPECT_EQ(run("sums a.csv --json").out,
            "{\"from\": \"a.csv:0\", \"sum\": 6, \"twice\": [6, 4]}\n"
            "{\"from\": \"a.csv:1\", \"sum\": 60, \"twice\": [60, 40]}\n"
            "{\"from\": \"a.csv:2\", \"sum\": \"nan\", \"twice\": [\"nan\", 1]}\n");
  EXPECT_EQ(run("sums a.csv --output out.csv").out, "wrote out.csv: 3 rows\n");
  EXPECT_EQ(read_file(folder / "out.csv"),
            "from,sum,twice_0,twice_1\na.csv:0,6,6,4\na.csv:1,60,60,40\na.csv:2,nan,nan,1\n");
  file("b.csv", "y,x_0\n1,2\n");
  EXPECT_THAT(error("sums b.csv"), HasSubstr("x_1"));
}

// The names of so many columns alone would fill any memory.
TEST_F(BelfryPredict, RefusesInputsOfMoreColumnsThanTablesHave) {
  auto export_of = [&](const std::string& name, std::int64_t columns) {
    export_model(folder / name,
                 {.model_fn = [](Scope, const Batch& batch, Mode) -> EstimatorSpec {
                    return {.predictions = {{"twice", batch["x"] * 2}}};
                  },
                  .signatures = {{"predict", {.inputs = {{"x", {{columns}, DType::f32}}}}}},
                  .onnx = false},
                 Checkpoint{});
  };
  export_of("many", 16'384);
  export_of("more", 16'385);
  file("a.csv", "x_0,x_1\n1,2\n");
  EXPECT_THAT(error("many a.csv"), HasSubstr("x_2"));
  EXPECT_THAT(error("more a.csv"), HasSubstr("a CSV file gives at most 16384 columns of it"));
}

TEST_F(BelfryPredict, PredictsFromArrays) {
  data::write_npz(folder / "a.npz", {{"y", Array::of<float>({1, 2, 3})},
                                     {"x", Array::of<float>({1, 1, 2, 2, 3, 3}, {3, 2})},
                                     {"z", Array::scalar(1.0f)}});
  EXPECT_EQ(run("sums a.npz a.npz --batch 2 --only sum --output sum.npy").status, 0);
  EXPECT_TRUE(identical(data::read_npy(folder / "sum.npy"), Array::of<float>({3, 6, 9, 3, 6, 9})));
  EXPECT_EQ(run("sums a.npz --output both.npz").status, 0);
  EXPECT_TRUE(identical(data::read_npz(folder / "both.npz").at("twice"),
                        Array::of<float>({2, 2, 4, 4, 6, 6}, {3, 2})));
  data::write_npy(folder / "i.npy", Array::of<float>({1, 2, 3, 6}, {1, 2, 2, 1}));
  EXPECT_EQ(run("images i.npy --only mean").out, "from     mean\ni.npy:0  3\n");
  EXPECT_THAT(error("sums i.npy"), HasSubstr("the signature has x, y; use one .npz"));
  EXPECT_THAT(error("sums a.npz --output sum.npy"), HasSubstr("there are 2; name one with --only"));
  data::write_npz(folder / "b.npz",
                  {{"y", Array::of<float>({1})}, {"x", Array::of<double>({1, 1}, {1, 2})}});
  EXPECT_THAT(error("sums b.npz"), HasSubstr("the input `x` is f64[1, 2] but must be f32[n, 2]"));
  data::write_npz(folder / "c.npz",
                  {{"y", Array::of<float>({1})}, {"x", Array::of<float>({1, 1, 1, 1}, {2, 2})}});
  EXPECT_THAT(error("sums c.npz"), HasSubstr("c.npz: `x` has 2 rows, others have 1"));
}

TEST_F(BelfryPredict, PredictsFromImages) {
  image("a.png", pixels);
  image("big.png", Array::of<std::uint8_t>({0, 255}, {1, 2}));
  // (0 + 0.2 + 0.4 + 1) / 4, and the pixels themselves.
  EXPECT_EQ(run("images a.png --only mean").out, "from   mean\na.png  0.4\n");
  EXPECT_EQ(run("images a.png --only mean --raw").out, "from   mean\na.png  102\n");
  EXPECT_THAT(error("images a.png"), HasSubstr("`all` is f32[] for 1 rows"));
  EXPECT_THAT(error("images a.png big.png --only mean"),
              HasSubstr("the image has 1 x 2 pixels but the input has 2 x 2; --resize"));
  EXPECT_EQ(run("images a.png big.png --only mean --resize").out,
            "from     mean\na.png    0.4\nbig.png  0.5\n");
  EXPECT_THAT(error("sums a.png"), HasSubstr("an image gives one input"));
}

// The pipeline of a training, and the program with what its export says of it, give the same bits.
TEST_F(BelfryPredict, PreparesImagesAsTheTrainingDid) {
  data::Augmentation prepare =
      data::compose({data::resize({.height = 2, .width = 2}),
                     data::normalize({.mean = {0.1307}, .deviation = {0.3081}})});
  auto pixels_of = [](Scope, const Batch& batch, Mode) -> EstimatorSpec {
    return {.predictions = {{"pixels", batch["image"] * 1}}};
  };
  auto prepared = [&](const std::string& name, std::string preparation) {
    export_model(folder / name,
                 {.model_fn = pixels_of,
                  .signatures = {{"predict",
                                  {.inputs = {{"image", {{2, 2, 1}, DType::f32}}},
                                   .preparation = std::move(preparation)}}},
                  .onnx = false},
                 Checkpoint{});
  };
  prepared("prepared", prepare.json());
  EXPECT_EQ(data::augmentation_from_json(Predictor::load(folder / "prepared").preparation()).json(),
            prepare.json());
  Array large = Array::of<std::uint8_t>({0, 7, 200, 31, 99, 254, 3, 18, 77, 5, 160, 13}, {3, 4, 1});
  image("large.png", large.reshape({3, 4}));

  Dataset raw = data::from_arrays({{"image", large.reshape({1, 3, 4, 1})}});
  Features expected;
  ASSERT_TRUE((raw | data::map(prepare)).open()->next(expected));
  EXPECT_EQ(run("prepared large.png --output out.npy").status, 0);
  EXPECT_TRUE(
      identical(data::read_npy(folder / "out.npy"), expected.at("image").reshape({1, 2, 2, 1})));

  EXPECT_THAT(run("prepared").out, HasSubstr("  prepared by  {\"name\":\"compose\""));
  EXPECT_THAT(run("prepared --json").out, HasSubstr("\"preparation\":{\"name\":\"compose\""));
  EXPECT_THAT(
      error("prepared large.png --resize"),
      HasSubstr("the export says how its images are prepared; leave --resize and --raw out"));
  prepared("other", data::resize({.height = 3, .width = 3}).json());
  EXPECT_THAT(
      error("other large.png"),
      HasSubstr("the export's preparation gives u8[3, 3, 1], but the input `image` is f32"));
  prepared("unknown", "{\"name\": \"sharpen\"}");
  EXPECT_THAT(error("unknown large.png"), HasSubstr("sharpen"));
}

// Words and numbers of a table, and raw images in records, as a preparation takes them.
TEST_F(BelfryPredict, PreparesTablesAndRecords) {
  data::Augmentation prepare = data::compose(
      {data::string_lookup({.feature = "color", .vocabulary = {"red", "green"}, .unknown = 9}),
       data::normalize({.mean = {1, 10}, .deviation = {2, 4}, .image = "size"})});
  export_model(
      folder / "table",
      {.model_fn = [](Scope, const Batch& batch, Mode) -> EstimatorSpec {
         return {.predictions = {{"color", batch["color"] + 0}, {"size", batch["size"] * 1}}};
       },
       .signatures = {{"predict",
                       {.inputs = {{"color", {{}, DType::i64}}, {"size", {{2}, DType::f32}}},
                        .preparation = prepare.json()}}},
       .onnx = false},
      Checkpoint{});
  // (3 - 1) / 2, (10 - 10) / 4; (1 - 1) / 2, (5 - 10) / 4.
  file("raw.csv", "size_0,color,size_1\n3,blue,10\n1,green,5\n");
  EXPECT_EQ(run("table raw.csv --output out.csv").status, 0);
  EXPECT_EQ(read_file(folder / "out.csv"),
            "from,color,size_0,size_1\nraw.csv:0,9,1,0\nraw.csv:1,1,0,-1.25\n");
  using Floats = std::vector<float>;
  using Words = std::vector<std::string>;
  data::TfRecordWriter writer(folder / "raw.tfrecord");
  writer.write(tf::Example{{{"color", Words{"blue"}}, {"size", Floats{3, 10}}}}.serialize());
  writer.write(tf::Example{{{"color", Words{"green"}}, {"size", Floats{1, 5}}}}.serialize());
  writer.close();
  EXPECT_EQ(run("table raw.tfrecord --output out.csv").status, 0);
  EXPECT_EQ(read_file(folder / "out.csv"),
            "from,color,size_0,size_1\nraw.tfrecord:0,9,1,0\nraw.tfrecord:1,1,0,-1.25\n");
  data::TfRecordWriter bad(folder / "bad.tfrecord");
  bad.write(tf::Example{{{"color", Words{"blue"}}, {"size", Floats{3}}}}.serialize());
  bad.close();
  EXPECT_THAT(error("table bad.tfrecord"),
              MatchesRegex("error: feature `size`: it has 1 values, expected 2 .*"
                           "\\(bad.tfrecord:0\\)\n"));
  data::TfRecordWriter without(folder / "without.tfrecord");
  without.write(tf::Example{{{"size", Floats{3, 10}}}}.serialize());
  without.close();
  EXPECT_EQ(error("table without.tfrecord"),
            "error: feature `color`: expected one string, got 0 (without.tfrecord:0)\n");
}

TEST_F(BelfryPredict, PreparesImagesInRecords) {
  auto pixels_of = [](Scope, const Batch& batch, Mode) -> EstimatorSpec {
    return {.predictions = {{"pixels", batch["image"] * 1}}};
  };
  export_model(
      folder / "images_in_records",
      {.model_fn = pixels_of,
       .signatures =
           {{"predict",
             {.inputs = {{"image", {{1, 2, 1}, DType::f32}}},
              .examples = {{"image", {.feature = "image/encoded", .stored = StoredAs::image}}},
              .preparation = data::compose({data::center_crop({.height = 1, .width = 2}),
                                            data::normalize({.mean = {0.2}, .deviation = {0.5}})})
                                 .json()}}},
       .onnx = false},
      Checkpoint{});
  // 3 wide: the crop takes the columns from 0 on. (51 / 255 - 0.2) / 0.5, (255 / 255 - 0.2) / 0.5.
  image("a.png", Array::of<std::uint8_t>({51, 255, 0}, {1, 3}));
  data::TfRecordWriter writer(folder / "a.tfrecord");
  writer.write(
      tf::Example{{{"image/encoded", std::vector{read_file(folder / "a.png")}}}}.serialize());
  writer.close();
  EXPECT_EQ(run("images_in_records a.tfrecord --output out.npy").status, 0);
  const Array out = data::read_npy(folder / "out.npy");
  EXPECT_NEAR(out.span<float>()[0], 0, 1e-7);
  EXPECT_NEAR(out.span<float>()[1], 1.6, 1e-6);
}

TEST_F(BelfryPredict, PredictsFromTfRecords) {
  using Floats = std::vector<float>;
  data::TfRecordWriter writer(folder / "a.tfrecord");
  writer.write(tf::Example{{{"x", Floats{1, 2}}, {"z", Floats{3}}}}.serialize());
  writer.write(tf::Example{{{"x", Floats{1, 2}}}}.serialize());
  writer.close();
  EXPECT_EQ(run("sums a.tfrecord --only sum").out,
            "from          sum\na.tfrecord:0  6\na.tfrecord:1  103\n");
  data::TfRecordWriter bad(folder / "b.tfrecord");
  bad.write(tf::Example{{{"x", Floats{1}}}}.serialize());
  bad.close();
  EXPECT_THAT(error("sums b.tfrecord"), HasSubstr("feature `x`: it has 1 values, expected 2"));
}

TEST_F(BelfryPredict, SaysThatItCannotPrint) {
  file("a.csv", "y,x_0,x_1\n1,2,3\n");
  for (const char* arguments : {"sums", "sums a.csv", "sums a.csv --json", "--help"}) {
    Ran ran = run_in(folder.path(), BELFRY_PREDICT, arguments, "/dev/full");
    EXPECT_EQ(ran.status, 2) << arguments;
    EXPECT_EQ(ran.err, "error: cannot write to standard output\n") << arguments;
  }
}

TEST_F(BelfryPredict, RefusesWithoutWritingAnything) {
  file("a.csv", "y,x_0,x_1\n1,2,3\n1,2,x\n");
  EXPECT_THAT(error("sums a.csv --batch 1 --output out.csv"), HasSubstr("a.csv"));
  file("empty.csv", "y,x_0,x_1\n");
  EXPECT_THAT(error("sums empty.csv --output out.csv"), HasSubstr("the files have no rows"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out.csv"));
  EXPECT_THAT(error("sums a.csv --output out.txt"), HasSubstr("must end with .npy, .npz, .csv"));
  EXPECT_THAT(error("sums a.txt"), HasSubstr("`a.txt` is of no kind that is known"));
  EXPECT_THAT(error("sums a.csv --only z"),
              HasSubstr("--only: there is no prediction `z`; there are sum, twice"));
  EXPECT_THAT(error("nowhere a.csv"), HasSubstr("`nowhere` holds no export"));
  EXPECT_THAT(error(""), HasSubstr("EXPORT is required; --help lists the options"));
}

}  // namespace
}  // namespace belfry
