// Any bytes are the graph.json of an export or an Error, and so are the graphs made of it; what was
// read and written stays the same from then on.
#include <cstddef>
#include <cstdint>

#include "belfry/framework/export/instantiate.h"
#include "belfry/framework/export/parse_examples.h"
#include "belfry/framework/export/saved_graph.h"

using namespace belfry;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const NamedArrays weights{{"w", Array({4, 2}, DType::f32)}, {"t", Array({4}, DType::i64)}};
  saved::Model model;
  try {
    model = saved::model_from_json({reinterpret_cast<const char*>(data), size}, weights);
    for (const auto& [name, signature] : model.signatures)
      for (std::int64_t rows : {2, 5}) {
        saved::instantiate(signature, rows);
        saved::check_examples(signature);
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
