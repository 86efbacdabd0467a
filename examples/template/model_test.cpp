// A training too short to be good must do better than chance, and do the same twice.

#include "model.h"

#include <cstdio>

using namespace belfry;

EvalResult trained() {
  Estimator estimator({.model_fn = classifier,
                       .run = {.save_checkpoint = std::nullopt, .log_step_count = Steps(0)}});
  estimator.train(moons(500, 1) | data::repeat() | data::batch(50), {.steps = 100});
  return estimator.evaluate(moons(200, 2) | data::batch(100));
}

int main() {
  EvalResult first = trained(), second = trained();
  bool good = first.at("accuracy") > 0.8, same = first.at("loss") == second.at("loss");
  std::printf("accuracy %.3f, loss %.4f and %.4f\n", first.at("accuracy"), first.at("loss"),
              second.at("loss"));
  return good && same ? 0 : 1;
}
