#pragma once
// When each instruction of a step ran.

#include <memory>
#include <vector>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/compiler/plan.h"
#include "belfry/framework/graph/step_record.h"

namespace belfry {

/// The beginning and end of instructions: by the host's clock on a device that runs at once what is
/// enqueued, else by events in the stream. Used by one thread at a time. Internal to runtime/.
class StepTrace {
 public:
  /// Allocates; makes the events.
  StepTrace(Device& device, std::size_t instructions);

  /// A step begins: the host waits for all that `stream` has to do, so that the device's time can
  /// be told by the host's clock.
  void begin(Stream& stream);
  void before(std::size_t instruction, Stream& stream) { mark(2 * instruction, stream); }
  void after(std::size_t instruction, Stream& stream) { mark(2 * instruction + 1, stream); }

  /// Adds the instructions of `plan`, all of which are done.
  void append(const Plan& plan, int tower, int device, std::vector<TraceEntry>& to) const;

 private:
  void mark(std::size_t i, Stream& stream);
  double at(std::size_t mark) const;  // seconds of the host's clock

  double began_ = 0;
  std::vector<double> times_;                   // of a synchronous device
  std::unique_ptr<Event> origin_;               // of others: when began_ was
  std::vector<std::unique_ptr<Event>> events_;  // likewise
};

}  // namespace belfry
