#include "belfry/framework/ops/check_range.h"

#include "on_gpu.h"

namespace belfry {
namespace {

const CheckRangeOptions about{.what = "the feature `y`", .remedy = "labels are counts"};

TEST(CudaCheckRange, PassesOnEveryType) {
  for (DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::i32,
                      DType::u8, DType::boolean}) {
    Graph graph;
    Tensor x = input(graph, "x", {{70, 9}, dtype}),
           low = input(graph, "low", {{70, 9}, DType::f64});
    EXPECT_EQ(difference_on_gpu({check_range(x, 0, 5, about), check_range(x, low, low + 9, about)},
                                {{"x", numbers({70, 9}, dtype, 0, 5)},
                                 {"low", numbers({70, 9}, DType::f64, -2, 0)}}),
              0)
        << to_string(dtype);
  }
}

TEST(CudaCheckRange, ErrorsNameTheRow) {
  for (float bad : {-1.f, 1.5f, NAN}) {
    Graph graph;
    Tensor x = input(graph, "x", {{300, 2}, DType::f32});
    std::map<std::string, Array> inputs{{"x", Array::zeros({300, 2}, DType::f32)}};
    inputs.at("x").span<float>()[2 * 271 + 1] = bad;
    try {
      evaluate({check_range(x, 0, 1, about)}, inputs, {.device = "cuda"});
      ADD_FAILURE() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what())
                    .find("the feature `y` at row 271 is out of range; "
                          "labels are counts"),
                0u)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace belfry
