// Inputs from tf.train.Examples. The bytes are those of framework/tensor/example.h's writer, whose
// tests compare it with TensorFlow's.
#include "belfry/framework/export/parse_examples.h"

#include "belfry/framework/tensor/example.h"
#include "export_testing.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

std::string example(const tf::FeatureMap& features) {
  auto bytes = tf::Example{features}.serialize();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A model that gives back its inputs, a little changed.
EstimatorSpec echo(Scope, const Batch& batch, Mode) {
  return {.predictions = {{"sum", batch["x"] + cast(batch["n"], DType::f32)},
                          {"pixels", batch["image"] * 2}}};
}

class ParseExamples : public ::testing::Test {
 protected:
  Predictor load(ExampleInputs examples, const DecodeImage& decode = {}) {
    Checkpoint state;
    std::string path =
        export_model(dir.path() + "/exports",
                     {.model_fn = echo,
                      .signatures = {{"predict",
                                      {.inputs = {{"x", {{2}, DType::f32}},
                                                  {"n", {{1}, DType::i32}},
                                                  {"image", {{1, 2, 1}, DType::f32}}},
                                       .examples = std::move(examples)}}},
                      .onnx = false},
                     state);
    return Predictor::load(path, {.decode_image = decode});
  }
  std::string error(const Predictor& predictor, const tf::FeatureMap& features) {
    Strings serialized{example(good), example(features)};
    return error_of([&] { predictor.predict_examples(serialized); });
  }
  tf::FeatureMap with(const std::string& name, tf::Feature feature) {
    tf::FeatureMap changed = good;
    changed[name] = std::move(feature);
    return changed;
  }

  TemporaryFolder dir;
  tf::FeatureMap good{{"x", Floats{1, 2}},
                      {"count", Integers{7}},
                      {"image", Strings{std::string("\x33\xff", 2)}},
                      {"other", Strings{"a", "b"}}};
  ExampleInputs inputs{{"n", {.feature = "count", .default_value = -1}},
                       {"image", {.stored = StoredAs::bytes}}};
};

TEST_F(ParseExamples, GiveTheRowsOfABatch) {
  Predictor predictor = load(inputs);
  tf::FeatureMap second{{"x", Floats{3, 4}}, {"image", Strings{std::string("\0\x66", 2)}}};
  Strings serialized{example(good), example(second)};
  Features batch = predictor.parse_examples(serialized);
  EXPECT_EQ(to_string(signature_of(batch)), "x f32[2, 2], n i32[2, 1], image f32[2, 1, 2, 1]");
  EXPECT_THAT(batch.at("n").span<std::int32_t>(), ElementsAre(7, -1));
  Features out = predictor.predict_examples(serialized);
  EXPECT_THAT(out.at("sum").span<float>(), ElementsAre(8, 9, 2, 3));
  // 0x33 / 255 = 0.2 and 0x66 / 255 = 0.4, as floats.
  EXPECT_THAT(out.at("pixels").span<float>(), ElementsAre(0.4f, 2, 0, 0.8f));
  EXPECT_EQ(predictor.parse_examples({}).at("x").shape(), (Shape{0, 2}));
}

TEST_F(ParseExamples, DecodeImages) {
  inputs["image"] = {.stored = StoredAs::image, .unit = 2, .default_value = 6};
  auto twice = [](std::span<const std::byte> bytes, int channels) {
    Array out({1, std::ssize(bytes), channels}, DType::u8);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      out.span<std::uint8_t>()[i] = static_cast<std::uint8_t>(2 * std::to_integer<int>(bytes[i]));
    return out;
  };
  Predictor predictor = load(inputs, twice);
  Strings serialized{example(with("image", Strings{"\1\5"})), example(with("image", {}))};
  EXPECT_THAT(predictor.parse_examples(serialized).at("image").span<float>(),
              ElementsAre(1, 5, 3, 3));
  EXPECT_THAT(error(predictor, with("image", Strings{"abc"})),
              AllOf(HasSubstr("the image is u8[1, 3, 1], expected u8[1, 2, 1]"),
                    HasSubstr("example 1"), HasSubstr("feature `image`")));
  EXPECT_THAT(error(load(inputs), good), HasSubstr("set PredictorOptions::decode_image"));
}

TEST_F(ParseExamples, NameWhatIsWrong) {
  Predictor predictor = load(inputs);
  EXPECT_EQ(error(predictor, good), "no error");
  EXPECT_THAT(error(predictor, with("x", Floats{1})),
              AllOf(HasSubstr("example 1"), HasSubstr("feature `x`: it has 1 values, expected 2")));
  EXPECT_THAT(error(predictor, with("x", Integers{1, 2})),
              HasSubstr("integers, which are not f32"));
  EXPECT_THAT(error(predictor, with("x", {})), HasSubstr("feature `x`: it is missing"));
  EXPECT_THAT(error(predictor, with("count", Integers{std::int64_t{1} << 31})),
              AllOf(HasSubstr("feature `count`"), HasSubstr("numbers that i32 cannot hold")));
  EXPECT_THAT(error_of([&] { predictor.predict_examples(Strings{"\1"}); }),
              AllOf(HasSubstr("example 0"), HasSubstr("protobuf: at byte 1")));
}

// 2^62 is a float, 2^63 - 1 is not: the nearest is 2^63.
TEST_F(ParseExamples, IntegersMustBeHeldByAFloatingInput) {
  inputs["x"] = {.stored = StoredAs::integers};
  Predictor predictor = load(inputs);
  good["x"] = Integers{-3, std::int64_t{1} << 62};
  EXPECT_EQ(error(predictor, good), "no error");
  for (std::int64_t number : {std::int64_t{9223372036854775807}, (std::int64_t{1} << 62) + 1})
    EXPECT_THAT(error(predictor, with("x", Integers{1, number})),
                HasSubstr("numbers that f32 cannot hold"));
}

TEST_F(ParseExamples, AreCheckedWhenTheModelIsExported) {
  auto refused = [&](const std::string& input, const ExampleInput& how) {
    inputs[input] = how;
    std::string error = error_of([&] { load(inputs); });
    inputs.erase(input);
    return error;
  };
  EXPECT_THAT(refused("y", {}), HasSubstr("`y`, which is no input; there are x, n, image"));
  EXPECT_THAT(refused("n", {.stored = StoredAs::floats}),
              HasSubstr("floats cannot be read as i32"));
  EXPECT_THAT(refused("n", {.stored = StoredAs::bytes}), HasSubstr("bytes are read as u8 or a"));
  EXPECT_THAT(refused("n", {.feature = "x"}),
              HasSubstr("`x` of tf.train.Examples is read for two"));
  EXPECT_THAT(refused("n", {.default_value = 0.5}), HasSubstr("the default 0.5 is no i64"));
  EXPECT_THAT(refused("x", {.stored = StoredAs::image}), HasSubstr("one example is f32[2]"));
  EXPECT_THAT(refused("image", {.unit = 0}), HasSubstr("unit must be from"));
  EXPECT_FALSE(std::filesystem::exists(dir.path() + "/exports/graph.json"));
}

}  // namespace
}  // namespace belfry
