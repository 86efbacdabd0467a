#pragma once
// Names that the jobs and the test of their faults agree on.

#include <cstdint>
#include <string_view>

namespace belfry {

/// The ports at which workers listen for each other where they are connected by TCP.
///@{
constexpr int first_port_of_jobs = 23000, ports_of_jobs = 1000;
inline bool is_port_of_jobs(std::uint16_t port) {
  return port >= first_port_of_jobs && port < first_port_of_jobs + ports_of_jobs;
}
///@}

/// Whether it is one of a worker's connections. They all break, or lose each packet from then on
/// without a word: that which the worker is sent (deaf), or that which it sends, too (cut_off).
inline bool is_of_connections(std::string_view fault) {
  return fault == "disconnect" || fault == "deaf" || fault == "cut_off";
}

}  // namespace belfry
