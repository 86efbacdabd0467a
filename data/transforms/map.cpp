#include "belfry/data/scheduler.h"
#include "belfry/data/transforms/named.h"
#include "belfry/data/transforms/parallel_map.h"
#include "belfry/data/transforms/transforms.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

struct SerialMap final : Iterator {
  SerialMap(IteratorPtr s, ElementFunction f) : source(std::move(s)), function(std::move(f)) {}
  bool next(Element& out) override {
    if (!source->next(out)) return false;
    function(out, 0);
    return true;
  }
  std::int64_t skip(std::int64_t count) override { return source->skip(count); }
  void position(Position& at) override { source->position(at); }
  IteratorPtr source;
  ElementFunction function;
};

ElementFunction seeded(const MapFunction& function, PhiloxKey key, const StageName& stage) {
  return [=](Element& element, std::int64_t) {
    PhiloxStream random = function.draws()
                              ? PhiloxStream(philox_key(key.value, element.epoch), element.index)
                              : PhiloxStream(key);
    for_element(stage, element, [&] {
      element.features = function(std::move(element.features), random);
      require_defined(element.features);
    });
  };
}

}  // namespace

Transform map(MapFunction function, MapOptions options) {
  bool ordered = options.ordered || options.workers == 1;
  require(function, "map: the function is empty");
  require_workers("map", options.workers);
  std::string name = name_with("map", options.name, function.name());
  return wrap(
      std::move(name),
      [=, function = std::move(function)](IteratorPtr source, const Pass& pass) -> IteratorPtr {
        ElementFunction work =
            seeded(function, pass.key(options.seed, "map"), stage_with(pass.name, options.name));
        if (options.workers == 1)
          return std::make_unique<SerialMap>(std::move(source), std::move(work));
        return parallel_map(std::move(source), std::move(work),
                            {.workers = options.workers, .ordered = options.ordered}, pass);
      },
      [=](const DatasetInfo& source) {
        DatasetInfo info = same_elements(source);
        info.random_access = info.random_access && ordered;
        return info;
      });
}

}  // namespace belfry::data
