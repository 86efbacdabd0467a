// Training speed of a model on fixed random batches, beside the speed of its convolutions alone.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "arguments.h"
#include "belfry/framework/train/model.h"
#include "belfry/framework/train/session.h"
#include "belfry/models/make.h"
#include "belfry/models/models.h"

namespace belfry {
namespace {

struct Arguments {
  std::string model = "lenet";
  std::string options = "{}";  ///< of the model
  std::string config = "{}";   ///< RunConfig as JSON
  std::string image;           ///< sizes of one image
  std::int64_t batch_size = 64;
  std::int64_t rows = 100'000;  ///< of each table
  std::string optimizer = "adagrad";
  int steps = 30;
  int threads = 0;
  int towers = 1;
  bool profile = false;
};

Arguments parse(int argc, char** argv) {
  Arguments out;
  bench::read_options(argc, argv,
                      {{"--model", &out.model},  // tables, or by the name that models::make() knows
                       {"--options", &out.options},
                       {"--config", &out.config},
                       {"--image", &out.image},
                       {"--batch_size", &out.batch_size},
                       {"--rows", &out.rows},            // tables alone
                       {"--optimizer", &out.optimizer},  // tables alone: adagrad, sgd, adam
                       {"--steps", &out.steps},
                       {"--threads", &out.threads},
                       {"--towers", &out.towers},
                       {"--profile", &out.profile}});
  return out;
}

// "224,224,3", with the batch size in front.
Shape image_shape(const Arguments& args) {
  std::istringstream list(args.image.empty() ? args.model == "lenet" ? "28,28,1" : "32,32,3"
                                             : args.image);
  std::vector<std::int64_t> sizes{args.batch_size};
  for (std::string size; std::getline(list, size, ',');) sizes.push_back(std::stoll(size));
  return Shape(sizes);
}

Features random_images(const Arguments& args) {
  Shape shape = image_shape(args);
  Array image(shape, DType::f32), label(Shape{args.batch_size}, DType::i64),
      mask(shape.with(shape.rank() - 1, 1), DType::f32);
  PhiloxStream random(philox_key(1, "batch"));
  for (float& x : image.span<float>()) x = random.uniform();
  for (std::int64_t& y : label.span<std::int64_t>())
    y = static_cast<std::int64_t>(random.below(10));
  for (float& x : mask.span<float>()) x = static_cast<float>(random.below(2));
  Features out{{"image", image}};
  if (args.model.starts_with("unet"))
    out.set("mask", mask);
  else
    out.set("label", label);
  return out;
}

// Clicks on advertisements: numbers, and identities of which each has a table.
constexpr int number_count = 13, table_count = 26;

std::string table_name(int i) { return concat("c", i); }

Features random_clicks(const Arguments& args, std::uint64_t seed) {
  std::int64_t n = args.batch_size;
  PhiloxStream random(philox_key(seed, "batch"));
  Array numbers(Shape{n, number_count}, DType::f32), label(Shape{n}, DType::f32);
  for (float& x : numbers.span<float>()) x = random.uniform();
  for (float& y : label.span<float>()) y = static_cast<float>(random.below(2));
  Features out{{"numbers", numbers}, {"label", label}};
  for (int i = 0; i < table_count; ++i) {
    Array ids(Shape{n}, DType::i64);
    for (std::int64_t& id : ids.span<std::int64_t>())
      id = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(args.rows)));
    out.set(table_name(i), ids);
  }
  return out;
}

ModelFn tables(const Arguments& args) {
  models::Columns columns{.numeric = {{.feature = "numbers"}}};
  for (int i = 0; i < table_count; ++i)
    columns.categorical.push_back({.feature = table_name(i), .categories = args.rows, .width = 16});
  Optimizer optimizer = args.optimizer == "adagrad" ? adagrad({.learning_rate = 0.05})
                        : args.optimizer == "sgd"   ? sgd({.learning_rate = 0.05})
                                                    : adam();
  return models::dnn({.columns = columns, .hidden = {256, 128}, .optimizer = optimizer});
}

ModelFn model_of(const Arguments& args) {
  return args.model == "tables" ? tables(args) : models::make(args.model, args.options);
}

// One for models of images. Several where it matters which rows of memory a step touches.
std::vector<Features> batches_of(const Arguments& args) {
  if (args.model != "tables") return {random_images(args)};
  std::vector<Features> out;
  for (std::uint64_t seed = 0; seed < 32; ++seed) out.push_back(random_clicks(args, seed));
  return out;
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                   times.end());
  return times[times.size() / 2];
}

