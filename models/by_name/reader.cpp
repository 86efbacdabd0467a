#include "belfry/models/by_name/reader.h"

namespace belfry::models::by_name {

// ---- the fields of optimizers and heads

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
void fields(LambOptions& o, Reader& f) {
  f("learning_rate", o.learning_rate)("beta1", o.beta1)("beta2", o.beta2)("epsilon", o.epsilon)(
      "weight_decay", o.weight_decay)("decay_min_rank", o.decay_min_rank);
}
void fields(RmspropOptions& o, Reader& f) {
  f("learning_rate", o.learning_rate)("decay", o.decay)("momentum", o.momentum)(
      "epsilon", o.epsilon)("centered", o.centered);
}
void fields(AdagradOptions& o, Reader& f) {
  f("learning_rate", o.learning_rate)("initial_accumulator", o.initial_accumulator);
}
void fields(FtrlOptions& o, Reader& f) {
  f("learning_rate", o.learning_rate)("learning_rate_power", o.learning_rate_power)(
      "initial_accumulator", o.initial_accumulator)("l1", o.l1)("l2", o.l2);
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

namespace {

/// Makers of a T by name.
template <class T>
using Named = std::map<std::string, std::function<T(const std::string& what, const Json&)>>;

/// What an object with a name beside its fields describes.
template <class T>
T take_named(const Named<T>& known, const std::string& what, std::string_view field,
             std::string_view kind, const Json& json) {
  auto title = json.is_object() ? json.find("name") : json.end();
  bool named = json.is_object() && title != json.end() && title->is_string()
               && known.contains(title->get<std::string>());
  require(named, what, ": `", field, "` must be an object with the name of ", kind, " (",
          keys(known), "), got ", json.dump());
  Json options = json;
  options.erase("name");
  auto which = title->get<std::string>();
  return known.at(which)(concat(what, ": ", which), options);
}

Head multi(HeadList list) { return multi_head(std::move(list.heads)); }

}  // namespace

void Reader::take(const char* name, const Json& json, Optimizer& value) {
  static const Named<Optimizer> optimizers{
      {"adagrad", maker(adagrad)}, {"adam", maker(adam)}, {"adamw", maker(adamw)},
      {"ftrl", maker(ftrl)},       {"lamb", maker(lamb)}, {"momentum", maker(momentum)},
      {"rmsprop", maker(rmsprop)}, {"sgd", maker(sgd)}};
  value = take_named(optimizers, what_, name, "an optimizer", json);
}

void Reader::take(const char* name, const Json& json, Head& value) {
  static const Named<Head> heads{
      {"binary", maker(binary_head)},           {"multi", maker(multi)},
      {"multi_class", maker(multi_class_head)}, {"multi_label", maker(multi_label_head)},
      {"poisson", maker(poisson_head)},         {"regression", maker(regression_head)}};
  value = take_named(heads, what_, name, "a head", json);
}

}  // namespace belfry::models::by_name
