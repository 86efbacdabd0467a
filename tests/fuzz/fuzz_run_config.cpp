// Any bytes are a configuration, which prints and reads back as itself, or an Error.
#include <cstdlib>
#include <string>
#include <string_view>

#include "belfry/framework/base/error.h"
#include "belfry/framework/train/run_config.h"
#include "json_mutator.h"

using namespace belfry;

namespace {

/// The names of all fields, and texts that some of them may have.
std::vector<std::string> words() {
  std::vector<std::string> out{"cpu",    "cpu:0",        "cpu:1+cpu:2", "cuda:0",
                               "steps",  "seconds",      "only",        "milliseconds",
                               "newest", "multiples_of", "every",       "a/b",
                               "global", "per_tower",    "mirrored",    "central",
                               "shared", "hierarchical", "automatic",   "off",
                               "bf16",   "f16",          "f32",         "save_checkpoint_steps"};
  const Json all = Json::parse(to_json(RunConfig()));
  for (const auto& field : all.items()) out.push_back(field.key());
  return out;
}

/// Whether the fields agree that have a form of their own in JSON.
bool same(const RunConfig& a, const RunConfig& b) {
  return a.memory_limit == b.memory_limit && a.save_checkpoint == b.save_checkpoint
         && a.keep_checkpoints.every == b.keep_checkpoints.every
         && a.recompute.automatic == b.recompute.automatic
         && a.recompute.scopes == b.recompute.scopes;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  static const std::vector<std::string> known = words();
  return mutate_json(data, size, max_size, seed, [&](Json& document) {
    JsonMutator mutator(seed, known);
    for (std::size_t i = 0, n = 1 + mutator.below(3); i < n; ++i) mutator.change(document);
    // A field that is left out stays as it was; all of them give more to change.
    if (!document.is_object() || mutator.below(20) == 0)
      document = Json::parse(to_json(RunConfig()));
  });
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  RunConfig config;
  try {
    config = run_config_from_json({reinterpret_cast<const char*>(data), size});
    validate(config);
  } catch (const Error&) {
    return 0;
  }
  const std::string printed = to_json(config);
  const RunConfig again = run_config_from_json(printed);
  if (to_json(again) != printed || !same(again, config)) std::abort();
  return 0;
}
