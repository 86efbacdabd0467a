#include "belfry/data/shard.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

class Every final : public Iterator {
 public:
  Every(IteratorPtr source, std::int64_t count, std::int64_t index)
      : source_(std::move(source)), count_(count), before_(index) {}

  bool next(Element& out) override {
    std::int64_t before = std::exchange(before_, 0);  // left out, also if that throws an Error
    if (source_->skip(before) < before) {
      before_ = before;
      return false;
    }
    before_ = count_ - 1;
    return source_->next(out);
  }

  std::int64_t skip(std::int64_t count) override {
    std::int64_t i = 0;
    for (; i < count; ++i) {
      if (source_->skip(before_ + 1) <= before_) break;
      before_ = count_ - 1;
    }
    return i;
  }

  void position(Position& at) override {
    at.constant("shard.count", count_);
    at.field("shard.before", before_, 0, count_ - 1);
    source_->position(at);
  }

 private:
  IteratorPtr source_;
  std::int64_t count_, before_;  // elements of others that come first
};

// The policy that `policy` comes to for this dataset and so many pipelines.
ShardPolicy resolve(ShardPolicy policy, const Dataset& dataset, int pipelines) {
  const DatasetInfo& info = dataset.info();
  if (policy == ShardPolicy::file)
    require(!info.files.empty(), dataset.name(),
            ": ShardPolicy::file, but this source does not read a list of files; use "
            "ShardPolicy::data");
  if (policy == ShardPolicy::automatic)
    policy = std::ssize(info.files) >= pipelines ? ShardPolicy::file : ShardPolicy::data;
  // With random access there is one file an element, and they may come in another order.
  return policy == ShardPolicy::file && info.random_access ? ShardPolicy::data : policy;
}

// The policy that the inputs of a dataset are told where it was told `policy` itself.
ShardPolicy of_inputs(const Dataset& dataset, ShardPolicy policy) {
  // Two sources with different numbers of files would be taken apart differently.
  bool several = dataset.inputs().size() > 1;
  return several && policy == ShardPolicy::automatic ? ShardPolicy::data : policy;
}

// How the sources behind `dataset` share: the policies that they come to, each once.
void collect_policies(const Dataset& dataset, ShardPolicy policy, std::set<ShardPolicy>& out) {
  const DatasetInfo& info = dataset.info();
  if (!info.sharded) return;
  policy = info.shard.value_or(policy);
  for (const Dataset& input : dataset.inputs()) collect_policies(input, policy, out);
  if (!dataset.inputs().empty()) return;
  bool by_file = policy == ShardPolicy::file && !info.random_access;
  out.insert(by_file || policy == ShardPolicy::off ? policy : ShardPolicy::data);
}

// How all sources behind `dataset` share, or nothing where they differ.
std::optional<ShardPolicy> policy_behind(const Dataset& dataset, ShardPolicy policy) {
  std::set<ShardPolicy> policies;
  collect_policies(dataset, policy, policies);
  if (policies.size() != 1) return {};
  return *policies.begin();
}

bool is_enough(const Dataset& dataset, ShardPolicy policy, int pipelines, std::int64_t size);

// Whether a dataset that was told `policy` is where elements are shared. One with inputs is, unless
// its sources were told to share by file or not at all, if it is shared as a whole, or if it makes
// several elements of each and those behind it are too few.
bool is_sharded_here(const Dataset& dataset, ShardPolicy policy, int pipelines) {
  if (dataset.inputs().empty()) return true;
  if (!dataset.info().whole && !dataset.info().expands) return false;
  std::optional<ShardPolicy> behind = policy_behind(dataset, policy);
  if (!dataset.info().whole)
    return behind == ShardPolicy::data
           && !is_enough(dataset.inputs()[0], dataset.info().shard.value_or(policy), pipelines,
                         unknown);
  require(behind.has_value(), dataset.name(),
          ": its inputs would be shared in different ways, so that their elements would not fit "
          "together; put one with_options({.shard = ...}) behind it");
  return *behind == ShardPolicy::data;
}

// The policy that `policy` comes to where elements are shared.
ShardPolicy policy_here(const Dataset& dataset, ShardPolicy policy, int pipelines) {
  return dataset.inputs().empty() ? resolve(policy, dataset, pipelines) : ShardPolicy::data;
}

// Elements in a pass over `dataset`. `behind`: of the last dataset on the way here whose elements
// are computed one from one, or unknown.
std::int64_t size_of_pass(const Dataset& dataset, std::int64_t behind) {
  return dataset.info().random_access && behind != unknown ? behind : dataset.cardinality();
}

