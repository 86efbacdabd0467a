#include "belfry/models/by_name/reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace belfry::models::by_name {

// ---- the fields of optimizers, schedules and heads

void fields(SgdOptions& o, Reader& f) {
  f("learning_rate", o.learning_rate)("weight_decay", o.weight_decay)("decay_min_rank",
                                                                      o.decay_min_rank);
}
void fields(MomentumOptions& o, Reader& f) {
  f("learning_rate", o.learning_rate)("momentum", o.momentum)("nesterov", o.nesterov)(
      "weight_decay", o.weight_decay)("decay_min_rank", o.decay_min_rank)("lazy", o.lazy);
}
void fields(AdamOptions& o, Reader& f) {
  f("learning_rate", o.learning_rate)("beta1", o.beta1)("beta2", o.beta2)("epsilon", o.epsilon)(
      "lazy", o.lazy);
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
      "initial_accumulator", o.initial_accumulator)("l1", o.l1)("l2", o.l2)("lazy", o.lazy);
}

namespace {

// The fields that all heads have.
void fields_of_a_head(auto& o, Reader& f) {
  const std::map<std::string, Reduction> reductions = [] {
    std::map<std::string, Reduction> by_name;
    for (Reduction r : {Reduction::sum, Reduction::mean, Reduction::weighted_mean,
                        Reduction::mean_by_nonzero_weights})
      by_name[to_string(r)] = r;
    return by_name;
  }();
  f("label", o.label)("weight", o.weight)("reduction", o.reduction, reductions);
}

}  // namespace

void fields(BinaryHeadOptions& o, Reader& f) {
  fields_of_a_head(o, f);
  f("label_smoothing", o.label_smoothing)("threshold", o.threshold)("thresholds", o.thresholds);
}
void fields(MultiClassHeadOptions& o, Reader& f) {
  fields_of_a_head(o, f);
  f("classes", o.classes)("label_smoothing", o.label_smoothing);
}
void fields(MultiLabelHeadOptions& o, Reader& f) {
  fields_of_a_head(o, f);
  f("classes", o.classes)("label_smoothing", o.label_smoothing)("threshold", o.threshold)(
      "thresholds", o.thresholds);
}
void fields(RegressionHeadOptions& o, Reader& f) {
  fields_of_a_head(o, f);
  f("units", o.units);
}
void fields(PoissonHeadOptions& o, Reader& f) { fields_of_a_head(o, f); }
void fields(NamedHead& o, Reader& f) { f("name", o.name)("head", o.head)("weight", o.weight); }

void fields(ExponentialDecayOptions& o, Reader& f) {
  f("initial", o.initial)("decay_steps", o.decay_steps)("decay_rate", o.decay_rate)("staircase",
                                                                                    o.staircase);
}
void fields(PiecewiseConstantOptions& o, Reader& f) {
  f("boundaries", o.boundaries)("values", o.values);
}
void fields(PolynomialDecayOptions& o, Reader& f) {
  f("initial", o.initial)("decay_steps", o.decay_steps)("end", o.end)("power", o.power)("cycle",
                                                                                        o.cycle);
}
void fields(CosineDecayOptions& o, Reader& f) {
  f("initial", o.initial)("decay_steps", o.decay_steps)("alpha", o.alpha);
}

/// warmup(), whose first argument is a field too.
struct WarmedUp {
  Schedule after = 0;
  WarmupOptions warmup = {};
};
void fields(WarmedUp& o, Reader& f) {
  f("after", o.after)("steps", o.warmup.steps)("from", o.warmup.from);
}

struct HeadList {
  std::vector<NamedHead> heads = {};
};
void fields(HeadList& o, Reader& f) { f("heads", o.heads); }

namespace {

/// Makers of a T by name.
template <class T>
using Named = std::map<std::string, std::function<T(const std::string& what, const Json&)>>;

/// The T that an object with a name beside its fields describes.
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

Schedule warmed_up(WarmedUp o) { return warmup(std::move(o.after), o.warmup); }

Head multi(HeadList list) { return multi_head(std::move(list.heads)); }

}  // namespace

Reader::Reader(std::string what, const Json& object) : what_(std::move(what)), object_(object) {
  require(object.is_object(), what_, ": expected a JSON object, got ", object.dump());
}

const Json* Reader::find(const char* name) {
  known_.emplace_back(name);
  auto found = object_.find(name);
  return found == object_.end() ? nullptr : &*found;
}

void Reader::finish() const {
  for (const auto& [name, value] : object_.items())
    require(std::find(known_.begin(), known_.end(), name) != known_.end(), what_,
            ": there is no field `", name, "`; there are ", join(known_, ", "));
}

void Reader::check(bool good, const char* name, std::string_view rule, const Json& json) const {
  require(good, what_, ": `", name, "` ", rule, " ", json.dump());
}

std::string Reader::word(const Json& json) {
  return json.is_string() ? json.get<std::string>() : std::string();
}

std::vector<const Json*> Reader::elements(const char* name, const Json& json) const {
  check(json.is_array(), name, "must be a list, got", json);
  std::vector<const Json*> out;
  for (const Json& element : json) out.push_back(&element);
  return out;
}

namespace {

template <class T>
bool holds(const Json& json) {
  if constexpr (std::is_same_v<T, bool>) return json.is_boolean();
  if constexpr (std::is_floating_point_v<T>) return json.is_number();
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    if (json.is_number_unsigned()) return std::in_range<T>(json.get<std::uint64_t>());
    return json.is_number_integer() && std::in_range<T>(json.get<std::int64_t>());
  }
}

}  // namespace

template <class T>
requires std::is_arithmetic_v<T>
void Reader::take(const char* name, const Json& json, T& value) {
  check(holds<T>(json), name, "cannot be", json);
  value = json.get<T>();
}
template void Reader::take(const char*, const Json&, bool&);
template void Reader::take(const char*, const Json&, int&);
template void Reader::take(const char*, const Json&, std::int64_t&);
template void Reader::take(const char*, const Json&, std::uint64_t&);
template void Reader::take(const char*, const Json&, float&);
template void Reader::take(const char*, const Json&, double&);

void Reader::take(const char* name, const Json& json, std::string& value) {
  check(json.is_string(), name, "cannot be", json);
  value = json.get<std::string>();
}

void Reader::take(const char* name, const Json& json, Schedule& value) {
  static const Named<Schedule> schedules{{"cosine_decay", maker(cosine_decay)},
                                         {"exponential_decay", maker(exponential_decay)},
                                         {"piecewise_constant", maker(piecewise_constant)},
                                         {"polynomial_decay", maker(polynomial_decay)},
                                         {"warmup", maker(warmed_up)}};
  if (json.is_object()) {
    value = take_named(schedules, what_, name, "a schedule", json);
    return;
  }
  double rate = 0;
  take(name, json, rate);
  value = rate;
}

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
