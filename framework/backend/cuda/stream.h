#pragma once
// Streams, events and captured steps of a GPU. Internal to backend/cuda.

#include <memory>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/backend/cuda/api.h"

namespace belfry::cuda {

std::unique_ptr<Stream> make_stream(Api& api, int device);
std::unique_ptr<Event> make_event(Api& api, int device, bool timed = false);

/// The handle on which libraries enqueue. `stream` is one that make_stream() made.
StreamHandle handle_of(Stream& stream);

}  // namespace belfry::cuda
