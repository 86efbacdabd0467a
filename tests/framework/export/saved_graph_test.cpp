// Covers extent.cpp, record.cpp, saved_graph.cpp, saved_graph_json.cpp, op_table.cpp,
// instantiate.cpp.
#include "belfry/framework/export/saved_graph.h"

#include "belfry/framework/export/instantiate.h"
#include "export_testing.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;

TEST(Extent, IsTextAndBack) {
  for (const char* text : {"28", "n", "49*n", "2*n+1", "n-3", "-1*n+5", "0", "-7"})
    EXPECT_EQ(to_string(saved::extent_from_string(text)), text);
  EXPECT_EQ(saved::extent_from_string("2*n+1").at({4}), 9);
  for (const char* text : {"", "m", "2n", "*n", "n+", "n*2", "1.5", "99999999999999999999", "n+n"})
    EXPECT_THAT(error_of([&] { saved::extent_from_string(text); }), HasSubstr("is no size"))
        << text;
  EXPECT_THAT(error_of([] {
                saved::Extent{0, std::int64_t{1} << 62}.at({2});
              }),
              HasSubstr("beyond 64 bits"));
  EXPECT_EQ(to_string(saved::type_from_string("f32[n, 2*n, 3]").at({2})), "f32[2, 4, 3]");
  EXPECT_EQ(to_string(saved::type_from_string("i64[]").at({2})), "i64[]");
  for (const char* text : {"f32", "f32[", "f33[1]", "f32[1,2]", "f32[1, ]", "f32[n, n] "})
    EXPECT_NE(error_of([&] { saved::type_from_string(text); }), "no error") << text;
}