// Whether each of so many pipelines gets an element or a file wherever elements are shared; also
// if they were told to share by file, which check() is to refuse where it cannot be.
bool is_enough(const Dataset& dataset, ShardPolicy policy, int pipelines, std::int64_t size) {
  const DatasetInfo& info = dataset.info();
  size = size_of_pass(dataset, size);
  if (!info.sharded) return true;
  if (is_sharded_here(dataset, policy, pipelines))
    return policy == ShardPolicy::file
           || policy_here(dataset, policy, pipelines) != ShardPolicy::data || size < 0
           || size >= pipelines;
  policy = of_inputs(dataset, info.shard.value_or(policy));
  return std::all_of(dataset.inputs().begin(), dataset.inputs().end(), [&](const Dataset& input) {
    return is_enough(input, policy, pipelines, info.random_access ? size : unknown);
  });
}

// `size`: elements in this pass, or unknown.
void check(const Dataset& dataset, const Shard& shard, std::int64_t size) {
  std::int64_t files = std::ssize(dataset.info().files);
  if (shard.policy == ShardPolicy::file)
    require(files >= shard.count, dataset.name(), ": ", files, files == 1 ? " file" : " files",
            " cannot be shared by ", shard.count,
            " pipelines; use ShardPolicy::data or more files");
  if (shard.policy == ShardPolicy::data && size >= 0)
    require(size >= shard.count, dataset.name(), ": ", size, size == 1 ? " element" : " elements",
            " cannot be shared by ", shard.count,
            " pipelines; use fewer, more data, or ShardPolicy::off");
}

}  // namespace

IteratorPtr every(IteratorPtr source, std::int64_t count, std::int64_t index) {
  return std::make_unique<Every>(std::move(source), count, index);
}

Order every(const Order* order, std::int64_t size, std::int64_t count, std::int64_t index) {
  if (order) size = order->size;
  Order out{.size = size / count + (index < size % count), .at = {}};
  if (order) {
    out.seed = order->seed;
    out.at = [=, at = order->at](std::int64_t i) { return at(i * count + index); };
  } else {
    out.at = [=](std::int64_t i) { return i * count + index; };
  }
  return out;
}

IteratorPtr iterate_shard(const Dataset& dataset, Pass pass, const MakeIterator& make) {
  if (!dataset.info().sharded) pass.shard = {};
  if (pass.shard.count == 1 || !is_sharded_here(dataset, pass.shard.policy, pass.shard.count))
    return make(pass);
  Shard shard = pass.shard;
  shard.policy = policy_here(dataset, shard.policy, shard.count);
  check(dataset, shard, pass.order ? pass.order->size : dataset.cardinality());
  if (shard.policy == ShardPolicy::file) return make(pass);
  pass.shard = {};
  if (shard.policy == ShardPolicy::off) return make(pass);
  if (!dataset.info().random_access) return every(make(pass), shard.count, shard.index);
  pass.order = std::make_shared<Order>(
      every(pass.order.get(), dataset.cardinality(), shard.count, shard.index));
  return make(pass);
}

namespace {

std::string shard_text(const Dataset& dataset, const Shard& shard, std::int64_t size) {
  if (shard.policy == ShardPolicy::off) return "everything";
  if (shard.policy == ShardPolicy::file) {
    const std::vector<std::string>& files = dataset.info().files;
    constexpr std::int64_t most = 8;  // names; more would hide the other pipelines
    std::int64_t mine = every(nullptr, std::ssize(files), shard.count, shard.index).size;
    std::vector<std::string> names;
    for (std::int64_t i = 0; i < std::min(mine, most); ++i)
      names.push_back(files[shard.index + i * shard.count]);
    std::string more = mine > most ? concat(", ... (", mine, " of ", files.size(), ")") : "";
    return "files " + join(names, ", ") + more;
  }
  int i = shard.index, n = shard.count;
  std::string out = concat("elements ", i, ", ", i + n, ", ", i + 2 * n, ", ...");
  if (size >= 0) out += concat(" (", every(nullptr, size, n, i).size, " of ", size, ")");
  return out;
}

// `size`: as for is_enough().
void describe(const Dataset& dataset, int pipelines, ShardPolicy policy, std::int64_t size,
              std::string& out) {
  if (!dataset.info().sharded) {
    out += concat(dataset.name(), ", each pipeline: everything\n");
    return;
  }
  size = size_of_pass(dataset, size);
  if (!is_sharded_here(dataset, policy, pipelines)) {
    policy = of_inputs(dataset, dataset.info().shard.value_or(policy));
    for (const Dataset& input : dataset.inputs())
      describe(input, pipelines, policy, dataset.info().random_access ? size : unknown, out);
    return;
  }
  policy = policy_here(dataset, policy, pipelines);
  for (int i = 0; i < pipelines; ++i) {
    Shard shard{pipelines, i, policy};
    check(dataset, shard, size);
    out += concat(dataset.name(), ", pipeline ", i, " of ", pipelines, ": ",
                  shard_text(dataset, shard, size), "\n");
  }
}

}  // namespace

std::string describe_shards(const Dataset& dataset, int pipelines) {
  require(pipelines >= 1, "describe_shards: there must be at least 1 pipeline, got ", pipelines);
  std::string out;
  describe(dataset, pipelines, ShardPolicy::automatic, unknown, out);
  return out;
}

}  // namespace belfry::data
