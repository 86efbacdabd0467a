#include "belfry/models/make.h"

#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "belfry/models/gan/cyclegan.h"
#include "belfry/models/gan/estimators.h"
#include "belfry/models/gan/acgan.h"
#include "belfry/models/gan/infogan.h"
#include "belfry/models/acoustic.h"
#include "belfry/models/lenet.h"
#include "belfry/models/linear.h"
#include "belfry/models/mlp.h"
#include "belfry/models/mobilenet.h"
#include "belfry/models/resnest.h"
#include "belfry/models/resnet.h"
#include "belfry/models/transformer.h"
#include "belfry/models/swin.h"
#include "belfry/models/unet.h"
#include "belfry/models/unet_resnest.h"
#include "belfry/models/unet_swin.h"
#include "belfry/models/vgg.h"
#include "belfry/models/wide_deep.h"

namespace belfry::models {
namespace {

using Json = nlohmann::json;

class Reader;

/// What fields() lists.
template <class T>
concept Fielded = requires(T& value, Reader& reader) {
  fields(value, reader);
};

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
  template <Fielded T>
  void take(const char* name, const Json& json, T& value) {
    Reader inner(concat(what_, ": ", name), json);
    fields(value, inner);
    inner.finish();
  }
  template <Fielded T>
  void take(const char* name, const Json& json, std::vector<T>& value) {
    require(json.is_array(), what_, ": `", name, "` must be a list, got ", json.dump());
    value.resize(json.size());
    for (std::size_t i = 0; i < json.size(); ++i) take(name, json[i], value[i]);
  }
  void take(const char* name, const Json& json, Optimizer& value);
  void take(const char* name, const Json& json, Head& value);
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
void fields(BinaryHeadOptions& o, Reader& f) {
  f("label", o.label)("weight", o.weight)("label_smoothing", o.label_smoothing)("threshold",
                                                                                o.threshold);
}
void fields(MultiClassHeadOptions& o, Reader& f) {
  f("classes", o.classes)("label", o.label)("weight", o.weight)("label_smoothing",
                                                                o.label_smoothing);
}
void fields(MultiLabelHeadOptions& o, Reader& f) {
  f("classes", o.classes)("label", o.label)("weight", o.weight)(
      "label_smoothing", o.label_smoothing)("threshold", o.threshold);
}
void fields(RegressionHeadOptions& o, Reader& f) {
  f("units", o.units)("label", o.label)("weight", o.weight);
}
void fields(PoissonHeadOptions& o, Reader& f) { f("label", o.label)("weight", o.weight); }
void fields(NamedHead& o, Reader& f) { f("name", o.name)("head", o.head)("weight", o.weight); }

struct HeadList {
  std::vector<NamedHead> heads = {};
};
void fields(HeadList& o, Reader& f) { f("heads", o.heads); }

void fields(NumericColumn& o, Reader& f) {
  f("feature", o.feature)("mean", o.mean)("deviation", o.deviation);
}
void fields(CategoricalColumn& o, Reader& f) {
  f("feature", o.feature)("categories", o.categories)("hashed", o.hashed)(
      "boundaries", o.boundaries)("width", o.width);
}
void fields(CrossedColumn& o, Reader& f) {
  f("features", o.features)("buckets", o.buckets)("width", o.width);
}
void fields(Columns& o, Reader& f) {
  f("numeric", o.numeric)("categorical", o.categorical)("crossed", o.crossed);
}

void fields(DnnOptions& o, Reader& f) {
  f("columns", o.columns)("hidden", o.hidden)("dropout", o.dropout)("head", o.head)("optimizer",
                                                                                    o.optimizer);
}
void fields(LinearOptions& o, Reader& f) {
  f("columns", o.columns)("head", o.head)("optimizer", o.optimizer);
}
void fields(WideDeepOptions& o, Reader& f) {
  f("wide", o.wide)("deep", o.deep)("hidden", o.hidden)("dropout", o.dropout)("head", o.head)(
      "wide_optimizer", o.wide_optimizer)("deep_optimizer", o.deep_optimizer);
}
void fields(AdagradOptions& o, Reader& f) {
  f("learning_rate", o.learning_rate)("initial_accumulator", o.initial_accumulator);
}
void fields(FtrlOptions& o, Reader& f) {
  f("learning_rate", o.learning_rate)("learning_rate_power", o.learning_rate_power)(
      "initial_accumulator", o.initial_accumulator)("l1", o.l1)("l2", o.l2);
void fields(gan::DcganOptions& o, Reader& f) {
  f("size", o.size)("channels", o.channels)("filters", o.filters)("noise", o.noise)(
      "classes", o.classes)("label", o.label)("layer_norm", o.layer_norm);
}
void fields(gan::CycleganOptions& o, Reader& f) {
  f("a", o.a)("b", o.b)("a_channels", o.a_channels)("b_channels", o.b_channels)(
      "filters", o.filters)("blocks", o.blocks)("reflect", o.reflect)(
      "patch_layers", o.patch_layers)("adversarial_weight", o.adversarial_weight)(
      "cycle_weight", o.cycle_weight)("identity_weight", o.identity_weight)(
      "pool_size", o.pool.size)("use_pool", o.use_pool)(
      "generator_optimizer", o.generator_optimizer)("discriminator_optimizer",
                                                    o.discriminator_optimizer);
void optimizers(gan::GanOptions& o, Reader& f) {
  f("generator_optimizer", o.generator_optimizer)("discriminator_optimizer",
                                                  o.discriminator_optimizer);
}
void fields(gan::AcganOptions& o, Reader& f) {
  fields(o.networks, f);
  f("generator_weight", o.generator_weight)("discriminator_weight", o.discriminator_weight);
  optimizers(o.gan, f);
}
void fields(gan::InfoganOptions& o, Reader& f) {
  fields(o.networks, f);
  f("categories", o.code.categories)("continuous", o.code.continuous)(
      "category_weight", o.code.category_weight)("continuous_weight", o.code.continuous_weight);
  optimizers(o.gan, f);
void fields(AcousticOptions& o, Reader& f) {
  f("labels", o.labels)("filters", o.filters)("strides", o.strides)("kernel", o.kernel)(
      "dropout", o.dropout)("batch_norm_momentum", o.batch_norm_momentum)("separator", o.separator)(
      "zero_infinity", o.zero_infinity)("audio", o.audio)("label", o.label)("optimizer",
                                                                            o.optimizer);
}
void fields(LenetOptions& o, Reader& f) {
  f("classes", o.classes)("hidden", o.hidden)("dropout", o.dropout)("optimizer", o.optimizer);
}
void fields(MlpOptions& o, Reader& f) {
  f("feature", o.feature)("hidden", o.hidden)("classes", o.classes)("dropout", o.dropout)(
      "optimizer", o.optimizer)("head", o.head);
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
void fields(TransformerOptions& o, Reader& f) {
  f("classes", o.classes)("vocabulary", o.vocabulary)("depth", o.depth)("width", o.width)(
      "heads", o.heads)("hidden", o.hidden)("learned_positions", o.learned_positions)(
      "longest", o.longest)("pool_mean", o.pool_mean)("dropout", o.dropout)("feature", o.feature)(
      "lengths", o.lengths)("optimizer", o.optimizer);
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

/// Makers of a T by name.
template <class T>
using Named = std::map<std::string, std::function<T(const std::string& what, const Json&)>>;

template <class T, class Options>
auto from_fields(T (*function)(Options)) {
  return [=](const std::string& what, const Json& json) {
    std::remove_cvref_t<Options> options;
    Reader reader(what, json);
    fields(options, reader);
    reader.finish();
    return function(options);
  };
}

/// What an object with a name beside its fields describes.
template <class T>
T take_named(const Named<T>& known, const std::string& what, std::string_view field,
             std::string_view kind, const Json& json) {
  std::vector<std::string> names;
  for (const auto& [name, make] : known) names.push_back(name);
  auto title = json.is_object() ? json.find("name") : json.end();
  bool named = json.is_object() && title != json.end() && title->is_string()
               && known.contains(title->get<std::string>());
  require(named, what, ": `", field, "` must be an object with the name of ", kind, " (",
          join(names, ", "), "), got ", json.dump());
  Json options = json;
  options.erase("name");
  auto which = title->get<std::string>();
  return known.at(which)(concat(what, ": ", which), options);
}

void Reader::take(const char* name, const Json& json, Optimizer& value) {
  static const Named<Optimizer> optimizers{{"adagrad", from_fields(adagrad)},
                                           {"adam", from_fields(adam)},
                                           {"adamw", from_fields(adamw)},
                                           {"ftrl", from_fields(ftrl)},
                                           {"momentum", from_fields(momentum)},
                                           {"rmsprop", from_fields(rmsprop)},
                                           {"sgd", from_fields(sgd)}};
  value = take_named(optimizers, what_, name, "an optimizer", json);
}

Head multi(HeadList list) { return multi_head(std::move(list.heads)); }

void Reader::take(const char* name, const Json& json, Head& value) {
  static const Named<Head> heads{{"binary", from_fields(binary_head)},
                                 {"multi", from_fields(multi)},
                                 {"multi_class", from_fields(multi_class_head)},
                                 {"multi_label", from_fields(multi_label_head)},
                                 {"poisson", from_fields(poisson_head)},
                                 {"regression", from_fields(regression_head)}};
  value = take_named(heads, what_, name, "a head", json);
}

using Make = std::function<ModelFn(const std::string& name, const Json&)>;

template <class Options>
Make maker(ModelFn (*function)(Options), Options defaults) {
  return [=](const std::string& name, const Json& json) {
    return call(function, defaults, name, json);
  };
}

/// A GAN of DCGAN's networks.
template <class Networks>
Make gan_maker(gan::GanOptions (*function)(Networks), gan::DcganOptions networks = {}) {
  return [=](const std::string& name, const Json& json) {
    Reader reader(name, json);
    gan::DcganOptions own = networks;
    fields(own, reader);
    gan::GanOptions options = function(own);
    reader("generator_optimizer", options.generator_optimizer)("discriminator_optimizer",
                                                               options.discriminator_optimizer);
    reader.finish();
    return gan::gan(std::move(options));
  };
}

const std::map<std::string, Make, std::less<>>& makers() {
  static const std::map<std::string, Make, std::less<>> table{
      {"dnn", maker<DnnOptions>(dnn, {})},
      {"cgan", gan_maker(gan::conditional_gan, {.classes = 10})},
      {"cyclegan", maker<gan::CycleganOptions>(gan::cyclegan, {})},
      {"dcgan", gan_maker(gan::dcgan)},
      {"acgan", maker<gan::AcganOptions>(gan::acgan, {})},
      {"infogan", maker<gan::InfoganOptions>(gan::infogan, {})},
      {"acoustic", maker<AcousticOptions>(acoustic, {})},
      {"lenet", maker<LenetOptions>(lenet, {})},
      {"linear", maker<LinearOptions>(linear, {})},
      {"mlp", maker<MlpOptions>(mlp, {})},
      {"mobilenet_v2", maker<MobilenetOptions>(mobilenet_v2, {})},
      {"resnest50", maker<ResnestOptions>(resnest50, {})},
      {"resnet18", maker<ResnetOptions>(resnet18, {})},
      {"resnet34", maker<ResnetOptions>(resnet34, {})},
      {"resnet50", maker<ResnetOptions>(resnet50, {.classes = 1000})},
      {"transformer", maker<TransformerOptions>(transformer, {})},
      {"swin_tiny", maker<SwinOptions>(swin_tiny, {})},
      {"unet", maker<UnetOptions>(unet, {})},
      {"unet3d", maker<UnetOptions>(unet3d, {.depth = 3, .filters = 32})},
      {"unet_resnest", maker<UnetResnestOptions>(unet_resnest, {})},
      {"unet_swin", maker<UnetSwinOptions>(unet_swin, {})},
      {"vgg11", maker<VggOptions>(vgg, {.layers = 11})},
      {"vgg13", maker<VggOptions>(vgg, {.layers = 13})},
      {"vgg16", maker<VggOptions>(vgg, {.layers = 16})},
      {"vgg19", maker<VggOptions>(vgg, {.layers = 19})},
      {"wide_deep", maker<WideDeepOptions>(wide_deep, {})}};
      {"wgan_gp", gan_maker(gan::wgan_gp)}};
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
