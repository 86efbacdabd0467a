// Options in JSON: of augmentations, of runs, of models.

#include "belfry/data/augment/augment.h"
#include "belfry/framework/base/error.h"
#include "model_options.h"
#include "seeds.h"

namespace belfry {
namespace {

void write_augmentations(const std::string& folder) {
  using namespace data;
  Seeds seeds(folder, "fuzz_augmentation_json");
  for (const std::string& name : augmentation_names()) {
    std::string text = "{\"name\":\"" + name + "\"}";
    try {
      text = to_string(augmentation_from_json(text));
    } catch (const Error&) {  // it has options without a default
    }
    seeds.write(name, text);
  }
  seeds.write("one_of_two",
              R"({"name":"one_of","of":[{"name":"flip_horizontal"},{"name":"invert"}]})");
}

void write_configs(const std::string& folder) {
  Seeds seeds(folder, "fuzz_run_config");
  int number = 0;
  for (
      const char* config :
      {"{}",
       R"({"devices":["cpu:0","cpu:1+cpu:2"],"split":2,"batch":"per_tower","seed":18446744073709551615,
"precision":"bf16","memory_limit":0.5,"recompute":{"only":["a"]},"save_checkpoint_steps":5})",
       R"({"save_checkpoint":{"milliseconds":1500},"reduction":"hierarchical","variables":"central",
"keep_checkpoints":{"newest":3,"every":{"steps":7200},"multiples_of":12},"recompute":["a/b"]})",
       R"({"save_checkpoint":null,"keep_checkpoints":{"every":{"seconds":9}},"memory_limit":1e-3,
"recompute":"off","bucket":5,"reduction_timeout":10,"threads":4,"plans":7,"tf32":false})"})
    seeds.write(concat("config", number++), config);
}

void write_models(const std::string& folder) {
  Seeds seeds(folder, "fuzz_model_options");
  int number = 0;
  for (const char* one : model_options) seeds.write(concat("model", number++), one);
}

}  // namespace

void write_option_seeds(const std::string& folder) {
  write_augmentations(folder);
  write_configs(folder);
  write_models(folder);
}

}  // namespace belfry
