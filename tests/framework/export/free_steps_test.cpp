// Exports whose batches have any number of steps.
#include "belfry/framework/export/onnx/onnx_model.h"
#include "belfry/framework/export/saved_graph.h"
#include "export_testing.h"

namespace belfry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ExtentOfSteps, IsTextAndBack) {
  using saved::Extent;
  const std::vector<std::pair<std::string, Extent>> known{
      {"0", {}},
      {"-3", {-3}},
      {"n", {.per_row = 1}},
      {"t", {.per_step = 1}},
      {"n*t", {.per_row_and_step = 1}},
      {"12*t+1", {.fixed = 1, .per_step = 12}},
      {"-1*n-4", {.fixed = -4, .per_row = -1}},
      {"2*n*t-3*n+t-7", {.fixed = -7, .per_row = -3, .per_step = 1, .per_row_and_step = 2}}};
  for (const auto& [text, extent] : known) {
    EXPECT_EQ(to_string(extent), text);
    EXPECT_EQ(saved::extent_from_string(text), extent) << text;
  }
  EXPECT_EQ(saved::extent_from_string("2*n*t-3*n+t-7").at({.rows = 5, .steps = 11}), 99);
  for (std::string_view text : {"", "+", "n+", "2n", "t*n", "n*t*n", "n t", "--3", "*t", "t+t"})
    EXPECT_THAT(error_of([&] { saved::extent_from_string(text); }), HasSubstr("is no size"))
        << text;
}

Tensor counted(const Tensor& x) {
  Array numbers({x.size(1)}, DType::f32);
  float number = 0;
  for (float& to : numbers.span<float>()) to = number++;
  return constant(x.graph(), numbers);
}

/// x [n, t]: each number plus its place, the mean of a row, and x behind so many zeros that there
/// are 2 t places, all by constants and sizes that follow the steps.
EstimatorSpec of_steps(Scope s, const Batch& batch, Mode) {
  Tensor x = batch["x"], w = s.variable("w", {.shape = {6}});
  Tensor first = slice(w, {.begin = {0}, .size = {x.size(1)}});
  return {.predictions = {{"placed", x + counted(x) + first},
                          {"mean", mean(x, {.axes = {1}})},
                          {"late", pad(x, {.before = {0, x.size(1)}, .after = {0, 0}})}}};
}

ExportOptions options_of(const ModelFn& model, const std::string& folder) {
  Checkpoint checkpoint;
  checkpoint.variables = {{"w", vector_of({100, 200, 300, 400, 500, 600}, {6})}};
  write_checkpoint(folder + "/w.safetensors", checkpoint);
  ExportSignature signature{.inputs = {{"x", {{6}, DType::f32}}}, .free_steps = {"x"}};
  return {.model_fn = model,
          .checkpoint = folder + "/w.safetensors",
          .signatures = {{"predict", signature}}};
}

TEST(FreeSteps, ConstantsAndSizesFollowThem) {
  TemporaryFolder dir;
  ExportOptions options = options_of(of_steps, dir.path());
  check_export(options);
  Predictor predictor = Predictor::load(export_model(dir.path() + "/exports", options));
  EXPECT_EQ(to_string(predictor.inputs().at(0).second), "f32[n, t]");
  EXPECT_EQ(to_string(predictor.outputs().at(2).second), "f32[n, 2*t]");
  EXPECT_EQ(predictor.most_steps(), 6);
  Features out = predictor({{"x", vector_of({1, 2, 3, 4, 5, 6}, {2, 3})}});
  EXPECT_THAT(out.at("placed").span<float>(), ElementsAre(101, 203, 305, 104, 206, 308));
  EXPECT_THAT(out.at("mean").span<float>(), ElementsAre(2, 5));
  EXPECT_THAT(out.at("late").span<float>(), ElementsAre(0, 0, 0, 1, 2, 3, 0, 0, 0, 4, 5, 6));
  out = predictor({{"x", vector_of({1, 2, 3, 4, 5, 6}, {1, 6})}});  // the whole of w
  EXPECT_THAT(out.at("placed").span<float>(), ElementsAre(101, 203, 305, 407, 509, 611));
  EXPECT_EQ(predictor.single({{"x", vector_of({7}, {1})}}).at("placed").item(), 107);
}

// It follows the steps by an option alone: its operand and its size do not.
TEST(FreeSteps, AreFollowedInOnnxByOptionsToo) {
  TemporaryFolder dir;
  auto model = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor w = s.variable("w", {.shape = {6}});
    Tensor last = slice(w, {.begin = {batch["x"].size(1) - 1}, .size = {1}});
    return {.predictions = {{"y", batch["x"] + last}}};
  };
  Predictor predictor =
      Predictor::load(export_model(dir.path() + "/exports", options_of(model, dir.path())));
  EXPECT_EQ(predictor.single({{"x", vector_of({1, 2}, {2})}}).at("y").at(0), 201);
  auto weights = load_safetensors(predictor.path() + "/model.safetensors").tensors;
  saved::Model saved = saved::model_from_json(read_file(predictor.path() + "/graph.json"), weights);
  onnx::OnnxGraph graph = onnx::convert(saved.signatures.at("predict"), weights, "predict");
  EXPECT_EQ(std::ranges::count(graph.nodes, "Slice", &onnx::OnnxNode::type), 1);
}

