// Trains a small model to a given step: train_to_the_end MODEL_DIR STEPS PAUSE_MS BACKGROUND. It
// goes on from the checkpoints in MODEL_DIR, saves every other step, in the background if that is
// 1, and sleeps PAUSE_MS after each.

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "../resuming_model.h"

int main(int argc, char** argv) {
  using namespace belfry;
  if (argc != 5) return 2;
  struct Pause final : Hook {
    explicit Pause(int ms) : length(ms) {}
    void after_step(const StepResult&) override { std::this_thread::sleep_for(length); }
    std::chrono::milliseconds length;
  };
  try {
    RunConfig config;
    config.save_checkpoint = Steps(2);
    config.keep_checkpoint_max = 2;
    config.save_in_background = std::string(argv[4]) == "1";
    Estimator estimator({.model_fn = resuming_model, .model_dir = argv[1], .run = config});
    estimator.train(shuffled_digits, {.max_steps = std::stoll(argv[2]),
                                      .hooks = {std::make_shared<Pause>(std::stoi(argv[3]))}});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
