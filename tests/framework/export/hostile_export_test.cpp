// Exports whose files do not say the truth, or not all of it: an Error that names the file.
#include <fstream>

#include "export_testing.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class HostileExport : public ::testing::Test {
 protected:
  HostileExport() {
    ExportOptions options = line_options(dir.path());
    options.onnx = false;
    path = export_model(dir.path() + "/exports", options);
    weights = load_safetensors(path + "/model.safetensors").tensors;
    graph = read_file(path + "/graph.json");
  }
  std::string load_error() {
    return error_of([&] { Predictor::load(path, {.threads = 1}); });
  }
  std::string with(const std::string& name, const Array& value) {
    NamedArrays changed = weights;
    changed[name] = value;
    save_safetensors(path + "/model.safetensors", changed);
    return load_error();
  }
  // For the graph with other text in the place of some of its own.
  std::string replaced(const std::string& from, const std::string& to) {
    std::string json = graph;
    std::size_t at = json.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    write_file_atomically(path + "/graph.json", json.replace(at, from.size(), to));
    return load_error();
  }

  TemporaryFolder dir;
  std::string path;
  NamedArrays weights;
  std::string graph;
};

TEST_F(HostileExport, WeightsThatTheGraphDoesNotAskFor) {
  EXPECT_THAT(with("line/kernel", vector_of({3, 5}, {1, 2})),
              AllOf(HasSubstr(path), HasSubstr("`line/kernel` is f32[2, 1] in graph.json but "
                                               "f32[1, 2] in model.safetensors")));
  EXPECT_THAT(with("line/kernel", Array({2, 1}, DType::f64)), HasSubstr("but f64[2, 1] in model"));
  EXPECT_THAT(with("line/kernel", Array({0}, DType::f32)), HasSubstr("but f32[0] in model"));
  EXPECT_EQ(with("other", Array({1}, DType::f32)), "no error");
  weights.erase("line/bias");
  EXPECT_THAT(with("line/kernel", weights.at("line/kernel")),
              HasSubstr("the variable `line/bias`, which is not in model.safetensors"));
}

// A checksum covers all of it.
TEST_F(HostileExport, AnyOtherBytesOfWeights) {
  const std::string file = path + "/model.safetensors", content = read_file(file);
  auto write = [&](const std::string& bytes) {  // and not to the disk each time
    std::ofstream(file, std::ios::binary) << bytes;
  };
  for (std::size_t i = 0; i < content.size(); ++i) {
    std::string changed = content;
    changed[i] = static_cast<char>(changed[i] ^ (1 << i % 8));
    write(changed);
    EXPECT_THAT(load_error(), HasSubstr(file)) << i;
    if (i % 4 != 0) continue;
    write(content.substr(0, i));
    EXPECT_THAT(load_error(), HasSubstr(file)) << i;
  }
  std::filesystem::remove(file);
  EXPECT_THAT(load_error(), HasSubstr("cannot read `" + file));
}

TEST_F(HostileExport, GraphsThatAreNone) {
  EXPECT_THAT(replaced("line/kernel", "line/other"), HasSubstr("the variable `line/other`"));
  EXPECT_THAT(replaced("f32[2, 1]", "f32[n, 1]"), HasSubstr("is f32[n, 1] in graph.json"));
  EXPECT_THAT(replaced("f32[2, 1]", "f32[281474976710656, 65536]"),
              AllOf(HasSubstr(path + "/graph.json"), HasSubstr("node 1, variable (at line)"),
                    HasSubstr("more elements than")));
  EXPECT_THAT(replaced("\"seed\": 0", "\"seed\": -1"), HasSubstr("`seed` must be"));
  EXPECT_THAT(replaced("\"results\"", "\"examples\": {\"z\": {\"unit\": 1}}, \"results\""),
              HasSubstr("`z`, which is no input"));
  EXPECT_THAT(replaced("\"results\"",
                       "\"examples\": {\"x\": {\"unit\": 1, \"stored\": \"text\"}}, \"results\""),
              HasSubstr("not stored as `text`"));
  EXPECT_THAT(replaced("\"results\"", "\"preparation\": [], \"results\""),
              HasSubstr("`preparation` must be an object"));
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "{\"a\": ";
  deep += "1" + std::string(200'000, '}');
  EXPECT_THAT(replaced("\"results\"", "\"preparation\": " + deep + ", \"results\""),
              HasSubstr("nested more than 100 deep"));
}

// The values that a graph computes may be larger than any memory; its file is small all the same.
TEST_F(HostileExport, GraphsThatAskForTooMuch) {
  std::string nodes =
      R"({"op": "input", "types": ["f32[n]"], "options": {"name": "x", "type": "f32[n]"}},
    {"op": "broadcast_to", "inputs": [[0, 0]], "types": ["f32[1048576, 33554432, n]"],
     "options": {"shape": [1048576, 33554432, "n"]}},
    {"op": "relu", "inputs": [[1, 0]], "types": ["f32[1048576, 33554432, n]"]})";
  write_file_atomically(path + "/graph.json", R"({"format": "belfry graph", "version": 1, "step": 0,
    "seed": 0, "signatures": {"predict": {"results": {"y": [2, 0]}, "nodes": [)"
                                                  + nodes + "]}}}");
  Predictor predictor = Predictor::load(path, {.threads = 1});
  EXPECT_THAT(error_of([&] {
                predictor({{"x", Array::of({1.0f})}});
              }),
              HasSubstr("over the memory limit on cpu:0: 128.0 TiB asked for"));
}

}  // namespace
}  // namespace belfry
