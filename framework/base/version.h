#pragma once
// Which Belfry this is: the macros speak of these headers, the functions of the library that the
// program has loaded. CMake takes the version of the project from here.

#include <string_view>

#define BELFRY_VERSION_MAJOR 0
#define BELFRY_VERSION_MINOR 1
#define BELFRY_VERSION_PATCH 0
#define BELFRY_VERSION "0.1.0"

namespace belfry {

/// "0.1.0". Libraries of one major and minor number may replace each other. Checkpoints say it as
/// `belfry.version`.
std::string_view version();

/// The version, the compiler, and which of `cuda`, `mpi` and `snappy` were built in:
/// "0.1.0 (GNU 12.2.0; mpi, snappy)".
std::string_view build_info();

}  // namespace belfry
