// Any bytes are the graph.json of an export or an Error, and so are the graphs made of it; what was
// read and written stays the same from then on. Small graphs are run, and small inputs read from
// tf.train.Examples.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "belfry/framework/base/error.h"
#include "belfry/framework/export/instantiate.h"
#include "belfry/framework/export/parse_examples.h"
#include "belfry/framework/export/saved_graph.h"
#include "belfry/framework/tensor/example.h"
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

/// Examples with the features that the seeds have, in each form.
std::vector<std::string> examples() {
  std::vector<std::string> out;
  for (const tf::Feature& feature :
       {tf::Feature(std::vector<float>{1, 2, 3, 4}),
        tf::Feature(std::vector<std::int64_t>{1, -2, 300, 4}),
        tf::Feature(std::vector<std::string>{"abcd"}), tf::Feature(std::vector<std::string>{})}) {
    std::vector<std::byte> bytes = tf::Example{{{"x", feature}, {"f", feature}}}.serialize();
    out.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return out;
}

Array one_image(std::span<const std::byte>, int channels) {
  return Array::zeros({2, 2, channels}, DType::u8);
}

/// Unless rows are large: where a feature is missing, a whole one of the default takes its place.
void try_examples(const saved::Signature& signature) {
  constexpr std::int64_t most_bytes = 1 << 16;
  for (const saved::Node* input : signature.inputs())
    if (input->outputs[0].at({1, signature.most_steps}).bytes() > most_bytes) return;
  static const std::vector<std::string> all = examples();
  for (const std::string& one : all) {
    try {
      saved::parse_examples({&one, 1}, signature, one_image);
    } catch (const Error&) {
    }
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
    for (const auto& [name, signature] : model.signatures) {
      for (std::int64_t rows : {2, 5})
        run(*saved::instantiate(signature, {rows, signature.most_steps}).graph);
      // Fewer steps take the beginning of constants.
      if (signature.most_steps > 1)
        run(*saved::instantiate(signature, {2, signature.most_steps / 2}).graph);
      saved::check_examples(signature);
      try_examples(signature);
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