// A graph.json of the nodes, whose last one is the result.
std::string graph_of(const std::string& nodes, int result) {
  return concat(
      R"({"format": "belfry graph", "version": 1, "step": 0, "seed": 0, "signatures": {"predict":
      {"results": {"y": [)",
      result, R"(, 0]}, "nodes": [)", nodes, "]}}}");
}

const std::string x =
    R"({"op": "input", "types": ["f32[n, 4]"], "options": {"name": "x", "type": "f32[n, 4]"}})";

std::string error_in(const std::string& json) {
  return error_of([&] {
    saved::Model model = saved::model_from_json(json, {});
    saved::instantiate(model.signatures.at("predict"), {2});
  });
}
// The error of a node behind input x.
std::string error_of_node(const std::string& node) { return error_in(graph_of(x + "," + node, 0)); }

TEST(SavedGraph, ReadsWhatIsRight) {
  EXPECT_EQ(error_in(graph_of(x, 0)), "no error");
  EXPECT_EQ(error_of_node(R"({"op": "reshape", "inputs": [[0, 0]], "types": ["f32[4*n]"],
                              "options": {"shape": ["4*n"]}})"),
            "no error");
  EXPECT_EQ(error_of_node(R"({"op": "constant", "types": ["f32[n, 2]"], "value": [0.5]})"),
            "no error");
}

TEST(SavedGraph, RefusesWhatIsWrong) {
  struct Case {
    const char *node, *error;
  };
  for (const Case& c : std::vector<Case>{
           {R"({"op": "erase", "types": []})", "op `erase` cannot be saved or loaded"},
           {R"({"op": "assign", "inputs": [[0, 0], [0, 0]], "types": []})", "op `assign`"},
           {R"({"op": "relu", "inputs": [[1, 0]], "types": ["f32[n, 4]"]})",
            "reads node 1, which does not come before it (node 1, relu)"},
           {R"({"op": "relu", "inputs": [[0, 1]], "types": ["f32[n, 4]"]})", "reads output 1"},
           {R"({"op": "relu", "inputs": [[-1, 0]], "types": ["f32[n, 4]"]})", "-1 is no index"},
           {R"({"op": "relu", "types": ["f32[n, 4]"]})", "has 0 inputs; expected 1"},
           {R"({"op": "add", "inputs": [[0, 0]], "types": ["f32[n, 4]"]})", "expected 2"},
           {R"({"op": "relu", "inputs": [[0, 0]], "types": ["f32[n, 5]"]})",
            "output 0 is said to be f32[2, 5] but is f32[2, 4]"},
           {R"({"op": "relu", "inputs": [[0, 0]], "types": []})", "has 0 types"},
           {R"({"op": "relu", "inputs": [[0, 0]]})", "`types` is missing"},
           {R"({"op": "relu", "inputs": [[0, 0]], "types": ["f32[n, 4]"], "options": {"a": 1}})",
            "there is no option `a`"},
           {R"({"op": "sum", "inputs": [[0, 0]], "types": ["f32[n]"], "options": {"axes": [1]}})",
            "`keep_dims` is missing"},
           {R"({"op": "sum", "inputs": [[0, 0]], "types": ["f32[n]"],
                "options": {"axes": [7], "keep_dims": false}})",
            "axis 7 of f32[2, 4]"},
           {R"({"op": "sum", "inputs": [[0, 0]], "types": ["f32[n]"],
                "options": {"axes": [4294967297], "keep_dims": false}})",
            "must be in -2147483648..2147483647, got 4294967297 (option axes)"},
           {R"({"op": "sum", "inputs": [[0, 0]], "types": ["f32[n]"],
                "options": {"axes": "1", "keep_dims": false}})",
            "must be a list of numbers, got 1 (option axes)"},
           {R"({"op": "softmax", "inputs": [[0, 0]], "types": ["f32[n, 4]"],
                "options": {"axis": -1}})",
            "axis -1"},
           {R"({"op": "slice", "inputs": [[0, 0]], "types": ["f32[n, 4]"],
                "options": {"begin": [0], "size": [2], "strides": []}})",
            "1 begins, 1 sizes and 0 strides"},
           {R"({"op": "transpose", "inputs": [[0, 0]], "types": ["f32[4, n]"],
                "options": {"permutation": [1, 1]}})",
            "no permutation"},
           {R"({"op": "pad", "inputs": [[0, 0]], "types": ["f32[n, 4]"],
                "options": {"before": [0, 9223372036854775807], "after": [0, 0], "value": 0.0}})",
            "out of range"},
           {R"({"op": "broadcast_to", "inputs": [[0, 0]], "types": ["f32[n, 4]"],
                "options": {"shape": [1099511627776, 128, "n", 4]}})",
            "more than 2^48 elements"},
           {R"({"op": "conv2d", "inputs": [[0, 0], [0, 0]], "types": ["f32[n, 4]"], "options":
                {"stride": [1, 1, 1], "dilation": [1, 1], "groups": 1, "padding": "same",
                 "bias": false, "activation": "none"}})",
            "3 strides and 2 dilations"},
           {R"({"op": "max_pool", "inputs": [[0, 0]], "types": ["f32[n, 4]"],
                "options": {"window": [2, 2], "stride": [2, 2], "padding": "[1, 1, 1]"}})",
            "is no padding"},
           {R"({"op": "matmul", "inputs": [[0, 0], [0, 0]], "types": ["f32[n, n]"], "options":
                {"transpose_a": false, "transpose_b": true, "bias": true, "activation": "none"}})",
            "a bias belongs to no saved graph"},
           {R"({"op": "random_normal", "inputs": [[0, 0]], "types": ["f32[n]"],
                "options": {"type": "f32[n]", "stream": 1, "a": 0.0, "b": 1.0}})",
            "the state of random numbers is i64[3]"},
           {R"({"op": "input", "types": ["i64[2]"],
                "options": {"name": "run/random_state", "type": "i64[2]"}})",
            "the runtime feeds no `run/random_state` i64[2]"},
           {R"({"op": "input", "types": ["f32[n, 4]"],
                "options": {"name": "x", "type": "f32[n, 4]"}})",
            "the name `x` of another one"},
           {R"({"op": "constant", "types": ["f32[2]"], "value": [1]})", "`value` has 1 elements"},
           {R"({"op": "constant", "types": ["f32[2]"], "tensor": "t"})", "there is no tensor `t`"},
           {R"({"op": "constant", "types": ["f32[99999999999]"], "value": [1]})", "has 1 elements"},
           {R"({"op": "constant", "types": ["f32[n, 99999999999]"], "value": [1]})", "256 MiB"},
           {R"({"op": "input", "types": ["f32[0, n, 1099511627776, 1024]"], "options":
                {"name": "z", "type": "f32[0, n, 1099511627776, 1024]"}})",
            "more than 2^48 elements"},
           {R"({"op": 5, "types": []})", "`op` must be a string, got 5"},
           {R"(7)", "expected an object"}})
    EXPECT_THAT(error_of_node(c.node), HasSubstr(c.error)) << c.node;
}

