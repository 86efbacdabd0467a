#include "../on_gpu.h"
#include "belfry/framework/ops/defs_nn.h"

namespace belfry {
namespace {

// The statistics are those that the GPU found itself.
TEST(CudaBatchNormRecompute, GivesWhatTrainGaveToTheBit) {
  for (DType dtype : floating_types)
    for (const Shape& shape : {Shape{5, 2, 37}, {3, 4, 4, 16}, {6000, 8}, {1, 7}, {0, 5}})
      for (bool residual : {false, true})
        for (bool relu : {false, true}) {
          DType wide = dtype == DType::f64 ? DType::f64 : DType::f32;
          Shape channels{shape[shape.rank() - 1]};
          std::map<std::string, Array> operands{{"x", numbers(shape, dtype, -1, 5)},
                                                {"scale", numbers(channels, wide, .5, 2)},
                                                {"offset", numbers(channels, wide, -1, 1, 9)}};
          if (residual) operands["residual"] = numbers(shape, dtype, -1, 1, 7);
          Graph graph;
          std::vector<Tensor> inputs;
          for (const char* name : {"x", "scale", "offset", "residual"})
            if (operands.contains(name))
              inputs.push_back(input(graph, name, operands.at(name).type()));
          Activation activation = relu ? Activation::relu : Activation::none;
          Node& train = apply(batch_norm_train_op, inputs,
                              BatchNormOptions{.activation = activation, .residual = residual});
          inputs.insert(inputs.begin() + 3, {Tensor(train, 1), Tensor(train, 3)});
          Tensor again = apply1(batch_norm_recompute_op, inputs,
                                BatchNormRecomputeOptions{activation, residual});
          std::vector<Tensor> both{Tensor(train, 0), again};
          auto results = evaluate(both, operands, {.device = "cuda"});
          EXPECT_TRUE(identical(results[0], results[1])) << to_string(results[0].type());
          EXPECT_LE(difference_on_gpu({again}, operands), allowed(dtype, 8));
        }
}

}  // namespace
}  // namespace belfry
