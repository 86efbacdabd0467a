// Covers export_model.cpp, export_folder.cpp and predictor.cpp.
#include <fstream>

#include "export_testing.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(ExportModel, WritesAFolderOfTheTimeThatPredictorRuns) {
  TemporaryFolder dir;
  ExportOptions options = line_options(dir.path());
  std::ofstream(dir.path() + "/words") << "yes";
  options.assets = {{"words.txt", dir.path() + "/words"}};
  std::string exports = dir.path() + "/exports";
  std::string first = export_model(exports, options), second = export_model(exports, options);
  EXPECT_LT(first, second);
  EXPECT_EQ(fs::path(first).filename().string().size(), 10u);
  EXPECT_THAT(files_in(exports), ElementsAre(fs::path(first).filename().string(),
                                             fs::path(second).filename().string()));
  EXPECT_THAT(files_in(first),
              ElementsAre("assets", "graph.json", "model.onnx", "model.safetensors"));
  EXPECT_EQ(read_file(first + "/assets/words.txt"), "yes");
  Predictor predictor = Predictor::load(exports);
  EXPECT_EQ(predictor.path(), second);
  EXPECT_EQ(to_string(predictor.inputs().at(0).second), "f32[n, 2]");
  EXPECT_EQ(predictor.outputs().at(0).first, "y");
  Features out = predictor({{"x", vector_of({1, 0, 0, 1, 2, 2}, {3, 2})}});
  EXPECT_THAT(out.at("y").span<float>(), ElementsAre(10, 12, 23));  // 3 + 7, 5 + 7, 6 + 10 + 7
  EXPECT_THAT(out.at("twice").span<float>(), ElementsAre(20, 24, 46));
  Features one = predictor.single({{"x", vector_of({1, 1}, {2})}});
  EXPECT_EQ(one.at("y").shape(), Shape{1});
  EXPECT_EQ(one.at("y").item(), 15);
}

TEST(ExportModel, AveragedWeightsAndSomePredictionsMayBeChosen) {
  TemporaryFolder dir;
  ExportOptions options = line_options(dir.path());
  options.averaged = true;
  options.onnx = false;
  options.signatures = {{"half", of_x({"twice"})}, {"whole", of_x()}};
  Predictor predictor = Predictor::load(export_model(dir.path() + "/exports", options));
  EXPECT_THAT(predictor.signatures(), ElementsAre("half", "whole"));
  Features batch{{"x", vector_of({3, 5}, {1, 2})}};
  EXPECT_EQ(predictor(batch, "half").size(), 1u);
  EXPECT_EQ(predictor(batch, "half").at("twice").item(), 16);
  EXPECT_EQ(predictor(batch, "whole").at("y").item(), 8);
  EXPECT_FALSE(fs::exists(predictor.path() + "/model.onnx"));
  EXPECT_THAT(error_of([&] { predictor(batch); }),
              AllOf(HasSubstr("name one of several signatures"), HasSubstr("half, whole")));
}

// A folder of a killed program, of one that lives, and what is none of ours.
TEST(ExportModel, RemovesWhatAKilledOneLeft) {
  TemporaryFolder dir;
  std::string exports = dir.path() + "/exports", stale = exports + "/.export.tmp.1.0";
  fs::create_directories(stale + "/assets");
  std::ofstream(stale + "/assets/a") << "a";
  fs::create_directories(exports + "/.export");
  write_export_folder(exports, [&](const std::string& living) {
    EXPECT_FALSE(fs::exists(stale));
    std::ofstream(living + "/graph.json") << "{}";
    fs::create_directories(stale);
    export_model(exports, line_options(dir.path()));
    EXPECT_FALSE(fs::exists(stale));
    EXPECT_TRUE(fs::exists(living + "/graph.json"));
  });
  EXPECT_EQ(files_in(exports).size(), 3u);
  EXPECT_TRUE(fs::exists(exports + "/.export"));
}