// 160 MB for 2 rows: one is allowed, two are not.
TEST(SavedGraph, ConstantsThatFollowTheBatchAreBoundedTogether) {
  const std::string large = R"({"op": "constant", "types": ["f32[n, 20000000]"], "value": [1]})";
  EXPECT_EQ(error_of_node(large), "no error");
  EXPECT_THAT(error_of_node(large + "," + large), HasSubstr("beyond 256 MiB (node 2, constant)"));
}

// 2^15 parts of 2^48: one more than the largest number of 64 bits.
TEST(SavedGraph, PartsAreAddedWithoutOverflow) {
  std::string parts = "[1, 0]";
  for (int i = 1; i < 1 << 15; ++i) parts += ", [1, 0]";
  EXPECT_THAT(error_of_node(R"({"op": "input", "types": ["f32[0, 281474976710656]"], "options":
                                {"name": "z", "type": "f32[0, 281474976710656]"}},
                               {"op": "concat", "types": ["f32[0, 0]"], "options": {"axis": 1},
                                "inputs": [)"
                            + parts + "]}"),
              HasSubstr("beyond 64 bits together"));
}

TEST(SavedGraph, RefusesWhatIsNoGraph) {
  EXPECT_THAT(error_in("{"), HasSubstr("not JSON: line 1, column 2"));
  EXPECT_THAT(error_in("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(error_in(R"({"format": "other"})"), HasSubstr("the format is `other`"));
  EXPECT_THAT(
      error_in(R"({"format": "belfry graph", "version": 3})"),
      HasSubstr("version 3 of the format; this program reads versions 1 to 2; a newer Belfry "
                "wrote it: update to read it"));
  EXPECT_THAT(error_in(graph_of(R"({"op": "input", "types": [], "options": {"name": "x"}})", 0)),
              HasSubstr("has 0 types; expected one"));
  EXPECT_THAT(error_in(graph_of(x, 1)), HasSubstr("result `y` is [1, 0], which is not there"));
  const std::string deep(100'000, '['), back(100'000, ']');
  EXPECT_THAT(error_in(deep), HasSubstr("nested more than 100 deep"));
  EXPECT_THAT(error_in(graph_of(deep + back, 0)), HasSubstr("nested more than 100 deep"));
}

// Each byte of a real one is changed in turn, and it is cut at each place: an Error or a graph.
TEST(SavedGraph, AnyBytesGiveAGraphOrAnError) {
  TemporaryFolder dir;
  std::string path = export_model(dir.path() + "/exports", line_options(dir.path()));
  NamedArrays weights = load_safetensors(path + "/model.safetensors").tensors;
  std::string json = read_file(path + "/graph.json");
  auto read = [&](const std::string& text) {
    return error_of([&] {
      for (const auto& [name, signature] : saved::model_from_json(text, weights).signatures)
        saved::instantiate(signature, {2});
    });
  };
  EXPECT_EQ(read(json), "no error");
  int refused = 0;
  for (std::size_t i = 0; i < json.size(); ++i) {
    std::string changed = json;
    for (char c : {'9', '"', 'n', '\0'}) {
      changed[i] = c;
      refused += read(changed) != "no error";
    }
    if (i + 2 < json.size()) {
      EXPECT_NE(read(json.substr(0, i)), "no error");
    }
  }
  EXPECT_GT(refused, static_cast<int>(json.size()));
}

}  // namespace
}  // namespace belfry
