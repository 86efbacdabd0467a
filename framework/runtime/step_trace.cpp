#include "belfry/framework/runtime/step_trace.h"

namespace belfry {

StepTrace::StepTrace(Device& device, std::size_t instructions) {
  if (!device.asynchronous()) {
    times_.resize(2 * instructions);
    return;
  }
  origin_ = device.make_event(true);
  for (std::size_t i = 0; i < 2 * instructions; ++i) events_.push_back(device.make_event(true));
}

void StepTrace::begin(Stream& stream) {
  if (!origin_) return;
  stream.synchronize();
  began_ = steady_seconds();
  stream.record(*origin_);
}

void StepTrace::mark(std::size_t i, Stream& stream) {
  if (origin_) {
    stream.record(*events_[i]);
  } else {
    times_[i] = steady_seconds();
  }
}

double StepTrace::at(std::size_t mark) const {
  return origin_ ? began_ + events_[mark]->seconds_since(*origin_) : times_[mark];
}

void StepTrace::append(const Plan& plan, int tower, int device, std::vector<TraceEntry>& to) const {
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    const Instruction& instruction = plan.instructions[i];
    const Node& node = *instruction.node;
    double start = at(2 * i);
    to.push_back({.op = std::string(node.op().name),
                  .scope = node.scope(),
                  .phase = node.phase(),
                  .role = instruction.role,
                  .tower = tower,
                  .device = device,
                  .start_seconds = start,
                  .seconds = at(2 * i + 1) - start});
  }
}

}  // namespace belfry
