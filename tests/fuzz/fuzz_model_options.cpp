// Any JSON is the options of a model or an Error. The input says which model, its options and the
// features of a batch; where they are a model, its graph is built, or that is an Error.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "belfry/framework/base/error.h"
#include "belfry/framework/graph/graph.h"
#include "belfry/framework/train/estimator_spec.h"
#include "belfry/models/make.h"
#include "json_mutator.h"
#include "model_options.h"

using namespace belfry;

namespace {

/// Names and other texts that stand somewhere in the options of models.
void collect_words(const Json& json, std::set<std::string>& out) {
  if (json.is_string()) out.insert(json.get<std::string>());
  if (json.is_object())
    for (const auto& member : json.items()) out.insert(member.key());
  if (json.is_structured())
    for (const Json& inner : json) collect_words(inner, out);
}

std::vector<std::string> words() {
  const std::vector<std::string> names = models::names();
  std::set<std::string> all(names.begin(), names.end());
  for (const char* one : model_options) collect_words(Json::parse(one), all);
  return {all.begin(), all.end()};
}

/// The largest number in `json`, whatever its sign.
double largest(const Json& json) {
  if (json.is_number()) return std::abs(json.get<double>());
  double most = 0;
  if (json.is_structured())
    for (const Json& inner : json) most = std::max(most, largest(inner));
  return most;
}

/// A model takes the time and the memory that its options ask for: those tried here are small.
bool is_small(const Json& options) {
  return largest(options) <= 64 && options.dump().size() < 2000;
}

Signature signature_of(const Json& features) {
  Signature out;
  constexpr std::int64_t most = 1 << 16;
  for (const auto& [name, type] : features.items()) {
    std::vector<std::int64_t> sizes;
    for (const Json& size : type.at(1)) {
      require(size.is_number_integer(), "a size is a whole number");
      sizes.push_back(size.get<std::int64_t>());
    }
    out.emplace_back(name,
                     TensorType{Shape(sizes), dtype_from_string(type.at(0).get<std::string>())});
    require(out.back().second.shape.elements() <= most, "larger than what is tried");
  }
  return out;
}

void build(const ModelFn& model, const Signature& features) {
  for (Mode mode : {Mode::train, Mode::evaluate, Mode::predict}) try {
      Graph graph;
      model(Scope(graph), Batch(graph, features), mode);
    } catch (const Error&) {
    }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  static const std::vector<std::string> known = words();
  return mutate_json(data, size, max_size, seed, [&](Json& document) {
    JsonMutator mutator(seed, known);
    for (std::size_t i = 0, n = 1 + mutator.below(3); i < n; ++i)
      mutator.change(mutator.below(4) == 0 ? document : document.at("options"));
  });
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Json input = Json::parse(data, data + size, nullptr, false);
  try {
    const ModelFn model =
        models::make(input.at("model").get<std::string>(), input.at("options").dump());
    if (is_small(input.at("options"))) build(model, signature_of(input.at("features")));
  } catch (const Json::exception&) {
  } catch (const Error&) {
  }
  return 0;
}
