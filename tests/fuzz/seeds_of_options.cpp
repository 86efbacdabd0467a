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
  seeds.write("one_of_two", to_string(one_of({flip_horizontal(), hue()}, {1, 3})));
  seeds.write("unknown_in_list", R"({"name":"compose","of":[{"name":"flip"}]})");
  seeds.write("escapes", R"({"name":"flip_horizontal","image":"\u0001\n"})");
  seeds.write("without_name", R"({"image":"a"})");
  seeds.write("one_end", R"({"name":"hue","shift":[0.1]})");
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
"recompute":"off","bucket":5,"reduction_timeout":10,"threads":4,"plans":7,"tf32":false})",
       R"({"memory_limit":1.0,"recompute":[],"save_checkpoint":{"steps":7}})",
       R"({"memory_limit":1.5})", R"({"memory_limit":"all"})", R"({"recompute":"some"})",
       R"({"save_checkpoint":{"hours":1}})", R"({"save_checkpoint":{"steps":0}})",
       R"({"save_checkpoint":{"steps":7},"save_checkpoint_steps":7})", R"({"steps":7})", "[]"})
    seeds.write(concat("config", number++), config);
}

void write_models(const std::string& folder) {
  Seeds seeds(folder, "fuzz_model_options");
  int number = 0;
  for (const char* one : model_options) seeds.write(concat("model", number++), one);
  for (const char* unknown :
       {R"("optimizer":{"name":"newton"})", R"("optimizer":"adam")", R"("head":{"classes":3})",
        R"("optimizer":{"name":"sgd","learning_rate":{"name":"random"}})"})
    seeds.write(concat("unknown", number++), concat(R"({"model":"mlp","options":{)", unknown,
                                                    R"(},"features":{"x":["f32",[2,6]]}})"));
}

}  // namespace

void write_option_seeds(const std::string& folder) {
  write_augmentations(folder);
  write_configs(folder);
  write_models(folder);
}

}  // namespace belfry