TEST(ExportModel, AnAverageWithoutUpdatesIsNone) {
  TemporaryFolder dir;
  ExportOptions options = line_options(dir.path());
  options.averaged = true;
  Checkpoint state = load_checkpoint(options.checkpoint);
  Array& count = state.variables["line/kernel/moving_average_count"];
  count = Array::scalar(std::int64_t{0});
  Predictor predictor = Predictor::load(export_model(dir.path() + "/exports", options, state));
  // The weights with the average of the bias.
  EXPECT_EQ(predictor({{"x", vector_of({1, 1}, {1, 2})}}).at("y").item(), 8);
  state.variables["line/bias/moving_average_count"] = count;
  EXPECT_THAT(error_of([&] { export_model(dir.path() + "/exports", options, state); }),
              HasSubstr("there are no moving averages"));
}

TEST(ExportModel, InputsMayBeThoseOfABatch) {
  Features batch{{"x", vector_of({1, 2, 3, 4}, {2, 2})}, {"y", Array::of({1, 2})}};
  EXPECT_EQ(to_string(inputs_like(batch)), "x f32[2], y i32[]");
  EXPECT_EQ(to_string(inputs_like(batch, {"y"})), "y i32[]");
  EXPECT_THAT(error_of([&] { inputs_like(batch, {"z"}); }), HasSubstr("x, y"));
  EXPECT_THAT(error_of([] {
                inputs_like({{"x", Array::scalar(1)}});
              }),
              HasSubstr("`x` is i32[], which has no axis of rows"));
}

TEST(ExportModel, AFailedExportLeavesNothing) {
  TemporaryFolder dir;
  std::string exports = dir.path() + "/exports";
  auto error = [&](auto change) {
    ExportOptions options = line_options(dir.path());
    change(options);
    return error_of([&] { export_model(exports, options); });
  };
  EXPECT_THAT(error([](auto& o) { o.assets = {{"a", "/no/such"}}; }), HasSubstr("/no/such"));
  EXPECT_THAT(error([](auto& o) { o.assets = {{"../a", "/dev/null"}}; }), HasSubstr("`../a`"));
  EXPECT_THAT(error([](auto& o) { o.signatures = {}; }), HasSubstr("there are no signatures"));
  EXPECT_THAT(error([](auto& o) {
                o.signatures = {{"predict", of_x({"z"})}};
              }),
              HasSubstr("there is no prediction `z`; the model has y, twice"));
  EXPECT_THAT(error([](auto& o) {
                o.model_fn = [](Scope s, const Batch& b, Mode) -> EstimatorSpec {
                  return {.predictions = {{"y", dense(s / "other", b["x"], {.units = 1})}}};
                };
              }),
              AllOf(HasSubstr("line.safetensors"), HasSubstr("the checkpoint of step 12"),
                    HasSubstr("missing: `other/kernel` f32[2, 1], the nearest: line/kernel")));
  EXPECT_THAT(error([&](auto& o) { o.checkpoint = dir.path(); }),
              HasSubstr("there is no checkpoint"));
  EXPECT_THAT(error([&](auto& o) { o.checkpoint = {}; }),
              HasSubstr("set ExportOptions::checkpoint"));
  // 1 / n is not of the form a + b n.
  EXPECT_THAT(error([](auto& o) {
                o.model_fn = [](Scope, const Batch& b, Mode) -> EstimatorSpec {
                  return {.predictions = {{"y", b["x"] * (1 / double(b["x"].size(0)))}}};
                };
              }),
              AllOf(HasSubstr("constant"), HasSubstr("built differently for 2, 3 and 7 rows"),
                    Not(HasSubstr("one row an example"))));
  EXPECT_THAT(error([](auto& o) {
                o.model_fn = [](Scope s, const Batch& b, Mode) -> EstimatorSpec {
                  Tensor x = dropout(s / "drop", b["x"]);
                  return {.predictions = {{"y", x}}};
                };
              }),
              AllOf(HasSubstr("dropout (at drop)"), HasSubstr("ExportOptions::onnx")));
  EXPECT_THAT(files_in(exports), ElementsAre());
  // An Error, of no other type; error_of() lets others through.
  const std::string file = dir.path() + "/line.safetensors", deep = std::string(300, 'x');
  for (const std::string& to : {file, file + "/exports", dir.path() + "/" + deep})
    EXPECT_THAT(error_of([&] { export_model(to, line_options(dir.path())); }), HasSubstr(to));
  EXPECT_THAT(error([&](auto& o) { o.checkpoint = deep; }), HasSubstr(deep));
  EXPECT_THAT(error([&](auto& o) { o.assets = {{deep, file}}; }), HasSubstr(deep));
  EXPECT_THAT(error_of([&] { Predictor::load(deep); }), HasSubstr("File name too long"));
}

