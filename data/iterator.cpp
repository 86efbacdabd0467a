#include "belfry/data/iterator.h"

#include "belfry/framework/base/error.h"

namespace belfry::data {

std::int64_t Iterator::skip(std::int64_t count) {
  Element ignored;
  std::int64_t i = 0;
  while (i < count && unasked([&] { return next(ignored); })) ++i;
  return i;
}

Pass Pass::input(std::uint64_t i) const {
  Pass out = *this;
  // As describe_shards() has it.
  if (out.shard.policy == ShardPolicy::automatic) out.shard.policy = ShardPolicy::data;
  if (i > 0) out.branch = philox_key(inner(0).branch, i).value;
  return out;
}

Pass Pass::inner(std::uint64_t element) const {
  Pass out = *this;
  out.branch = philox_key(philox_key(branch + 1, stage).value, element).value;
  out.order = nullptr;
  out.shard = {};
  out.names = nullptr;
  out.made_from_element = true;
  return out;
}

PhiloxKey Pass::key(std::uint64_t seed, std::string_view name) const {
  PhiloxKey key = philox_key(philox_key(seed, name).value, stage);
  return branch == 0 ? key : philox_key(key.value, branch);
}

void read_again(Iterator& fresh, std::int64_t count, std::string_view what) {
  Element ignored;
  for (std::int64_t i = 0; i < count; ++i)
    require(unasked([&] { return fresh.next(ignored); }), "input: the saved position is element ",
            count, " of ", what, " that now ends after ", i);
}

}  // namespace belfry::data
