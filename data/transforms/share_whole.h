#pragma once
// Datasets that several pipelines must share as a whole. Internal to data/.

#include <utility>
#include <vector>

#include "belfry/data/shard.h"

namespace belfry::data {

/// A dataset whose elements depend on the places of its inputs' elements, so that it cannot be made
/// from shares of them: pipeline i of n gets its elements j with j % n == i (unless the policy is
/// `file` or `off`, which the inputs follow).
inline Dataset share_whole(std::string name, std::vector<Dataset> inputs, MakeIterator make,
                           DatasetInfo info) {
  Dataset whole(name, inputs, make, info);
  auto share = [whole, make = std::move(make)](Pass pass) {
    ShardPolicy& policy = pass.shard.policy;
    if (policy == ShardPolicy::automatic) policy = ShardPolicy::data;
    return policy == ShardPolicy::data ? shard_source(whole, pass, make) : make(pass);
  };
  return Dataset(std::move(name), std::move(inputs), std::move(share), std::move(info));
}

}  // namespace belfry::data
