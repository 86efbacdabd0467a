#pragma once
// The variables of a model, in a device's memory.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/runtime/arena.h"

namespace belfry {

/// Variables by name: one piece of device memory each, at a fixed address, shared by all
/// executables that name them (training, evaluation). Used by one thread at a time.
class VariableStore {
 public:
  /// `shared`: variables that towers have in common are this store's; it must outlive the new one.
  /// `tower`: whose it is; sums over towers begin at zero on all but the first.
  explicit VariableStore(std::shared_ptr<Device> device, int tower = 0,
                         VariableStore* shared = nullptr);

  /// The variable of `options.name`; made now, with its first value drawn from (seed, name), if it
  /// is not here. Error: it is here with another type.
  DeviceMemory& get_or_create(const VariableOptions& options, std::uint64_t seed);

  bool contains(std::string_view name) const;
  std::vector<std::string> names() const;  ///< sorted; of this store alone
  /// Type, kind and first value of a variable. Error listing similar names when there is none.
  const VariableOptions& options(std::string_view name) const;

  Array read(std::string_view name) const;  ///< a copy
  /// Error: no such variable, or another type; both are named.
  void write(std::string_view name, const Array& value);

  Device& device() const { return *device_; }
  /// All work on the variables is enqueued here: reads, writes and the executables' steps.
  Stream& stream() const { return *stream_; }
  /// Where those steps compute: one for all executables, as long as there are any.
  std::shared_ptr<Arena> arena() const;

 private:
  struct Entry {
    VariableOptions options;
    DeviceMemory memory;
  };
  const Entry& at(std::string_view name) const;

  std::shared_ptr<Device> device_;
  int tower_;
  VariableStore* shared_;
  std::unique_ptr<Stream> stream_;
  mutable std::weak_ptr<Arena> arena_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace belfry