// One instruction of the plan by itself, on memory of its own.
class Isolated {
 public:
  Isolated(const Instruction& instruction, Device& device) : kernel_(*instruction.kernel) {
    const Node& node = *instruction.node;
    auto packed = kernel_.packed_inputs();
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      std::int64_t bytes = node.inputs()[i].type().bytes();
      for (const PackedInput& p : packed)
        if (p.input == static_cast<int>(i)) bytes = p.size.count;
      add(inputs_, bytes, device);
    }
    for (const TensorType& type : node.outputs()) add(outputs_, type.bytes(), device);
    workspace_ = device.allocate(kernel_.workspace(), "workspace");
  }

  double seconds(Stream& stream) {
    KernelArguments arguments{inputs_, outputs_, workspace_.data()};
    std::vector<double> times;
    for (int i = 0; i < 12; ++i) {
      double start = monotonic_seconds();
      kernel_.run(arguments, stream);
      if (i >= 2) times.push_back(monotonic_seconds() - start);
    }
    return median(times);
  }

 private:
  void add(std::vector<void*>& list, std::int64_t bytes, Device& device) {
    memory_.push_back(device.allocate(Bytes(bytes), "operand"));
    std::memset(memory_.back().data(), 0, static_cast<std::size_t>(bytes));
    list.push_back(memory_.back().data());
  }

  Kernel& kernel_;
  std::vector<DeviceMemory> memory_;
  std::vector<void*> inputs_, outputs_;
  DeviceMemory workspace_;
};

struct Rate {
  double flops = 0, seconds = 0;
};

Rate convolution_rate(const Plan& plan, Device& device, bool profile) {
  auto stream = device.make_stream();
  stream->activate(plan.threads);
  Rate out;
  std::map<std::string, double> by_op;
  for (const Instruction& i : plan.instructions) {
    bool computes = i.role == Instruction::Role::compute;
    bool convolution = computes && i.node->op().name.starts_with("conv");
    if (!computes || (!convolution && !profile)) continue;
    double seconds = i.node->op().mutates ? 0 : Isolated(i, device).seconds(*stream);
    by_op[std::string(i.node->op().name) + " " + std::string(i.kernel->implementation())] +=
        seconds;
    if (!convolution) continue;
    out.flops += i.node->op().flops(*i.node);
    out.seconds += seconds;
  }
  if (profile)
    for (const auto& [name, seconds] : by_op)
      std::fprintf(stderr, "%9.3f ms  %s\n", seconds * 1e3, name.c_str());
  return out;
}

void run(const Arguments& args) {
  ModelFn model_fn = model_of(args);
  RunConfig config = run_config_from_json(args.config);
  config.threads = args.threads;
  config.devices.clear();
  for (int i = 0; i < args.towers; ++i) config.devices.push_back("cpu:" + text(i));
  Session session(model_fn, config);
  std::vector<Features> batches = batches_of(args);
  session.begin_training();
  Replicas replicas(session, Mode::train);
  replicas.split(batches[0]);
  replicas.prepare();
  const Plan& plan = *replicas.executable(0).plan().slots[0];
  if (args.profile) std::fputs(explain(plan).c_str(), stderr);

  std::vector<double> times, cpu_times;
  StepTimes parts;
  for (int i = 0; i < args.steps + 3; ++i) {
    double start = monotonic_seconds();
    std::clock_t cpu_start = std::clock();
    replicas.split(batches[static_cast<std::size_t>(i) % batches.size()]);
    replicas.run();
    session.finish_step();
    if (i < 3) continue;
    times.push_back(monotonic_seconds() - start);
    cpu_times.push_back(static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC);
    parts += Replicas::times(replicas.started());
  }
  parts = parts / args.steps;
  double seconds = median(times);
  Rate convolutions = convolution_rate(plan, session.variables().store(0).device(), args.profile);
  double step_rate = args.towers * plan.flops / seconds;
  double convolution_rate =
      convolutions.flops > 0 ? convolutions.flops / convolutions.seconds : step_rate;
  std::printf(
      "{\"model\": \"%s\", \"batch_size\": %lld, \"examples_per_second\": %.1f, \"ms_per_step\": "
      "%.3f, \"cpu_ms_per_step\": %.3f, \"plan_mb\": %.1f, "
      "\"gflops\": %.1f, \"convolution_gflops\": %.1f, \"share\": %.3f, \"towers\": %d, "
      "\"ms_copy\": %.2f, \"ms_compute\": %.2f, \"ms_exposed_reduction\": %.2f, "
      "\"ms_hidden_reduction\": %.2f, \"ms_apply\": %.2f}\n",
      args.model.c_str(), static_cast<long long>(args.batch_size),
      static_cast<double>(args.batch_size) / seconds, seconds * 1e3, median(cpu_times) * 1e3,
      static_cast<double>(plan.arena_bytes) / 1e6, step_rate / 1e9, convolution_rate / 1e9,
      step_rate / convolution_rate, args.towers, parts.copy * 1e3, parts.compute * 1e3,
      parts.exposed_reduction * 1e3, parts.hidden_reduction * 1e3, parts.apply * 1e3);
}

}  // namespace
}  // namespace belfry

int main(int argc, char** argv) {
  return belfry::bench::run_program([&] { belfry::run(belfry::parse(argc, argv)); });
}
