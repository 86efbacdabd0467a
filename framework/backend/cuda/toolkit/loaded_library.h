#pragma once
// NVIDIA's libraries that a program may do without. Internal to backend/cuda/toolkit.

#include <string>

namespace belfry::cuda {

/// A shared library that is loaded when a function of it is first asked for, so that programs start
/// where it is missing. From any thread.
class LoadedLibrary {
 public:
  /// `file` is the name by which the loader looks for it, "libnccl.so.2"; `remedy` ends the message
  /// where it is not there.
  LoadedLibrary(std::string file, std::string remedy)
      : file_(std::move(file)), remedy_(std::move(remedy)) {}

  /// Error with the loader's words: there is no such library, or it has no such function.
  void* address_of(const char* function) const;

 private:
  std::string file_, remedy_;
};

}  // namespace belfry::cuda

/// A declared function as `library`, at namespace scope, has it.
#define BELFRY_LOADED(library, function)                                          \
  ([] {                                                                           \
    static const auto address =                                                   \
        reinterpret_cast<decltype(&(function))>((library).address_of(#function)); \
    return address;                                                               \
  }())
