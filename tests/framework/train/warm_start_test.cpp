// The values that a warm start takes, worked out by hand.

#include "belfry/framework/train/warm_start.h"

#include <gmock/gmock.h>

#include <numeric>

#include "../base/error_of.h"
#include "../base/temporary_folder.h"
#include "belfry/framework/base/file.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

VariableOptions variable(const std::string& name, const Shape& shape,
                         VariableKind kind = VariableKind::parameter) {
  return {
      .name = name, .type = {shape, DType::f32}, .initializer = constant_value(-1), .kind = kind};
}

// 0, 1, 2, ... in row-major order.
Array counting(const Shape& shape, DType dtype = DType::f32) {
  Array out(shape, DType::f32);
  auto values = out.span<float>();
  std::iota(values.begin(), values.end(), 0.0f);
  return out.cast(dtype);
}

std::vector<float> floats(const Array& array) {
  auto values = array.span<float>();
  return {values.begin(), values.end()};
}

WarmStartTable plan(const WarmStart& options, NamedArrays source,
                    const std::vector<VariableOptions>& variables, bool whole = true) {
  return warm_start_table(options, {.path = "source", .tensors = std::move(source)}, variables, 7,
                          whole);
}

// The value that `wanted`, the only variable, takes from a tensor of another name.
Array taken(WarmStart options, const std::string& name, const Array& source,
            const VariableOptions& wanted) {
  options.names[wanted.name] = name;
  return plan(options, {{name, source}}, {wanted}).values.at(wanted.name);
}

TEST(WarmStart, TheTableSaysWhatBecomesOfEachVariable) {
  auto result = plan(
      {.names = {{"head/kernel", "fc.weight"}}, .strict = false},
      {{"conv/kernel", counting({1, 2})},
       {"fc.weight", counting({3, 2}, DType::f16)},
       {"fc.bias", counting({3})},
       {"head/bias", counting({4})}},
      {variable("conv/kernel", {1, 2}), variable("head/kernel", {2, 3}), variable("head/bias", {3}),
       variable("extra", {1}), variable("momentum", {1}, VariableKind::slot)});
  EXPECT_EQ(to_string(result),
            "warm start from source: 2 loaded (1 renamed, 1 converted), 1 mismatched, 1 new, "
            "1 unused\n"
            "  loaded      conv/kernel f32[1, 2]\n"
            "  loaded      head/kernel f32[2, 3] from fc.weight f16[3, 2], transposed, f16 to f32\n"
            "  mismatched  head/bias f32[3], which is f32[4] in the source\n"
            "  new         extra f32[1]\n"
            "  unused      1: fc.bias\n");
  EXPECT_EQ(result.values.size(), 2u);
  EXPECT_THAT(floats(result.values.at("head/kernel")), ElementsAre(0, 2, 4, 1, 3, 5));
}

TEST(WarmStart, KernelsOfPyTorchAreTransposed) {
  // out 2, in 3, 1 x 2 pixels: element (0, x, i, o) comes from (o, i, 0, x).
  Array conv = taken({}, "conv.weight", counting({2, 3, 1, 2}), variable("c/kernel", {1, 2, 3, 2}));
  EXPECT_THAT(floats(conv), ElementsAre(0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11));
  // Three channels, one result each: [3, 1, 1, 2] -> [1, 2, 3, 1].
  Array depthwise =
      taken({}, "d.weight", counting({3, 1, 1, 2}), variable("d/kernel", {1, 2, 3, 1}));
  EXPECT_THAT(floats(depthwise), ElementsAre(0, 2, 4, 1, 3, 5));
  // One axis: in 2, out 3, 2 samples of a transposed convolution.
  Array line = taken({}, "l.weight", counting({2, 3, 2}), variable("l/kernel", {2, 3, 2}));
  EXPECT_THAT(floats(line), ElementsAre(0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11));
}

