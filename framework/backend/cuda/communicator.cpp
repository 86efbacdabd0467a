#include "belfry/framework/backend/cuda/communicator.h"

#include <set>

#include "belfry/framework/base/error.h"

namespace belfry::cuda {
namespace {

CommunicatorFactory& registered() {
  static CommunicatorFactory factory = nullptr;
  return factory;
}

}  // namespace

CommunicatorRegistration::CommunicatorRegistration(CommunicatorFactory factory) {
  registered() = factory;
}

std::shared_ptr<Communicator> make_communicator(Api& api, std::span<const Member> members,
                                                const CommunicatorOptions& options) {
  std::set<int> seen;
  for (const Member& m : members)
    require(seen.insert(m.index).second, m.device->name(),
            " stands twice among the devices that reduce together; NCCL needs a GPU for each");
  require(registered(), "reductions over ", members.size(),
          " GPUs need NCCL, which this build is without; install it and build again, or name one "
          "device");
  return registered()(api, members, options);
}

}  // namespace belfry::cuda
