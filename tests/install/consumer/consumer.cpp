#include <belfry/data.h>
#include <belfry/framework.h>
#include <belfry/hooks.h>
#include <belfry/models.h>

#include <cstdio>

using namespace belfry;

EstimatorSpec line(Scope s, const Batch& batch, Mode) {
  Tensor y = dense(s / "line", batch["x"], {.units = 1});
  return {.loss = mean(mean_squared_error(y, batch["y"])), .train = sgd({.learning_rate = 0.1})};
}

int main() {
  auto input = [] {
    return data::from_arrays({{"x", Array::of({0.f, 1.f, 2.f, 3.f}, {4, 1})},
                              {"y", Array::of({1.f, 3.f, 5.f, 7.f}, {4, 1})}})
           | data::repeat() | data::batch(4);
  };
  Estimator estimator({.model_fn = line, .run = {.save_checkpoint = std::nullopt}});
  estimator.train(input, {.steps = 300, .hooks = {hooks::progress()}});
  double slope = estimator.variable_value("line/kernel").item();
  std::printf("slope %.3f\n", slope);
  return slope > 1.9 && slope < 2.1 ? 0 : 1;
}
