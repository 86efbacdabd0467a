#include <gmock/gmock.h>

#include "belfry/framework/base/protobuf_wire.h"
#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/ops.h"
#include "belfry/hooks/tensorboard/event_file.h"

namespace belfry::hooks {
namespace {

using protobuf::WireReader;
using protobuf::WireType;
using testing::ElementsAre;

/// "name = op(inputs) T [shapes]" for each node.
std::vector<std::string> words_of(const std::vector<std::byte>& bytes) {
  std::vector<std::string> out;
  for (WireReader graph(bytes); graph.next();) {
    if (!graph.is(1, WireType::length_delimited)) continue;
    std::string name, op, inputs, attributes;
    for (WireReader node = graph.message(); node.next();) {
      if (node.field() == 1) name = node.text();
      if (node.field() == 2) op = node.text();
      if (node.field() == 3) inputs += concat(inputs.empty() ? "" : ", ", node.text());
      if (node.field() != 5) continue;
      WireReader entry = node.message();
      entry.next();
      std::string key(entry.text());
      entry.next();
      WireReader value = entry.message();
      value.next();
      if (key == "T") attributes += concat(" ", value.varint());
      if (key != "_output_shapes") continue;
      for (WireReader list = value.message(); list.next();) {
        std::vector<std::uint64_t> sizes;
        for (WireReader shape = list.message(); shape.next();) {
          WireReader axis = shape.message();
          axis.next();
          sizes.push_back(axis.varint());
        }
        attributes += " [" + join(sizes, ",") + "]";
      }
    }
    out.push_back(concat(name, " = ", op, "(", inputs, ")", attributes));
  }
  return out;
}

std::vector<TensorType> two_types(const ShapeContext& c) {
  return {c.inputs[0], {{2, 1}, DType::f32}};
}
const OpDef two{.name = "two", .shape = two_types};

// Types are those of TensorFlow: float is 1.
TEST(GraphDef, KnowsAllTypes) {
  Graph graph;
  for (DType dtype :
       {DType::f64, DType::i32, DType::u8, DType::i64, DType::boolean, DType::bf16, DType::f16})
    input(graph, to_string(dtype), {{1}, dtype});
  EXPECT_THAT(words_of(graph_def(graph)),
              ElementsAre("f64 = input() 2 [1]", "i32 = input() 3 [1]", "u8 = input() 4 [1]",
                          "i64 = input() 9 [1]", "bool = input() 10 [1]", "bf16 = input() 14 [1]",
                          "f16 = input() 19 [1]"));
}

TEST(GraphDef, HasANodeForEachOfOurs) {
  Graph graph;
  Scope s(graph);
  Tensor x = input(graph, "x", {{2, 3}, DType::f32});
  Variable w = (s / "layer").variable("w", {.shape = {2, 3}});
  Tensor product = relu(w.value() * x);
  Node& both = apply(two, {product});
  relu(relu(Tensor(both, 1)));
  EXPECT_THAT(
      words_of(graph_def(graph)),
      ElementsAre("x = input() 1 [2,3]", "layer/w = variable() 1 [2,3]",
                  "layer/mul = mul(layer/w, x) 1 [2,3]", "layer/relu = relu(layer/mul) 1 [2,3]",
                  "layer/two = two(layer/relu) 1 [2,3] [2,1]",
                  "layer/relu_1 = relu(layer/two:1) 1 [2,1]",
                  "layer/relu_2 = relu(layer/relu_1) 1 [2,1]"));
}

TEST(GraphDef, GradientsStandApart) {
  Graph graph;
  Scope s(graph);
  Variable w = (s / "layer").variable("w", {});
  gradients(w.value() * w.value(), std::vector{w.value()});
  auto words = words_of(graph_def(graph));
  EXPECT_THAT(words, testing::Contains("layer/mul = mul(layer/w, layer/w) 1 []"));
  EXPECT_THAT(words, testing::Contains(testing::StartsWith("gradients/layer/mul = mul(")));
}

}  // namespace
}  // namespace belfry::hooks
