#pragma once
// A folder for readers that take one.

#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <string>

/// A folder in memory, gone with this object.
struct MemoryFolder {
  MemoryFolder() {
    char name[] = "/dev/shm/fuzz.XXXXXX";
    if (!::mkdtemp(name)) std::abort();
    path = name;
  }
  ~MemoryFolder() { std::filesystem::remove_all(path); }
  MemoryFolder(const MemoryFolder&) = delete;

  std::string path;
};
