#include "gpu_ceilings.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "belfry/framework/compiler/roofline.h"
#include "belfry/framework/ops/nn.h"
#include "belfry/framework/runtime/executable.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry::bench {
namespace {

constexpr int rounds = 11, enqueued_at_once = 4;

// The time of one of several that are enqueued at once, so that no launch is waited for.
double median_seconds(Device& device, const std::function<void(Stream&)>& enqueue) {
  auto stream = device.make_stream();
  stream->activate(1);
  auto begun = device.make_event(/*timed=*/true), ended = device.make_event(/*timed=*/true);
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    stream->record(*begun);
    for (int i = 0; i < enqueued_at_once; ++i) enqueue(*stream);
    stream->record(*ended);
    stream->synchronize();
    seconds.push_back(ended->seconds_since(*begun) / enqueued_at_once);
  }
  std::ranges::nth_element(seconds, seconds.begin() + rounds / 2);
  return seconds[rounds / 2];
}

double copied_bytes_per_second(Device& device, std::int64_t bytes) {
  DeviceMemory from = device.allocate(Bytes(bytes), "a copy's source");
  DeviceMemory to = device.allocate(Bytes(bytes), "a copy's target");
  return 2.0 * bytes / median_seconds(device, [&](Stream& stream) {
           stream.copy_on_device(to.data(), from.data(), Bytes(bytes));
         });
}

// Random numbers: products of zeros would take less power, and so be faster.
DeviceMemory random_operand(Device& device, DType dtype, std::int64_t elements,
                            std::uint64_t seed) {
  Array some({std::min<std::int64_t>(elements, 1 << 20)}, DType::f32);
  PhiloxStream random(philox_key(seed, 0));
  for (float& x : some.span<float>()) x = static_cast<float>(2 * random.uniform_double() - 1);
  Array values = some.cast(dtype);
  DeviceMemory memory = device.allocate(Bytes(elements * size_of(dtype)), "a factor");
  auto stream = device.make_stream();
  stream->activate(1);
  for (std::int64_t at = 0; at < elements; at += values.elements())
    stream->copy_to_device(static_cast<std::byte*>(memory.data()) + at * size_of(dtype),
                           values.raw(),
                           Bytes(std::min(elements - at, values.elements()) * size_of(dtype)));
  stream->synchronize();
  return memory;
}

double product_flops_per_second(Device& device, DType dtype, std::int64_t size, bool tf32) {
  Graph graph;
  Tensor a = input(graph, "a", {{size, size}, dtype}), b = input(graph, "b", {{size, size}, dtype});
  Node& product = matmul(a, b).node();
  auto kernel = device.find_kernel(product, {.tf32 = tf32});
  require(kernel != nullptr, "no kernel for a product of ", dtype, " on ", device.name());
  Bytes bytes(product.output().bytes());
  DeviceMemory memory[] = {
      random_operand(device, dtype, size * size, 1), random_operand(device, dtype, size * size, 2),
      device.allocate(bytes, "their product"), device.allocate(kernel->workspace(), "a workspace")};
  void* inputs[] = {memory[0].data(), memory[1].data()};
  void* outputs[] = {memory[2].data()};
  KernelArguments arguments{.inputs = inputs, .outputs = outputs, .workspace = memory[3].data()};
  return 2.0 * size * size * size
         / median_seconds(device, [&](Stream& stream) { kernel->run(arguments, stream); });
}

}  // namespace

Ceilings measure_ceilings(Device& device, std::int64_t bytes, std::int64_t size) {
  auto product = [&](DType dtype, bool tf32) {
    return product_flops_per_second(device, dtype, size, tf32);
  };
  return {.bytes = copied_bytes_per_second(device, bytes),
          .flops_f32 = product(DType::f32, false),
          .flops_tf32 = product(DType::f32, true),
          .flops_bf16 = product(DType::bf16, true)};
}

namespace {

struct Kind {
  int kernels = 0;
  Work work;
  double seconds = 0, at_ceilings = 0;
  void add(const Kind& other) {
    kernels += other.kernels;
    work.bytes += other.work.bytes, work.flops += other.work.flops;
    seconds += other.seconds, at_ceilings += other.at_ceilings;
  }
};

nlohmann::ordered_json json_of(const std::string& name, const Kind& kind) {
  return {{"kernel", name},
          {"count", kind.kernels},
          {"us", 1e6 * kind.seconds},
          {"us_at_ceilings", 1e6 * kind.at_ceilings},
          {"mb", kind.work.bytes / 1e6},
          {"gflop", kind.work.flops / 1e9}};
}

}  // namespace

void print_kernels(Session& session, StepDriver& driver, const Ceilings& ceilings) {
  Replicas& replicas = driver.replicas();
  UpdateSet updates = driver.model().round()[0].updates & driver.model().all_updates();
  std::vector<TraceEntry> trace;
  for (int step = 0; step < 2; ++step) {  // libraries load their code in the first
    trace.clear();
    replicas.prepare(updates);
    replicas.start(/*trace=*/true);
    Replicas::collect(replicas.started());
    ++session.state()->step;
    Replicas::append_trace(replicas.started(), trace);
  }
  const Plan& plan = *replicas.plan(0, updates).plans[0];
  ensure(trace.size() == plan.instructions.size(), "a trace of another plan");

  DeviceLimits limits{.bytes = ceilings.bytes,
                      .flops = ceilings.flops_f32,
                      .flops_tf32 = ceilings.flops_tf32,
                      .flops_16 = ceilings.flops_bf16};
  std::map<std::string, Kind> kinds;
  std::vector<std::pair<std::string, Kind>> all;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const Instruction& instruction = plan.instructions[i];
    Kind one{1, work_of(instruction), trace[i].seconds,
             least_seconds(instruction, limits, plan.tf32)};
    std::string name =
        instruction.role == Instruction::Role::compute ? trace[i].op : to_string(instruction.role);
    name = concat(name, " ", to_string(trace[i].phase));
    kinds[name].add(one);
    all.emplace_back(concat(name, " ", trace[i].scope), one);
  }
  nlohmann::ordered_json measured = {{"copy_tb_per_second", ceilings.bytes / 1e12},
                                     {"tflops_f32", ceilings.flops_f32 / 1e12},
                                     {"tflops_tf32", ceilings.flops_tf32 / 1e12},
                                     {"tflops_bf16", ceilings.flops_bf16 / 1e12}};
  std::printf("%s\n", measured.dump().c_str());
  for (const auto& [name, kind] : kinds) std::printf("%s\n", json_of(name, kind).dump().c_str());
  auto lost = [](const auto& named) { return named.second.seconds - named.second.at_ceilings; };
  std::ranges::sort(all, std::greater<>(), lost);
  if (all.size() > 10) all.resize(10);
  for (const auto& [name, kind] : all) std::printf("%s\n", json_of(name, kind).dump().c_str());
}

}  // namespace belfry::bench