TEST(WarmStart, TheLayoutGoesByTheNameUnlessItIsSaid) {
  VariableOptions square = variable("fc/kernel", {2, 2});
  EXPECT_THAT(floats(taken({}, "fc.weight", counting({2, 2}), square)), ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(floats(taken({}, "fc/w", counting({2, 2}), square)), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(
      floats(taken({.layout = KernelLayout::belfry}, "fc.weight", counting({2, 2}), square)),
      ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(floats(taken({.layout = KernelLayout::pytorch}, "fc/w", counting({2, 2}), square)),
              ElementsAre(0, 2, 1, 3));
  // A tensor that is no kernel stays as it is.
  EXPECT_THAT(floats(taken({}, "emb.weight", counting({2, 2}), variable("emb/table", {2, 2}))),
              ElementsAre(0, 1, 2, 3));
}

// Rows of a kernel behind an image of 1 x 2 pixels and 3 channels, which PyTorch flattens to
// c0x0 c0x1 c1x0 c1x1 c2x0 c2x1, and Belfry to x0c0 x0c1 x0c2 x1c0 ...
TEST(WarmStart, RowsBehindAnImageAreReordered) {
  WarmStart options{.flattened = {{"fc/kernel", {1, 2, 3}}}};
  Array value = taken(options, "fc.weight", counting({1, 6}), variable("fc/kernel", {6, 1}));
  EXPECT_THAT(floats(value), ElementsAre(0, 2, 4, 1, 3, 5));
}

TEST(WarmStart, NamesAndRulesSayWhatAVariableIsCalledInTheSource) {
  NamedArrays source{{"old/w", counting({1})}, {"b2", counting({2})}};
  auto result = plan(
      {.names = {{"first/w", "old/w"}, {"second/w", "old/w"}},
       .renames = {{.pattern = "layer(\\d)/bias", .replacement = "b$1"},
                   {.pattern = "layer.*", .replacement = "none"}}},
      source, {variable("first/w", {1}), variable("second/w", {1}), variable("layer2/bias", {2})},
      false);
  EXPECT_EQ(result.values.size(), 3u);
  EXPECT_TRUE(result.unused.empty());
  EXPECT_EQ(result.entries[2].source, "b2");
}

TEST(WarmStart, PatternsMatchFromTheBeginningAndKindsAreChosen) {
  const std::vector<VariableOptions> model{variable("block1/w", {1}), variable("block2/w", {1}),
                                           variable("my/block1/w", {1}),
                                           variable("block1/mean", {1}, VariableKind::statistic),
                                           variable("block1/w/m", {1}, VariableKind::slot)};
  NamedArrays source;
  for (const VariableOptions& v : model) source[v.name] = counting({1});
  auto names = [&](const WarmStart& options) {
    std::vector<std::string> out;
    for (const auto& [name, value] : plan(options, source, model).values) out.push_back(name);
    return out;
  };
  EXPECT_THAT(names({.variables = {"block1"}}), ElementsAre("block1/mean", "block1/w"));
  EXPECT_THAT(names({.variables = {"block1", ".*2"}, .statistics = false}),
              ElementsAre("block1/w", "block2/w"));
  EXPECT_THAT(names({.variables = {"block1"}, .slots = true}),
              ElementsAre("block1/mean", "block1/w", "block1/w/m"));
}

TEST(WarmStart, StrictlyEveryVariableMustBeHad) {
  auto strict = [](const VariableOptions& wanted) {
    return error_of([&] { plan({}, {{"w", counting({2})}}, {variable("w", {2}), wanted}); });
  };
  EXPECT_THAT(strict(variable("v", {1})),
              AllOf(HasSubstr("`v` cannot be taken over"), HasSubstr("strict = false"),
                    HasSubstr("\n  new         v f32[1]\n")));
  VariableOptions whole = variable("w", {2});
  whole.type.dtype = DType::i64;
  EXPECT_THAT(error_of([&] {
                plan({}, {{"w", counting({2})}}, {whole});
              }),
              HasSubstr("mismatched  w i64[2], which is f32[2] in the source"));
}

TEST(WarmStart, OptionsThatNameWhatIsNotThereAreErrors) {
  auto error = [](const WarmStart& options) {
    return error_of([&] { plan(options, {{"w", counting({2})}}, {variable("w", {2})}); });
  };
  EXPECT_THAT(error({.names = {{"v", "w"}}}),
              HasSubstr("names: the model has no variable `v`; it has w"));
  EXPECT_THAT(error({.variables = {"w", "x.*"}}),
              HasSubstr("variables: `x.*` matches no variable"));
  EXPECT_THAT(error({.renames = {{"x", "w"}}}), HasSubstr("renames: `x` matches no variable"));
  EXPECT_THAT(error({.vocabularies = {{.variable = "v"}}}), HasSubstr("no variable `v`"));
  EXPECT_THAT(error({.variables = {"("}}), HasSubstr("`(` is no regular expression"));
  // The part of a model that predicts may lack them.
  EXPECT_EQ(plan({.names = {{"v", "w"}}}, {{"w", counting({2})}}, {variable("w", {2})}, false)
                .values.size(),
            1u);
}

class Vocabularies : public ::testing::Test {
 protected:
  Vocabularies() {
    write_file_atomically(folder / "old", "a\nb\nc\n");
    write_file_atomically(folder / "new", "c\r\nx\na");
  }
  WarmStart options(int axis) const {
    return {.vocabularies = {{.variable = "e",
                              .tokens = folder / "new",
                              .old_tokens = folder / "old",
                              .axis = axis}}};
  }
  TemporaryFolder folder;
};

// Both have a row more than tokens.
TEST_F(Vocabularies, RowsGoByTokenAndOthersKeepFirstValues) {
  auto result = plan(options(0), {{"e", counting({4, 2})}}, {variable("e", {4, 2})});
  EXPECT_THAT(floats(result.values.at("e")), ElementsAre(4, 5, -1, -1, 0, 1, -1, -1));
  EXPECT_EQ(result.entries[0].conversion, "2 of 4 rows by token");
}

TEST_F(Vocabularies, ColumnsToo) {
  auto result = plan(options(1), {{"e", counting({2, 3})}}, {variable("e", {2, 4})});
  EXPECT_THAT(floats(result.values.at("e")), ElementsAre(2, -1, 0, -1, 5, -1, 3, -1));
}

// First values are those that the variable has without a warm start.
TEST_F(Vocabularies, FirstValuesAreDrawnFromSeedAndName) {
  VariableOptions e = variable("e", {4, 2});
  e.initializer = normal();
  Array first = Array::zeros({4, 2});
  e.initializer.fill(first, philox_key(7, "e"));
  auto value = floats(plan(options(0), {{"e", counting({3, 2})}}, {e}).values.at("e"));
  EXPECT_EQ(value[2], floats(first)[2]);
  EXPECT_EQ(value[7], floats(first)[7]);
  EXPECT_EQ(value[0], 4);
}

TEST_F(Vocabularies, FilesThatDoNotFitAreErrors) {
  auto error = [&](const Shape& source, const Shape& wanted) {
    return error_of([&] { plan(options(0), {{"e", counting(source)}}, {variable("e", wanted)}); });
  };
  EXPECT_THAT(error({3, 2}, {2, 2}), HasSubstr("has 3 tokens, but axis 0 of `e` has 2 rows"));
  EXPECT_THAT(error({2, 2}, {3, 2}),
              HasSubstr("has 3 tokens, but axis 0 of `e` has 2 rows in the source"));
  EXPECT_THAT(error({3, 2}, {3, 4}), HasSubstr("mismatched  e f32[3, 4], which is f32[3, 2]"));
  write_file_atomically(folder / "new", "a\nb\na\n");
  EXPECT_THAT(error({3, 2}, {3, 2}), HasSubstr("line 3 has the token `a` of line 1"));
}

// ---- recurrent layers

TEST(WarmStart, RecurrentLayersOfPyTorchAreTurned) {
  NamedArrays gru{{"rnn.weight_ih_l0", counting({6, 1})},
                  {"rnn.weight_hh_l0", counting({6, 2})},
                  {"rnn.bias_ih_l0", counting({6})},
                  {"rnn.bias_hh_l0", counting({6}, DType::f16)}};
  WarmStart options{.names = {{"r/kernel", "rnn.weight_ih_l0"},
                              {"r/recurrent_kernel", "rnn.weight_hh_l0"},
                              {"r/bias", "rnn.bias_ih_l0"},
                              {"r/recurrent_bias", "rnn.bias_hh_l0"}}};
  auto table = plan(options, gru,
                    {variable("r/kernel", {1, 6}), variable("r/recurrent_kernel", {2, 6}),
                     variable("r/bias", {6}), variable("r/recurrent_bias", {6})});
  // Reset, update, new become update, reset, new.
  EXPECT_THAT(floats(table.values.at("r/kernel")), ElementsAre(2, 3, 0, 1, 4, 5));
  EXPECT_THAT(floats(table.values.at("r/recurrent_kernel")),
              ElementsAre(4, 6, 0, 2, 8, 10, 5, 7, 1, 3, 9, 11));
  EXPECT_THAT(floats(table.values.at("r/bias")), ElementsAre(2, 3, 0, 1, 4, 5));
  EXPECT_THAT(floats(table.values.at("r/recurrent_bias")), ElementsAre(2, 3, 0, 1, 4, 5));
  EXPECT_EQ(table.entries[0].conversion, "transposed, gates in order");
  EXPECT_EQ(table.entries[3].conversion, "gates in order, f16 to f32");
}

TEST(WarmStart, TwoBiasesOfPyTorchAreOne) {
  NamedArrays lstm{{"weight_hh_l1_reverse", counting({4, 1})},
                   {"bias_ih_l1_reverse", counting({4})},
                   {"bias_hh_l1_reverse", Array::of({10.0f, 20.0f, 30.0f, 40.0f}, {4})}};
  WarmStart options{
      .names = {{"r/recurrent_kernel", "weight_hh_l1_reverse"}, {"r/bias", "bias_ih_l1_reverse"}}};
  std::vector<VariableOptions> one{variable("r/recurrent_kernel", {1, 4}), variable("r/bias", {4})};
  auto table = plan(options, lstm, one);
  EXPECT_THAT(floats(table.values.at("r/recurrent_kernel")), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(floats(table.values.at("r/bias")), ElementsAre(10, 21, 32, 43));
  EXPECT_EQ(table.entries[1].conversion, "plus bias_hh");
  EXPECT_THAT(table.unused, ElementsAre());
  one.push_back(variable("r/recurrent_bias", {4}));
  options.names["r/recurrent_bias"] = "bias_hh_l1_reverse";
  table = plan(options, lstm, one);
  EXPECT_THAT(floats(table.values.at("r/bias")), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(floats(table.values.at("r/recurrent_bias")), ElementsAre(10, 20, 30, 40));
}

TEST(WarmStart, TheOtherBiasIsAddedToEither) {
  auto table = plan({.names = {{"r/bias", "bias_hh_l0"}}},
                    {{"weight_hh_l0", counting({2, 2})},
                     {"bias_ih_l0", counting({2})},
                     {"bias_hh_l0", Array::of({10.0f, 20.0f}, {2})}},
                    {variable("r/bias", {2})});
  EXPECT_THAT(floats(table.values.at("r/bias")), ElementsAre(10, 21));
  EXPECT_EQ(table.entries[0].conversion, "plus bias_ih");
}

TEST(WarmStart, ShapesThatAreNoRecurrentLayersAreMismatches) {
  for (const Shape& shape : {Shape{0}, Shape{}, Shape{2}, Shape{3, 1}}) {
    auto table = plan({.names = {{"r/bias", "bias_ih_l0"}}, .strict = false},
                      {{"weight_hh_l0", counting({3, 1})}, {"bias_ih_l0", counting(shape)}},
                      {variable("r/bias", {3})});
    EXPECT_EQ(table.entries[0].state, WarmStartEntry::State::mismatched) << to_string(shape);
  }
}

TEST(WarmStart, TheBiasOfKerasGruHasTwoRows) {
  std::vector<VariableOptions> gru{variable("r/bias", {3}), variable("r/recurrent_bias", {3})};
  WarmStart options{.names = {{"r/bias", "gru/bias"}, {"r/recurrent_bias", "gru/bias"}}};
  auto table = plan(options, {{"gru/bias", counting({2, 3})}}, gru);
  EXPECT_THAT(floats(table.values.at("r/bias")), ElementsAre(0, 1, 2));
  EXPECT_THAT(floats(table.values.at("r/recurrent_bias")), ElementsAre(3, 4, 5));
  // A dense layer has no such rows.
  table = plan({.names = {{"r/bias", "gru/bias"}}, .strict = false},
               {{"gru/bias", counting({2, 3})}}, {gru[0]});
  EXPECT_EQ(table.entries[0].state, WarmStartEntry::State::mismatched);
}

}  // namespace
}  // namespace belfry