TEST(ExportModel, MayBeCheckedWithoutWeights) {
  auto error = [](auto change) {
    ExportOptions options{.model_fn = line, .signatures = {{"predict", of_x()}}};
    change(options);
    return error_of([&] { check_export(options); });
  };
  EXPECT_EQ(error([](auto&) {}), "no error");
  EXPECT_THAT(error([](auto& o) { o.signatures = {}; }), HasSubstr("there are no signatures"));
  EXPECT_THAT(
      error([](auto& o) {
        o.signatures = {{"other", of_x({"z"})}};
      }),
      HasSubstr("there is no prediction `z`; the model has y, twice (while building the model for "
                "x f32[2, 2]) (signature other)"));
  EXPECT_THAT(error([](auto& o) {
                o.signatures = {{"predict", {.inputs = {{"z", {{2}, DType::f32}}}}}};
              }),
              HasSubstr("(while building the model for z f32[2, 2])"));
  EXPECT_THAT(
      error([](auto& o) { o.signatures["predict"].preparation = "[resize]"; }),
      HasSubstr("export: the preparation of signature `predict`: not JSON: line 1, column 2"));
  EXPECT_THAT(error([](auto& o) { o.signatures["predict"].examples["z"].feature = "k"; }),
              HasSubstr("`z`"));
  EXPECT_EQ(error([](auto& o) {
              o.signatures["wide"].inputs = {{"x", {{3}, DType::f32}}};
            }),
            "export: variable `line/kernel` is f32[3, 1] in signature wide and f32[2, 1] in one "
            "before it; its type must be the same in all");
  auto drops_out = [](auto& o) {
    o.model_fn = [](Scope s, const Batch& b, Mode) -> EstimatorSpec {
      Tensor x = dense(s / "fc", b["x"], {.units = 3});
      return {.predictions = {{"y", dropout(s / "drop", x)}}};
    };
  };
  EXPECT_THAT(error(drops_out), AllOf(HasSubstr("dropout (at drop)"), HasSubstr("cannot be"),
                                      HasSubstr("(signature predict)")));
  EXPECT_EQ(error([&](auto& o) { drops_out(o), o.onnx = false; }), "no error");
  // A weight that must not be 0.
  EXPECT_EQ(error([](auto& o) {
              o.model_fn = [](Scope s, const Batch& b, Mode) -> EstimatorSpec {
                Tensor w = s.variable("w", {.dtype = DType::i32, .initializer = ones()});
                return {.predictions = {{"y", b["x"] * cast(6 / w, DType::f32)}}};
              };
            }),
            "no error");
  // So many of 8 bytes a row, which are not there.
  auto large = [](int count, std::int64_t rows) {
    return [=](Scope s, const Batch& b, Mode) -> EstimatorSpec {
      Tensor y = b["x"];
      for (int i = 0; i < count; ++i) {
        Variable w = s.variable(concat("w", i), {.shape = {rows, 2}});
        y = y + mean(reshape(y, {-1, 1, 2}) * w, {.axes = {1}});
      }
      return {.predictions = {{"y", y}}};
    };
  };
  EXPECT_THAT(error([&](auto& o) { o.model_fn = large(40, 8 << 20); }),
              HasSubstr("2.5 GiB of weights; an ONNX file holds 2 GiB at most"));
  EXPECT_THAT(error([&](auto& o) { o.model_fn = large(1, std::int64_t{1} << 40); }),
              HasSubstr("8.0 TiB of weights; an ONNX file"));
  EXPECT_EQ(error([&](auto& o) { o.model_fn = large(40, 8 << 20), o.onnx = false; }), "no error");
}

