#include "belfry/models/make.h"

#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "belfry/models/lenet.h"
#include "belfry/models/mlp.h"
#include "belfry/models/mobilenet.h"
#include "belfry/models/resnest.h"
#include "belfry/models/resnet.h"
#include "belfry/models/swin.h"
#include "belfry/models/unet.h"
#include "belfry/models/unet_resnest.h"
#include "belfry/models/unet_swin.h"
#include "belfry/models/vgg.h"

namespace belfry::models {
namespace {

using Json = nlohmann::json;

/// Reads the fields of an options struct from an object, and complains about what is left.
class Reader {
 public:
  Reader(std::string what, const Json& object) : what_(std::move(what)), left_(object) {
    require(left_.is_object(), what_, ": expected a JSON object, got ", left_.dump());
  }

  template <class T>
  Reader& operator()(const char* name, T& value) {
    known_.emplace_back(name);
    if (auto found = left_.find(name); found != left_.end()) {
      take(name, *found, value);
      left_.erase(name);
    }
    return *this;
  }
  void finish() const {
    for (const auto& [name, value] : left_.items())
      fail(what_, ": there is no field `", name, "`; there are ", join(known_, ", "));
  }

 private:
  template <class T>
  void take(const char* name, const Json& json, T& value) {
    try {
      if constexpr (std::is_same_v<T, Schedule>) {
        value = json.get<double>();
      } else {
        if constexpr (std::is_integral_v<T>)
          require(json.is_boolean() == std::is_same_v<T, bool> && !json.is_number_float(), what_,
                  ": `", name, "` cannot be ", json.dump());
        value = json.get<T>();
      }
    } catch (const Json::exception&) {
      fail(what_, ": `", name, "` cannot be ", json.dump());
    }
  }
  void take(const char* name, const Json& json, Optimizer& value);
  void take(const char* name, const Json& json, ResnetStem& value) {
    const std::map<std::string, ResnetStem> stems{{"by_size", ResnetStem::by_size},
                                                  {"small", ResnetStem::small},
                                                  {"large", ResnetStem::large}};
    auto found = json.is_string() ? stems.find(json.get<std::string>()) : stems.end();
    require(found != stems.end(), what_, ": `", name, "` is by_size, small or large, got ",
            json.dump());
    value = found->second;
  }

