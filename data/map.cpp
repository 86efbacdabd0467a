#include "belfry/data/parallel_map.h"
#include "belfry/data/transforms.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

struct SerialMap final : Iterator {
  SerialMap(IteratorPtr s, ElementFunction f) : source(std::move(s)), function(std::move(f)) {}
  bool next(Element& out) override {
    if (!source->next(out)) return false;
    function(out);
    return true;
  }
  void position(Position& at) override { source->position(at); }
  IteratorPtr source;
  ElementFunction function;
};

ElementFunction seeded(const MapFunction& function, PhiloxKey key) {
  return [=](Element& element) {
    PhiloxStream random(philox_key(key.value, element.epoch),
                        static_cast<std::uint64_t>(element.index));
    for_element("map", element,
                [&] { element.features = function(std::move(element.features), random); });
  };
}

}  // namespace

Transform map(MapFunction function, MapOptions options) {
  require(options.workers >= 1 || options.workers == autotune,
          "map: workers must be at least 1, or data::autotune; got ", options.workers);
  return wrap(
      [=, function = std::move(function)](IteratorPtr source, const Pass& pass) -> IteratorPtr {
        ElementFunction work = seeded(function, pass.key(options.seed, "map"));
        if (options.workers == 1)
          return std::make_unique<SerialMap>(std::move(source), std::move(work));
        return parallel_map(std::move(source), std::move(work), options.workers, pass.scheduler);
      },
      [](const DatasetInfo& source) { return source; });
}

}  // namespace belfry::data
