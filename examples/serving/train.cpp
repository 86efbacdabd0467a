// Learns the line y = 2 x + 1 and exports it: train EXPORTS
#include <belfry/data.h>
#include <belfry/framework.h>

#include <cstdio>

using namespace belfry;

EstimatorSpec line(Scope s, const Batch& batch, Mode mode) {
  Tensor y = dense(s / "line", batch["x"], {.units = 1});
  if (mode == Mode::predict) return {.predictions = {{"y", y}}};
  return {.loss = mean(mean_squared_error(y, batch["y"])), .train = sgd({.learning_rate = 0.1})};
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: train EXPORTS\n", stderr), 2;
  auto points = [] {
    return data::from_arrays({{"x", Array::of({0.f, 1.f, 2.f, 3.f}, {4, 1})},
                              {"y", Array::of({1.f, 3.f, 5.f, 7.f}, {4, 1})}})
           | data::repeat() | data::batch(4);
  };
  Estimator estimator({.model_fn = line, .run = {.save_checkpoint = std::nullopt}});
  estimator.train(points, {.steps = 500});
  std::string path = estimator.export_model(
      argv[1], {.signatures = {{"predict", {.inputs = {{"x", {{1}, DType::f32}}}}}}});
  std::puts(path.c_str());
}
