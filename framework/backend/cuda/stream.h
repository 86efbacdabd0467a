#pragma once
// Streams, events and captured steps of a GPU. Internal to backend/cuda.

#include <memory>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/backend/cuda/api.h"
#include "belfry/framework/backend/cuda/faults.h"

namespace belfry::cuda {

/// Waiting for a stream or an event throws what kernels have written to `faults`.
std::unique_ptr<Stream> make_stream(Api& api, int device, std::shared_ptr<Faults> faults);
std::unique_ptr<Event> make_event(Api& api, int device, std::shared_ptr<Faults> faults,
                                  bool timed = false);

/// What libraries enqueue on. `stream` is one that make_stream() made.
StreamHandle handle_of(Stream& stream);

}  // namespace belfry::cuda
