#pragma once
// Calls of OpenCV, which has an exception of its own for a lack of memory. Internal to data/.

#include <functional>

namespace belfry::data {

/// Runs `body`, which may call OpenCV: where that finds no memory, std::bad_alloc leaves. All other
/// exceptions leave as they are.
void opencv_call(const std::function<void()>& body);

}  // namespace belfry::data