  std::string what_;
  Json left_;
  std::vector<std::string> known_;
};

// ---- the fields of each options struct

void fields(SgdOptions& o, Reader& f) {
  f("learning_rate", o.learning_rate)("weight_decay", o.weight_decay)("decay_min_rank",
                                                                      o.decay_min_rank);
}
void fields(MomentumOptions& o, Reader& f) {
  f("learning_rate", o.learning_rate)("momentum", o.momentum)("nesterov", o.nesterov)(
      "weight_decay", o.weight_decay)("decay_min_rank", o.decay_min_rank);
}
void fields(AdamOptions& o, Reader& f) {
  f("learning_rate", o.learning_rate)("beta1", o.beta1)("beta2", o.beta2)("epsilon", o.epsilon);
}
void fields(AdamWOptions& o, Reader& f) {
  f("learning_rate", o.learning_rate)("beta1", o.beta1)("beta2", o.beta2)("epsilon", o.epsilon)(
      "weight_decay", o.weight_decay)("decay_min_rank", o.decay_min_rank);
}
void fields(RmspropOptions& o, Reader& f) {
  f("learning_rate", o.learning_rate)("decay", o.decay)("momentum", o.momentum)(
      "epsilon", o.epsilon)("centered", o.centered);
}
void fields(LenetOptions& o, Reader& f) {
  f("classes", o.classes)("dropout", o.dropout)("optimizer", o.optimizer);
}
void fields(MlpOptions& o, Reader& f) {
  f("feature", o.feature)("hidden", o.hidden)("classes", o.classes)("dropout", o.dropout)(
      "optimizer", o.optimizer);
}
void fields(MobilenetOptions& o, Reader& f) {
  f("classes", o.classes)("width", o.width)("batch_norm_momentum", o.batch_norm_momentum)(
      "dropout", o.dropout)("optimizer", o.optimizer);
}
void fields(ResnestOptions& o, Reader& f) {
  f("classes", o.classes)("blocks", o.blocks)("filters", o.filters)("radix", o.radix)(
      "groups", o.groups)("batch_norm_momentum", o.batch_norm_momentum)("optimizer", o.optimizer);
}
void fields(ResnetOptions& o, Reader& f) {
  f("classes", o.classes)("stem", o.stem)("batch_norm_momentum", o.batch_norm_momentum)(
      "optimizer", o.optimizer);
}
void fields(SwinOptions& o, Reader& f) {
  f("classes", o.classes)("channels", o.channels)("blocks", o.blocks)("heads", o.heads)(
      "window", o.window)("patch", o.patch)("mlp", o.mlp)("optimizer", o.optimizer);
}
template <class Options>
void fields_of_masks(Options& o, Reader& f) {
  f("positive_weight", o.positive_weight)("dice_weight", o.dice_weight)("threshold", o.threshold)(
      "optimizer", o.optimizer);
}
void fields(UnetOptions& o, Reader& f) {
  f("depth", o.depth)("filters", o.filters)("batch_norm", o.batch_norm)(
      "batch_norm_momentum", o.batch_norm_momentum)("slot_of_way_up", o.slot_of_way_up);
  fields_of_masks(o, f);
}
void fields(UnetResnestOptions& o, Reader& f) {
  f("blocks", o.blocks)("filters", o.filters)("radix", o.radix)("groups", o.groups)(
      "decoder_filters", o.decoder_filters)("batch_norm_momentum", o.batch_norm_momentum);
  fields_of_masks(o, f);
}
void fields(UnetSwinOptions& o, Reader& f) {
  f("channels", o.channels)("blocks", o.blocks)("heads", o.heads)("window", o.window)(
      "patch", o.patch)("mlp", o.mlp);
  fields_of_masks(o, f);
}
void fields(VggOptions& o, Reader& f) {
  f("classes", o.classes)("batch_norm", o.batch_norm)("batch_norm_momentum", o.batch_norm_momentum)(
      "hidden", o.hidden)("dropout", o.dropout)("optimizer", o.optimizer);
}

/// `function` of `options`, changed by an object's fields.
template <class Options, class Result>
Result call(Result (*function)(Options), Options options, const std::string& name,
            const Json& json) {
  Reader reader(name, json);
  fields(options, reader);
  reader.finish();
  return function(std::move(options));
}

template <class Options>
Optimizer optimizer(Optimizer (*function)(const Options&), const std::string& name,
                    const Json& json) {
  Options options;
  Reader reader(name, json);
  fields(options, reader);
  reader.finish();
  return function(options);
}

void Reader::take(const char* name, const Json& json, Optimizer& value) {
  using Make = std::function<Optimizer(const std::string&, const Json&)>;
  static const std::map<std::string, Make> optimizers{
      {"adam", [](auto& n, auto& j) { return optimizer(adam, n, j); }},
      {"adamw", [](auto& n, auto& j) { return optimizer(adamw, n, j); }},
      {"momentum", [](auto& n, auto& j) { return optimizer(momentum, n, j); }},
      {"rmsprop", [](auto& n, auto& j) { return optimizer(rmsprop, n, j); }},
      {"sgd", [](auto& n, auto& j) { return optimizer(sgd, n, j); }}};
  std::vector<std::string> names;
  for (const auto& [known, make] : optimizers) names.push_back(known);
  auto title = json.is_object() ? json.find("name") : json.end();
  bool named = json.is_object() && title != json.end() && title->is_string()
               && optimizers.contains(title->get<std::string>());
  require(named, what_, ": `", name, "` must be an object with the name of an optimizer (",
          join(names, ", "), "), got ", json.dump());
  Json options = json;
  options.erase("name");
  auto which = title->get<std::string>();
  value = optimizers.at(which)(concat(what_, ": ", which), options);
}

using Make = std::function<ModelFn(const std::string& name, const Json&)>;

template <class Options>
Make maker(ModelFn (*function)(Options), Options defaults) {
  return [=](const std::string& name, const Json& json) {
    return call(function, defaults, name, json);
  };
}

const std::map<std::string, Make, std::less<>>& makers() {
  static const std::map<std::string, Make, std::less<>> table{
      {"lenet", maker<LenetOptions>(lenet, {})},
      {"mlp", maker<MlpOptions>(mlp, {})},
      {"mobilenet_v2", maker<MobilenetOptions>(mobilenet_v2, {})},
      {"resnest50", maker<ResnestOptions>(resnest50, {})},
      {"resnet18", maker<ResnetOptions>(resnet18, {})},
      {"resnet34", maker<ResnetOptions>(resnet34, {})},
      {"resnet50", maker<ResnetOptions>(resnet50, {.classes = 1000})},
      {"swin_tiny", maker<SwinOptions>(swin_tiny, {})},
      {"unet", maker<UnetOptions>(unet, {})},
      {"unet3d", maker<UnetOptions>(unet3d, {.depth = 3, .filters = 32})},
      {"unet_resnest", maker<UnetResnestOptions>(unet_resnest, {})},
      {"unet_swin", maker<UnetSwinOptions>(unet_swin, {})},
      {"vgg11", maker<VggOptions>(vgg, {.layers = 11})},
      {"vgg13", maker<VggOptions>(vgg, {.layers = 13})},
      {"vgg16", maker<VggOptions>(vgg, {.layers = 16})},
      {"vgg19", maker<VggOptions>(vgg, {.layers = 19})}};
  return table;
}

}  // namespace

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& [name, make] : makers()) out.push_back(name);
  return out;
}

ModelFn make(std::string_view name, std::string_view json) {
  auto found = makers().find(name);
  require(found != makers().end(), "models: there is no `", name, "`; there are ",
          join(names(), ", "));
  Json parsed = Json::parse(json, nullptr, false);
  require(!parsed.is_discarded(), "models: the options of ", name, " are no JSON: ", json);
  return found->second(found->first, parsed);
}

}  // namespace belfry::models
