// From the start of a program to the end of its second training step, as a user's program has it:
// linked with the library, with an Estimator that saves nothing.

#include <chrono>
#include <cstdio>
#include <ctime>

#include "arguments.h"
#include "belfry/framework.h"
#include "train_work.h"

namespace belfry {
namespace {

struct Arguments {
  bench::WorkOptions work;
  int threads = 0;
  double began = 0;  ///< time.monotonic() of who started the program; 0: counts from main()
};

struct SameBatch final : InputStream {
  explicit SameBatch(Features features) : batch(std::move(features)) {}
  bool next(Features& out) override {
    out = batch;
    return true;
  }
  Features batch;
};

struct Moment {
  double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  std::clock_t cpu = std::clock();  ///< of the process, so since before main()
};

void run(const Arguments& args, const Moment& main_began) {
  bench::Work work = bench::make_work(args.work);
  Estimator estimator(
      {.model_fn = work.model, .run = {.save_checkpoint = {}, .threads = args.threads}});
  Moment prepared;
  Training training = estimator.start([&] { return std::make_unique<SameBatch>(work.batches[0]); });
  training.step();
  Moment first;
  training.step();
  Moment second;
  double began = args.began > 0 ? args.began : main_began.wall;
  auto print = [&](const char* name, const Moment& m) {
    std::printf("\"%s_ms\": %.1f, \"%s_cpu_ms\": %.1f, ", name, (m.wall - began) * 1e3, name,
                1e3 * static_cast<double>(m.cpu) / CLOCKS_PER_SEC);
  };
  std::printf("{");
  print("main", main_began);
  print("prepared", prepared);
  print("first", first);
  print("second", second);
  std::printf("\"model\": \"%s\"}\n", args.work.model.c_str());
}

}  // namespace
}  // namespace belfry

int main(int argc, char** argv) {
  belfry::Moment began;
  return belfry::bench::run_program([&] {
    belfry::Arguments args;
    belfry::bench::read_options(argc, argv,
                                {{"--model", &args.work.model},
                                 {"--options", &args.work.options},
                                 {"--sizes", &args.work.sizes},
                                 {"--batch_size", &args.work.batch_size},
                                 {"--threads", &args.threads},
                                 {"--began", &args.began}});
    belfry::run(args, began);
  });
}
