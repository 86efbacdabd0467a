#include "belfry/data/shard.h"

#include <algorithm>

#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

class Every final : public Iterator {
 public:
  Every(IteratorPtr source, std::int64_t count, std::int64_t index)
      : source_(std::move(source)), count_(count), before_(index) {}

  bool next(Element& out) override {
    if (source_->skip(before_) < before_) return false;
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

// Of a source whose number of elements nobody knows: says that it had none for this pipeline.
class NotEmpty final : public Iterator {
 public:
  NotEmpty(IteratorPtr source, std::string message)
      : source_(std::move(source)), message_(std::move(message)) {}

  bool next(Element& out) override {
    bool more = source_->next(out);
    require(more || seen_, message_);
    seen_ = seen_ || more;
    return more;
  }
  std::int64_t skip(std::int64_t count) override {
    std::int64_t skipped = source_->skip(count);
    seen_ = seen_ || skipped > 0;
    return skipped;
  }
  void position(Position& at) override {
    at.field("shard.seen", seen_);
    source_->position(at);
  }

 private:
  IteratorPtr source_;
  std::string message_;
  bool seen_ = false;
};

std::string left_empty(const Dataset& source, const Shard& shard) {
  return concat(source.name(), ": nothing is left for pipeline ", shard.index, " of ", shard.count,
                "; use fewer workers, more data, or ShardPolicy::off");
}

void check(const Dataset& source, const Shard& shard, ShardPolicy policy) {
  const DatasetInfo& info = source.info();
  if (policy == ShardPolicy::file) {
    require(!info.files.empty(), source.name(),
            ": ShardPolicy::file, but this source does not read a list of files; use "
            "ShardPolicy::data");
    require(std::ssize(info.files) >= shard.count, source.name(), ": ", info.files.size(),
            " files cannot be shared by ", shard.count,
            " pipelines; use ShardPolicy::data or more files");
  }
  if (policy == ShardPolicy::data && info.cardinality >= 0)
    require(info.cardinality >= shard.count, left_empty(source, shard), " (it has ",
            info.cardinality, " elements)");
}

}  // namespace

ShardPolicy resolve(ShardPolicy policy, const DatasetInfo& source, int pipelines) {
  if (policy != ShardPolicy::automatic) return policy;
  return std::ssize(source.files) >= pipelines ? ShardPolicy::file : ShardPolicy::data;
}

IteratorPtr every(IteratorPtr source, std::int64_t count, std::int64_t index) {
  return std::make_unique<Every>(std::move(source), count, index);
}

Order every(const Order* order, std::int64_t size, std::int64_t count, std::int64_t index) {
  if (order) size = order->size;
  Order out{.size = std::max<std::int64_t>((size - index + count - 1) / count, 0), .at = {}};
  if (order) {
    out.seed = order->seed;
    out.at = [=, at = order->at](std::int64_t i) { return at(i * count + index); };
  } else {
    out.at = [=](std::int64_t i) { return i * count + index; };
  }
  return out;
}

IteratorPtr shard_source(const Dataset& source, Pass pass, const MakeIterator& make) {
  Shard shard = pass.shard;
  if (shard.count == 1) return make(pass);
  ShardPolicy policy = resolve(shard.policy, source.info(), shard.count);
  check(source, shard, policy);
  if (policy == ShardPolicy::file) return make(pass);
  pass.shard = {};
  if (policy == ShardPolicy::off) return make(pass);
  if (source.info().random_access) {
    pass.order = std::make_shared<Order>(
        every(pass.order.get(), source.cardinality(), shard.count, shard.index));
    return make(pass);
  }
  IteratorPtr part = every(make(pass), shard.count, shard.index);
  if (source.cardinality() >= 0) return part;
  return std::make_unique<NotEmpty>(std::move(part), left_empty(source, shard));
}

namespace {

void describe(const Dataset& dataset, int pipelines, ShardPolicy policy, std::string& out) {
  policy = dataset.info().shard.value_or(policy);
  if (dataset.inputs().size() > 1 && policy == ShardPolicy::automatic) policy = ShardPolicy::data;
  for (const Dataset& input : dataset.inputs()) describe(input, pipelines, policy, out);
  if (!dataset.inputs().empty()) return;
  const DatasetInfo& info = dataset.info();
  policy = resolve(policy, info, pipelines);
  for (int i = 0; i < pipelines; ++i) {
    check(dataset, {pipelines, i, policy}, policy);
    out += concat(dataset.name(), ", pipeline ", i, " of ", pipelines, ": ");
    if (policy == ShardPolicy::off) {
      out += "everything\n";
    } else if (policy == ShardPolicy::file) {
      std::vector<std::string> mine;
      for (std::size_t f = static_cast<std::size_t>(i); f < info.files.size();
           f += static_cast<std::size_t>(pipelines))
        mine.push_back(info.files[f]);
      out += concat("files ", join(mine, ", "), "\n");
    } else {
      out += concat("elements ", i, ", ", i + pipelines, ", ", i + 2 * pipelines, ", ...");
      if (info.cardinality >= 0)
        out += concat(" (", every(nullptr, info.cardinality, pipelines, i).size, " of ",
                      info.cardinality, ")");
      out += "\n";
    }
  }
}

}  // namespace

std::string describe_shards(const Dataset& dataset, int pipelines) {
  require(pipelines >= 1, "describe_shards: there must be at least 1 pipeline, got ", pipelines);
  std::string out;
  describe(dataset, pipelines, ShardPolicy::automatic, out);
  return out;
}

}  // namespace belfry::data
