// Any bytes are the graph.json of an export or an Error, and so are the graphs made of it; what was
// read and written stays the same from then on. Small graphs are run.
#include <cstddef>
#include <cstdint>

#include "belfry/framework/base/error.h"
#include "belfry/framework/export/instantiate.h"
#include "belfry/framework/export/parse_examples.h"
#include "belfry/framework/export/saved_graph.h"
#include "graph_mutator.h"
#include "run_graph.h"

using namespace belfry;

namespace {

void run(const Graph& graph) {
  try {
    run_if_small(graph);
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  return mutate_graph(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const NamedArrays& weights = graph_weights();
  saved::Model model;
  try {
    model = saved::model_from_json({reinterpret_cast<const char*>(data), size}, weights);
    for (const auto& [name, signature] : model.signatures)
      for (std::int64_t rows : {2, 5}) {
        const saved::GraphOf built = saved::instantiate(signature, {rows, signature.most_steps});
        saved::check_examples(signature);
        run(*built.graph);
      }
  } catch (const Error&) {
    return 0;
  }
  NamedArrays all = weights;
  std::string json = saved::to_json(model, all);
  NamedArrays again = all;
  if (saved::to_json(saved::model_from_json(json, all), again) != json) __builtin_trap();
  return 0;
}
