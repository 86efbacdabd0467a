// From the start of a program to the end of its second training step, as a user's program has it:
// linked with the library, with an Estimator that saves nothing.

#include <chrono>
#include <cstdio>
#include <ctime>
#include <sstream>

#include "arguments.h"
#include "belfry/framework.h"
#include "belfry/models/make.h"

namespace belfry {
namespace {

struct Arguments {
  std::string model = "lenet";    ///< a classifier that models::make() knows
  std::string options = "{}";     ///< of the model
  std::string image = "28,28,1";  ///< sizes of one
  std::int64_t batch_size = 64;
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

Features image_batch(const Arguments& args) {
  std::vector<std::int64_t> sizes{args.batch_size};
  std::istringstream list(args.image);
  for (std::string size; std::getline(list, size, ',');) sizes.push_back(std::stoll(size));
  Array image(Shape(sizes), DType::f32), label(Shape{args.batch_size}, DType::i64);
  PhiloxStream random(philox_key(1, "batch"));
  for (float& x : image.span<float>()) x = random.uniform();
  for (std::int64_t& y : label.span<std::int64_t>())
    y = static_cast<std::int64_t>(random.below(10));
  return {{"image", image}, {"label", label}};
}

struct Moment {
  double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  std::clock_t cpu = std::clock();  ///< of the process, so since before main()
};

void run(const Arguments& args, const Moment& main_began) {
  Features batch = image_batch(args);
  Estimator estimator({.model_fn = models::make(args.model, args.options),
                       .run = {.save_checkpoint = {}, .threads = args.threads}});
  Moment prepared;
  Training training = estimator.start([&] { return std::make_unique<SameBatch>(batch); });
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
  std::printf("\"model\": \"%s\"}\n", args.model.c_str());
}

}  // namespace
}  // namespace belfry

int main(int argc, char** argv) {
  belfry::Moment began;
  return belfry::bench::run_program([&] {
    belfry::Arguments args;
    belfry::bench::read_options(argc, argv,
                                {{"--model", &args.model},
                                 {"--options", &args.options},
                                 {"--image", &args.image},
                                 {"--batch_size", &args.batch_size},
                                 {"--threads", &args.threads},
                                 {"--began", &args.began}});
    belfry::run(args, began);
  });
}
