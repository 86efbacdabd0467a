#pragma once
// Shared by the functions that stand in place of the system's.

#include <dlfcn.h>

#include "faulty_disk.h"

namespace belfry {

/// The function of that name that would have been called: a sanitizer's, or the C library's.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

constexpr auto no_note = [](auto) {};

/// The disk, if it watches all of this; else null.
template <class... What>
FaultyDisk* disk_of(const What&... what) {
  FaultyDisk* disk = FaultyDisk::active();
  return disk && (disk->watches(what) && ...) ? disk : nullptr;
}

}  // namespace belfry
