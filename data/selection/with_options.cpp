#include "belfry/data/scheduler.h"
#include "belfry/data/selection/selection.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {

Transform with_options(PipelineOptions options) {
  require(options.threads >= 0, "with_options: threads must be at least 0, got ", options.threads);
  if (options.threads > 0) require_threads(options.threads);
  require(!options.memory || options.memory->count >= 0,
          "with_options: memory must be at least 0 bytes");
  return [=](Dataset source) {
    auto make = [=](Pass pass) {
      std::optional<int> limit = pass.scheduler->limit();
      if (options.threads > 0) limit = options.threads;
      if (options.memory)
        pass.scheduler = std::make_shared<Scheduler>(limit, *options.memory);
      else if (options.threads > 0)
        pass.scheduler = std::make_shared<Scheduler>(limit, *pass.scheduler);
      pass.shard.policy = options.shard.value_or(pass.shard.policy);
      return source.iterate(pass);
    };
    DatasetInfo info = same_elements(source.info());
    info.shard = options.shard;
    return Dataset("with_options", {source}, make, info);
  };
}

}  // namespace belfry::data
