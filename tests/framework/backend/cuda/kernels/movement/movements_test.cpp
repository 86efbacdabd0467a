// Covers copy.h, movements.cu, transpose.cu, pad.cu and cast.cu: elements of every size, along axes
// that can be moved in words of several sizes and along those that cannot. Nothing is rounded.

#include "../on_gpu.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/collective.h"
#include "belfry/framework/runtime/executable.h"

namespace belfry {
namespace {

constexpr DType every_type[] = {DType::f64, DType::f32, DType::bf16, DType::f16,
                                DType::i64, DType::i32, DType::u8,   DType::boolean};

/// The difference between devices in the value that `build` makes of one input; 0: the same bits.
template <class Build>
double difference(const Shape& shape, DType dtype, Build build) {
  Graph graph;
  Tensor x = input(graph, "x", {shape, dtype});
  return difference_on_gpu(build(x), {{"x", numbers(shape, dtype, 0, 200)}});
}

TEST(CudaMovements, BroadcastTo) {
  for (DType dtype : every_type)
    for (Shape shape : {Shape{}, Shape{16}, Shape{7, 1}, Shape{5, 1, 16}, Shape{5, 7, 1},
                        Shape{1, 7, 16}, Shape{5, 7, 16}})
      for (std::int64_t last : {16, 3}) {
        if (shape.rank() > 0 && shape[shape.rank() - 1] == 16)
          shape = shape.with(shape.rank() - 1, last);
        auto build = [&](Tensor x) -> std::vector<Tensor> {
          return {broadcast_to(x, Shape{5, 7, last}), broadcast_to(x, Shape{2, 5, 7, last})};
        };
        EXPECT_EQ(difference(shape, dtype, build), 0) << concat(dtype, shape);
      }
}

TEST(CudaMovements, Slice) {
  for (DType dtype : every_type) {
    auto build = [](Tensor x) -> std::vector<Tensor> {
      return {slice(x, {.begin = {1, 0, 0}, .size = {2, 4, 16}}),
              slice(x, {.begin = {0, 1, 0}, .size = {3, 2, 16}}),
              slice(x, {.begin = {0, 1, 8}, .size = {3, 2, 4}}),
              slice(x, {.begin = {0, 1, 3}, .size = {3, 2, 7}}),
              slice(x, {.begin = {0, 1, 2}, .size = {2, 2, 5}, .strides = {2, 1, 3}}),
              slice(x, {.begin = {1, 1, 1}, .size = {0, 2, 2}})};
    };
    EXPECT_EQ(difference({3, 4, 16}, dtype, build), 0) << to_string(dtype);
    auto even_piece_of_odd_rows = [](Tensor x) -> std::vector<Tensor> {
      return {slice(x, {.begin = {0, 0, 0}, .size = {3, 4, 8}})};
    };
    EXPECT_EQ(difference({3, 4, 9}, dtype, even_piece_of_odd_rows), 0) << to_string(dtype);
  }
}

TEST(CudaMovements, Concat) {
  for (DType dtype : every_type)
    for (std::int64_t last : {16, 5}) {
      auto build = [](Tensor x) -> std::vector<Tensor> {
        Tensor part = slice(x, {.begin = {0, 0, 0}, .size = {3, 4, 1}});
        Tensor none = slice(x, {.begin = {0, 0, 0}, .size = {0, 4, x.size(2)}});
        return {concat({x, x, x}, 0),       concat({x, x}, 1),    concat({x, x}, 2),
                concat({part, x, part}, 2), concat({x, part}, 2), concat({none, x}, 0)};
      };
      EXPECT_EQ(difference({3, 4, last}, dtype, build), 0) << concat(dtype, last);
    }
}

// Tiles that are full and that are not, with axes in front, between and behind; narrow ones.
TEST(CudaMovements, Transpose) {
  for (DType dtype : every_type) {
    auto every = [&](const Shape& shape, std::vector<std::vector<int>> permutations) {
      auto build = [&](Tensor x) {
        std::vector<Tensor> out;
        for (const auto& permutation : permutations) out.push_back(transpose(x, permutation));
        return out;
      };
      EXPECT_EQ(difference(shape, dtype, build), 0) << concat(dtype, shape);
    };
    every({130, 67}, {{1, 0}});
    every({64, 128}, {{1, 0}});
    every({3, 40, 5, 33}, {{0, 3, 1, 2}, {0, 3, 2, 1}, {3, 1, 2, 0}, {2, 3, 0, 1}, {0, 2, 1, 3}});
    every({2, 9, 9, 3}, {{0, 3, 1, 2}, {3, 0, 1, 2}});
    every({4, 3, 16}, {{1, 0, 2}});
    every({0, 9, 9}, {{2, 1, 0}});
  }
}

TEST(CudaMovements, Pad) {
  for (DType dtype : every_type)
    for (std::int64_t last : {16, 6, 3}) {
      auto build = [](Tensor x) -> std::vector<Tensor> {
        return {pad(x, {.before = {0, 1, 2, 0}, .after = {0, 2, 0, 0}, .value = 1}),
                pad(x, {.before = {0, 0, 0, 1}, .after = {0, 0, 0, 2}, .value = 1}),
                pad(x, {.before = {0, 0, 0, 1}, .after = {0, 0, 0, 1}, .value = 1}),
                pad(x, {.before = {1, 0, 0, 4}, .after = {0, 0, 0, 2}}),
                pad(x, {.before = {0, 0, 0, 0}, .after = {3, 0, 1, 0}, .value = 1})};
      };
      EXPECT_EQ(difference({2, 3, 4, last}, dtype, build), 0) << concat(dtype, last);
    }
  auto build = [](Tensor x) -> std::vector<Tensor> {
    return {pad(x, {.before = {2, 1}, .after = {0, 0}, .value = 7})};
  };
  EXPECT_EQ(difference({0, 3}, DType::f32, build), 0);
}

TEST(CudaMovements, CastOfEachTypeToEach) {
  Array values = Array::of(
      {0.0,    -0.0, 0.5,    1.0,      -1.0,      1.5,          -1.5,    2.5,     255.0, 256.0,
       257.0,  -3.0, 1e5,    -1e5,     7e4,       3e9,          -3e9,    1e19,    -1e19, 1e300,
       -1e300, 1e-8, 1e-300, HUGE_VAL, -HUGE_VAL, std::nan(""), 65519.0, 65520.0, 0.1,   1.0 / 3});
  for (DType from : every_type) {
    Graph graph;
    Tensor x = input(graph, "x", {values.shape(), from});
    std::vector<Tensor> casts;
    for (DType to : every_type) casts.push_back(cast(x, to));
    EXPECT_EQ(difference_on_gpu(casts, {{"x", values.cast(from)}}), 0) << to_string(from);
  }
}

TEST(CudaMovements, Assign) {
  auto run = [](const std::string& name) {
    Graph graph;
    Scope scope(graph);
    Variable v = scope.variable("v", {.shape = {3, 7}});
    Variable empty = scope.variable("empty", {.shape = {0}});
    assign(v, input(graph, "x", v.type()));
    assign(empty, input(graph, "y", empty.type()));
    VariableStore store(find_device(name));
    Executable executable(compile({}, graph.effects(), store.device()), store, 1);
    Features batch;
    batch.set("x", numbers({3, 7}, DType::f32));
    batch.set("y", Array::zeros({0}, DType::f32));
    executable.run(batch, {});
    return store.read("v");
  };
  EXPECT_EQ(relative_difference(run("cuda"), numbers({3, 7}, DType::f32)), 0);
}

}  // namespace
}  // namespace belfry
