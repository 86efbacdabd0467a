#include "belfry/models/by_name/maker.h"

#include <vector>

namespace belfry::models::by_name {
namespace {

/// warmup(), whose first argument is a field too.
struct WarmedUp {
  Schedule after = 0;
  WarmupOptions warmup = {};
  static void fields(auto& o, auto&& field) {
    field("after", o.after);
    WarmupOptions::fields(o.warmup, field);
  }
};

struct HeadList {
  std::vector<NamedHead> heads = {};
  BELFRY_FIELDS(heads)
};

Schedule warmed_up(WarmedUp o) { return warmup(std::move(o.after), o.warmup); }

Head multi(HeadList list) { return multi_head(std::move(list.heads)); }

/// Makers of a T by name.
template <class T>
using Named = std::map<std::string, std::function<T(const JsonValue&)>, std::less<>>;

/// The T that an object with a name beside its fields describes.
template <class T>
T read_named(const Named<T>& known, std::string_view kind, const JsonValue& json) {
  auto name = json.member("name");
  auto found = name && name->is_text() ? known.find(name->words()) : known.end();
  if (found == known.end()) {
    std::vector<std::string> all;
    for (const auto& [title, make] : known) all.push_back(title);
    json.refuse(concat("an object with the name of ", kind, " (", join(all, ", "), ")"));
  }
  return found->second(json.without("name").titled(concat(json.title(), ": ", found->first)));
}

}  // namespace
}  // namespace belfry::models::by_name

namespace belfry {

using models::by_name::maker;

void read_field(const JsonValue& json, Schedule& value) {
  static const models::by_name::Named<Schedule> schedules{
      {"cosine_decay", maker(cosine_decay)},
      {"one_cycle", maker(one_cycle)},
      {"range_test", maker(range_test)},
      {"exponential_decay", maker(exponential_decay)},
      {"piecewise_constant", maker(piecewise_constant)},
      {"polynomial_decay", maker(polynomial_decay)},
      {"warmup", maker(models::by_name::warmed_up)}};
  value =
      json.is_object() ? models::by_name::read_named(schedules, "a schedule", json) : json.number();
}

void read_field(const JsonValue& json, Optimizer& value) {
  static const models::by_name::Named<Optimizer> optimizers{
      {"adagrad", maker(adagrad)}, {"adam", maker(adam)}, {"adamw", maker(adamw)},
      {"ftrl", maker(ftrl)},       {"lamb", maker(lamb)}, {"momentum", maker(momentum)},
      {"rmsprop", maker(rmsprop)}, {"sgd", maker(sgd)}};
  value = models::by_name::read_named(optimizers, "an optimizer", json);
}

void models::read_field(const JsonValue& json, Head& value) {
  static const by_name::Named<Head> heads{
      {"binary", maker(binary_head)},           {"multi", maker(by_name::multi)},
      {"multi_class", maker(multi_class_head)}, {"multi_label", maker(multi_label_head)},
      {"poisson", maker(poisson_head)},         {"regression", maker(regression_head)}};
  value = by_name::read_named(heads, "a head", json);
}

}  // namespace belfry
