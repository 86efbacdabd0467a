#include "belfry/data/scheduler.h"
#include "belfry/data/transforms/transforms.h"

namespace belfry::data {

Transform threads(int count) {
  require_threads(count);
  return [=](Dataset source) {
    auto make = [=](Pass pass) {
      pass.scheduler = std::make_shared<Scheduler>(count, *pass.scheduler);
      return source.iterate(pass);
    };
    return Dataset("threads", {source}, make, same_elements(source.info()));
  };
}

}  // namespace belfry::data
