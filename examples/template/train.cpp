// train MODEL_DIR: trains 1000 steps in all; called again, it goes on from the newest checkpoint.

#include <belfry/hooks.h>

#include <cstdio>
#include <exception>

#include "model.h"

using namespace belfry;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: train MODEL_DIR\n");
    return 2;
  }
  try {
    Dataset training = moons(2000, 1) | data::shuffle(2000, {.seed = 1}) | data::repeat()
                       | data::batch(64) | data::prefetch();
    Estimator estimator({.model_fn = classifier,
                         .model_dir = argv[1],
                         .run = {.log_step_count = Steps(0), .throw_on_signals = true}});
    estimator.train(training, {.max_steps = 1000, .hooks = {hooks::progress()}});
    EvalResult result = estimator.evaluate(moons(500, 2) | data::batch(100));
    std::printf("accuracy %.3f, loss %.4f\n", result.at("accuracy"), result.at("loss"));
    return 0;
  } catch (const Interrupted& interrupted) {
    return interrupted.exit_status();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
