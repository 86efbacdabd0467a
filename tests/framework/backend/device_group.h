#pragma once
// The common parts of the tests of communicators.

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/base/error.h"

namespace belfry {

/// The first devices of a kind, a stream of each, and a communicator that tests give them.
struct DeviceGroup {
  DeviceGroup(const std::string& kind, int count) {
    for (int i = 0; i < count; ++i) {
      devices.push_back(find_device(concat(kind, ":", i)));
      streams.push_back(devices.back()->make_stream());
      list.push_back(devices.back().get());
    }
  }
  Device& device(int member) const { return *list[static_cast<std::size_t>(member)]; }
  Stream& stream(int member) const { return *streams[static_cast<std::size_t>(member)]; }

  /// Calls f(member) on a thread for each; returns the errors.
  std::vector<std::string> each(const std::function<void(int)>& f) const {
    std::vector<std::string> errors(devices.size());
    std::vector<std::thread> threads;
    for (std::size_t m = 0; m < devices.size(); ++m)
      threads.emplace_back([&, m] {
        try {
          f(static_cast<int>(m));
        } catch (const Error& error) {
          errors[m] = error.what();
        }
      });
    for (auto& t : threads) t.join();
    return errors;
  }

  std::vector<std::shared_ptr<Device>> devices;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<Device*> list;
  std::shared_ptr<Communicator> communicator;
};

}  // namespace belfry