TEST(Predictor, TellsWhatIsWrongWithInputs) {
  TemporaryFolder dir;
  ExportOptions options = line_options(dir.path());
  options.onnx = false;
  Predictor predictor = Predictor::load(export_model(dir.path() + "/exports", options));
  auto error = [&](const Features& batch) { return error_of([&] { predictor(batch); }); };
  EXPECT_THAT(error({}), HasSubstr("the input `x` f32[n, 2] is missing; this batch has nothing"));
  EXPECT_THAT(error({{"z", Array::of({1})}}), HasSubstr("this batch has z"));
  EXPECT_THAT(error({{"x", vector_of({1, 2, 3}, {1, 3})}}),
              HasSubstr("the input `x` is f32[1, 3] but must be f32[n, 2] with n = 1 rows"));
  EXPECT_THAT(error({{"x", Array::of({1, 2})}}), HasSubstr("is i32[2] but must be f32[n, 2]"));
  EXPECT_THAT(error_of([&] { predictor({}, "other"); }),
              HasSubstr("there is no signature `other`"));
}

TEST(Predictor, SingleNeedsOneRowAnExample) {
  TemporaryFolder dir;
  ExportOptions options = line_options(dir.path());
  options.model_fn = [](Scope s, const Batch& batch, Mode mode) -> EstimatorSpec {
    Tensor y = line(s, batch, mode).predictions[0].second;
    return {.predictions = {{"sum", sum(y)}, {"mean", mean(y)}}};
  };
  options.signatures = {{"predict", of_x({"sum"})}};
  Predictor predictor = Predictor::load(export_model(dir.path() + "/exports", options));
  EXPECT_EQ(predictor({{"x", vector_of({1, 1, 1, 3}, {2, 2})}}).at("sum").item(), 40);
  EXPECT_EQ(error_of([&] {
              predictor.single({{"x", vector_of({1, 1}, {2})}});
            }),
            "predictor: the prediction `sum` is f32[] for 1 row, but single() needs one row an "
            "example; call the predictor with a batch instead");
  // 1 / n is a constant of the graph.
  options.signatures = {{"predict", of_x({"mean"})}};
  EXPECT_THAT(error_of([&] { export_model(dir.path() + "/exports", options); }),
              AllOf(HasSubstr("built differently for 2, 3 and 7 rows"),
                    HasSubstr("(the prediction `mean` is f32[] for 2 rows, and not one row an "
                              "example; leave it out with ExportSignature::outputs)")));
  // It may be another's fault.
  options.model_fn = [](Scope, const Batch& b, Mode) -> EstimatorSpec {
    Tensor x = b["x"];
    return {.predictions = {{"sum", sum(x)}, {"y", x * (1 / double(x.size(0)))}}};
  };
  options.signatures = {{"predict", of_x()}};
  EXPECT_THAT(error_of([&] { export_model(dir.path() + "/exports", options); }),
              AllOf(HasSubstr("built differently"), Not(HasSubstr("one row an example"))));
}

TEST(Predictor, TellsWhatAFolderWithoutExportsIs) {
  TemporaryFolder dir;
  std::string run = dir.path() + "/run";
  auto error = [](const std::string& path) { return error_of([&] { Predictor::load(path); }); };
  const std::string none =
      ": there is no graph.json in it, nor in a folder in it whose name is a time of ten digits";
  EXPECT_EQ(error(run), concat("`", run, "` holds no export", none));
  fs::create_directories(run);
  write_checkpoint(checkpoint_path(run, 12), {.step = 12});
  const std::string trained =
      concat("`", run, "` holds no export, but the checkpoints of a training", none);
  EXPECT_EQ(error(run), trained + "; Estimator::export_model() writes exports");
  auto write = [](const std::string& path) {
    fs::create_directories(path);
    std::ofstream(path + "/graph.json") << "{}";
  };
  write(run + "/export/best/1700000000");
  write(run + "/export/best/1700000002");
  write(run + "/export/latest/1700000001");
  const std::string newest =
      concat("; the newest further down is `", run, "/export/best/1700000002`");
  EXPECT_EQ(error(run), trained + newest);
  EXPECT_EQ(error(run + "/export"), concat("`", run, "/export` holds no export", none, newest));
}

}  // namespace
}  // namespace belfry
