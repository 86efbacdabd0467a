#pragma once
// The objects that libraries keep for each GPU. Internal to backend/cuda/toolkit.

#include <map>
#include <memory>

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/base/mutex.h"

namespace belfry::cuda {

/// The T of a GPU, made from it by the first who asks: one object while anybody holds it. Kernels
/// hold it, so that nothing is left when the process ends. From any thread.
template <class T>
std::shared_ptr<T> of_device(const Gpu& gpu) {
  static Mutex mutex;
  static std::map<int, std::weak_ptr<T>> all BELFRY_GUARDED_BY(mutex);
  MutexLock lock(mutex);
  std::weak_ptr<T>& known = all[gpu.index];
  std::shared_ptr<T> found = known.lock();
  if (!found) known = found = std::make_shared<T>(gpu);
  return found;
}

/// How much of an address kernels may rely on: what the planner of a step's memory gives.
inline constexpr std::uint32_t alignment_of_operands = 64;
/// Libraries want more for their scratch memory.
inline constexpr std::int64_t alignment_of_scratch = 256;

/// Workspace that holds `bytes` from an address as scratch_at() rounds it.
inline Bytes workspace_for(std::size_t bytes) {
  return Bytes(bytes == 0 ? 0 : static_cast<std::int64_t>(bytes) + alignment_of_scratch);
}
inline void* scratch_at(void* workspace) {
  auto address = reinterpret_cast<std::uintptr_t>(workspace);
  constexpr std::uintptr_t unit = alignment_of_scratch;
  return reinterpret_cast<void*>((address + unit - 1) / unit * unit);
}

}  // namespace belfry::cuda
