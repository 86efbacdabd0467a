#include "belfry/data/dataset.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "belfry/data/profile.h"
#include "belfry/data/shard.h"
#include "belfry/framework/base/error.h"

namespace belfry {

struct Dataset::Node {
  std::string name;
  std::vector<Dataset> inputs;
  data::MakeIterator make;
  data::DatasetInfo info;
  int stage = 0;

  // This and all that it reads, each once, sources first.
  void list(std::vector<const Node*>& out) const {
    if (std::find(out.begin(), out.end(), this) != out.end()) return;
    for (const Dataset& input : inputs) input.node_->list(out);
    out.push_back(this);
  }

  data::StageNames names() const {
    std::vector<const Node*> nodes;
    list(nodes);
    std::map<std::string_view, int> counts, numbers;
    for (const Node* node : nodes) ++counts[node->name];
    data::StageNames out;
    for (const Node* node : nodes)
      if (counts[node->name] > 1)
        out[node] = {concat(node->name, " ", ++numbers[node->name]), /*told=*/true};
    return out;
  }
};

Dataset::Dataset(std::string name, data::MakeIterator make, data::DatasetInfo info)
    : Dataset(std::move(name), {}, std::move(make), std::move(info)) {}

Dataset::Dataset(std::string name, std::vector<Dataset> inputs, data::MakeIterator make,
                 data::DatasetInfo info) {
  require(make != nullptr, name, ": the function that starts a pass is empty");
  require(info.cardinality >= data::unknown, name, ": cardinality ", info.cardinality,
          " is neither a count nor data::infinite nor data::unknown");
  require(!info.random_access || info.cardinality >= 0, name,
          ": random access needs a known cardinality");
  int stage = 0;
  for (const Dataset& input : inputs) stage = std::max(stage, input.node_->stage + 1);
  node_ = std::make_shared<const Node>(
      Node{std::move(name), std::move(inputs), std::move(make), std::move(info), stage});
}

const std::string& Dataset::name() const { return node_->name; }
const data::DatasetInfo& Dataset::info() const { return node_->info; }
const std::vector<Dataset>& Dataset::inputs() const { return node_->inputs; }

data::IteratorPtr Dataset::iterate(data::Pass pass) const {
  ensure(!pass.order || info().random_access, name(), ": an order without random access");
  ensure(pass.scheduler != nullptr, name(), ": a pass without a scheduler");
  pass.stage = node_->stage;
  if (!pass.names) pass.names = std::make_shared<const data::StageNames>(node_->names());
  auto named = pass.names->find(node_.get());
  pass.name = named == pass.names->end() ? data::StageName{name()} : named->second;
  data::Meter* meter = nullptr;
  if (pass.profile)
    meter = &pass.profile->meter(pass.made_from_element ? nullptr : node_.get(), pass.name.text,
                                 pass.meter);
  pass.meter = meter;
  auto make = [this](const data::Pass& p) {
    data::IteratorPtr out = node_->make(p);
    require(out != nullptr, name(), ": the function that starts a pass returned null");
    return out;
  };
  data::IteratorPtr out = data::iterate_shard(*this, pass, make);
  return meter ? data::metered(std::move(out), *meter, pass.profile) : std::move(out);
}

data::Transform data::wrap(std::string name,
                           std::function<IteratorPtr(IteratorPtr, const Pass&)> iterator,
                           std::function<DatasetInfo(const DatasetInfo&)> info) {
  require(iterator != nullptr, name, ": the function that makes an iterator is empty");
  return [name = std::move(name), iterator = std::move(iterator),
          info = std::move(info)](Dataset source) {
    DatasetInfo known = info ? info(source.info()) : DatasetInfo{};
    auto make = [iterator, source](const Pass& pass) {
      return iterator(source.iterate(pass), pass);
    };
    return Dataset(name, {source}, std::move(make), std::move(known));
  };
}

data::DatasetInfo data::same_elements(const DatasetInfo& source) {
  return {.cardinality = source.cardinality, .random_access = source.random_access};
}

Dataset operator|(Dataset source, const data::Transform& transform) {
  require(transform != nullptr, source.name(), " | a transform that is empty");
  return transform(std::move(source));
}

}  // namespace belfry