TEST(FreeSteps, AreAtMostWhatTheSignatureSays) {
  TemporaryFolder dir;
  std::string path = export_model(dir.path() + "/exports", options_of(of_steps, dir.path()));
  Predictor predictor = Predictor::load(path);
  EXPECT_THAT(error_of([&] {
                predictor({{"x", Array::zeros({1, 7})}});
              }),
              HasSubstr("the inputs have 7 steps; the export takes at most 6"));
  Features of_none = predictor({{"x", Array::zeros({2, 0})}});
  EXPECT_EQ(of_none.at("placed").shape(), Shape({2, 0}));
}

TEST(FreeSteps, OfNoSuchInputOrTooFewAreErrors) {
  TemporaryFolder dir;
  auto error_with = [&](Signature inputs, std::vector<std::string> free) {
    ExportOptions options = options_of(of_steps, dir.path());
    options.signatures = {
        {"predict", {.inputs = std::move(inputs), .free_steps = std::move(free)}}};
    return error_of([&] { check_export(options); });
  };
  TensorType six{{6}, DType::f32};
  EXPECT_THAT(error_with({{"x", six}}, {"y"}), HasSubstr("no input `y` whose steps are free"));
  EXPECT_THAT(error_with({{"x", {{}, DType::f32}}}, {"x"}), HasSubstr("has no axis of steps"));
  EXPECT_THAT(error_with({{"x", {{3}, DType::f32}}}, {"x"}),
              HasSubstr("has 3 steps that are free; expected at least 4"));
  EXPECT_THAT(error_with({{"x", six}, {"y", {{5}, DType::f32}}}, {"x", "y"}),
              HasSubstr("has 5 steps that are free; expected as many as the others have, 6"));
}

TEST(FreeSteps, MustGiveSizesOfTheFormOfExtents) {
  TemporaryFolder dir;
  auto error_with = [&](const ModelFn& model) {
    return error_of([&] { check_export(options_of(model, dir.path())); });
  };
  auto halved = [](Scope, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = batch["x"];
    return {
        .predictions = {{"y", slice(x, {.begin = {0, 0}, .size = {x.size(0), x.size(1) / 2}})}}};
  };
  EXPECT_THAT(error_with(halved), HasSubstr("a + b * rows + c * steps + d * rows * steps"));
  auto flat = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    return {.predictions = {{"y", dense(s / "flat", batch["x"], {.units = 2})}}};
  };
  EXPECT_THAT(
      error_with(flat),
      HasSubstr("the variable `flat/kernel` is f32[t, 2]: weights cannot follow the batch"));
  // Alike for many steps.
  auto few = [](Scope, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = batch["x"];
    return {.predictions = {{"y", x * static_cast<double>(std::min<std::int64_t>(x.size(1), 3))}}};
  };
  EXPECT_THAT(error_with(few), HasSubstr("has other values"));
  auto root = [](Scope, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = batch["x"];
    return {.predictions = {{"y", x / std::sqrt(static_cast<double>(x.size(1)))}}};
  };
  EXPECT_THAT(error_with(root), HasSubstr("has other values"));
  auto backwards = [](Scope, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = batch["x"];
    Array numbers({x.size(1)}, DType::f32);
    auto number = static_cast<float>(x.size(1));
    for (float& to : numbers.span<float>()) to = number--;
    return {.predictions = {{"y", x + constant(x.graph(), numbers)}}};
  };
  EXPECT_THAT(error_with(backwards), HasSubstr("other values in each place"));
}

// Parts of a file that contradict each other.
TEST(FreeSteps, DamagedExportsAreErrors) {
  TemporaryFolder dir;
  std::string path = export_model(dir.path() + "/exports", options_of(of_steps, dir.path()));
  const std::string json = read_file(path + "/graph.json");
  EXPECT_THAT(json, HasSubstr("\"version\": 2"));  // which programs before them refuse
  auto error_with = [&](const std::string& old, const std::string& other) {
    std::string changed = json;
    std::size_t at = changed.find(old);
    EXPECT_NE(at, changed.npos) << old;
    changed.replace(at, old.size(), other);
    write_file_atomically(path + "/graph.json", changed);
    return error_of([&] { Predictor::load(path); });
  };
  EXPECT_THAT(error_with("\"most_steps\": 6", "\"most_steps\": 7"),
              HasSubstr("is f32[6] but the graph wants f32[t] for 7 steps"));
  EXPECT_THAT(error_with("\"most_steps\": 6", "\"most_steps\": -1"),
              HasSubstr("`most_steps` is -1"));
  EXPECT_THAT(error_with("\"elements\": [", "\"elements\": [1, "),
              HasSubstr("has 2 elements but is f32[]"));
  EXPECT_THAT(error_with("\"elements\": [", "\"value\": [3], \"elements\": ["),
              HasSubstr("one of `value`, `tensor` and `elements`"));
}

}  // namespace
}  // namespace belfry
