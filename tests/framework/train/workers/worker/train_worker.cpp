// One worker of a job: train_worker MODEL_DIR POLICY TOWERS STEPS PAUSE_MS, where the policy
// "uneven" is per_worker on uneven_batches(), "waiting" on waiting_batches(), "for_others" on
// batches_for_others(), and "different" is global where worker 1 reads other batches. It goes on
// from the checkpoints in MODEL_DIR, saves every other step, asks for summaries in every third and
// sleeps PAUSE_MS after each. Its process id is in MODEL_DIR.pid_<rank>, what went wrong in
// MODEL_DIR.error_<rank>, what it evaluated in MODEL_DIR.loss_<rank>, what it drew then in
// MODEL_DIR.noise_<rank>.

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iomanip>
#include <string>
#include <thread>

#include "../worker_input.h"
#include "belfry/framework/distribute/workers.h"
#include "mpi_reducer.h"

int main(int argc, char** argv) {
  using namespace belfry;
  if (argc != 6) return 2;
  struct Pause final : Hook {
    explicit Pause(int ms) : length(ms) {}
    void before_step(StepRequest& request) override { request.summaries = request.step % 3 == 1; }
    void after_step(const StepResult& result) override {
      std::this_thread::sleep_for(length);
      require(result.summaries.size() == (result.step % 3 == 2 ? 1u : 0u), "no loss is shown");
      for (const SummaryValue& shown : result.summaries)
        require(std::abs(shown.value.item() - result.loss) < 1e-5, "the loss is ", result.loss,
                " but shown as ", shown.value.item());
    }
    std::chrono::milliseconds length;
  };
  std::string dir = argv[1], rank;
  try {
    emulate_gpus_of_several_workers();
    rank = text(find_workers()->rank());
    std::ofstream(dir + ".pid_" + rank) << getpid();
    bool uneven = std::string(argv[2]) == "uneven";
    bool global = argv[2] == to_string(BatchPolicy::global) || std::string(argv[2]) == "different";
    BatchPolicy policy = global ? BatchPolicy::global : BatchPolicy::per_worker;
    RunConfig config = worker_config(policy, argv[3]);
    config.save_checkpoint = Steps(2);
    config.keep_checkpoints.newest = 2;
    Estimator estimator({.model_fn = worker_model, .model_dir = dir, .run = config});
    // The chief may use checkpoints by itself, also before others join it.
    if (auto checkpoint = estimator.latest_checkpoint(); checkpoint && find_workers()->is_chief()) {
      Features row;
      estimator.predict(batches_of(1), {.checkpoint = *checkpoint}).next(row);
    }
    InputFn input = uneven ? uneven_batches() : batches_of(1000);
    if (std::string(argv[2]) == "waiting") input = waiting_batches(dir + ".waits");
    if (std::string(argv[2]) == "for_others") input = batches_for_others(dir + ".waits");
    if (std::string(argv[2]) == "different")
      input = [](const InputContext&) -> InputStreamPtr {
        return std::make_unique<EveryBatch>(find_workers()->rank() == 1 ? 5 : 0, 1, 1000);
      };
    if (uneven) estimator.plan(input, {.max_steps = std::stoll(argv[4])});
    estimator.train(input, {.max_steps = std::stoll(argv[4]),
                            .hooks = {std::make_shared<Pause>(std::stoi(argv[5]))}});
    EvalResult result = estimator.evaluate(uneven ? batches_of(1) : batches_of(7));
    if (std::stoll(argv[4]) == 1) {
      EvalOptions at_first{.checkpoint = checkpoint_path(dir, 0)};
      std::ofstream(dir + ".noise_" + rank)
          << std::setprecision(17) << estimator.evaluate(batches_of(2), at_first).at("noise");
    }
    std::ofstream(dir + ".loss_" + rank) << result.at("loss") << " " << result.at("accuracy");
  } catch (const std::exception& error) {
    std::ofstream(dir + ".error_" + rank) << error.what();
    return 1;
  }
}
