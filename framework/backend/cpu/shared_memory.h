#pragma once
// The communicator of CPU towers in one process.

#include <memory>
#include <string>
#include <vector>

#include "belfry/framework/backend/communicator.h"

namespace belfry::cpu {

/// Members are threads of this process that see each other's memory; `names` are theirs, for
/// messages. All members finish in the same order.
std::shared_ptr<Communicator> make_shared_memory_communicator(std::vector<std::string> names,
                                                              const CommunicatorOptions& options);

}  // namespace belfry::cpu
