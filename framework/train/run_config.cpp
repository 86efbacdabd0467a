#include "belfry/framework/train/run_config.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"

namespace belfry {
namespace {

using Json = nlohmann::json;

template <class T>
constexpr T largest = std::numeric_limits<T>::max();

std::int64_t whole_number(const Json& value, std::string_view key) {
  bool fits =
      value.is_number_integer()
      && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= largest<std::int64_t>);
  require(fits, "config: `", key, "` must be a whole number, got ", value.dump());
  return value.get<std::int64_t>();
}

int small_number(const Json& value, std::string_view key) {
  std::int64_t number = whole_number(value, key);
  require(number >= 0 && number <= largest<int>, "config: `", key, "` must be in 0..", largest<int>,
          ", got ", number);
  return static_cast<int>(number);
}

std::uint64_t seed(const Json& value, std::string_view key) {
  require(value.is_number_unsigned(), "config: `", key,
          "` must be a whole number of at least 0, got ", value.dump());
  return value.get<std::uint64_t>();
}

bool truth(const Json& value, std::string_view key) {
  require(value.is_boolean(), "config: `", key, "` must be true or false, got ", value.dump());
  return value.get<bool>();
}

std::vector<std::string> names(const Json& value, std::string_view key) {
  bool good = value.is_array();
  if (good)
    for (const Json& v : value) good = good && v.is_string();
  require(good, "config: `", key, "` must be a list of names, got ", value.dump());
  return value.get<std::vector<std::string>>();
}

std::optional<Every> cadence(const Json& value, std::string_view key) {
  if (value.is_null()) return std::nullopt;
  bool one = value.is_object() && value.size() == 1;
  if (one && value.contains("steps"))
    return Steps(whole_number(value["steps"], concat(key, ".steps")));
  if (one && value.contains("seconds")) {
    std::int64_t seconds = whole_number(value["seconds"], concat(key, ".seconds"));
    constexpr std::int64_t most = largest<std::int64_t> / 1000;
    require(seconds >= -most && seconds <= most, "config: `", key, ".seconds` must be in 1..", most,
            ", got ", seconds);
    return std::chrono::seconds(seconds);
  }
  if (one && value.contains("milliseconds"))
    return std::chrono::milliseconds(
        whole_number(value["milliseconds"], concat(key, ".milliseconds")));
  fail("config: `", key,
       "` must be {\"steps\": n}, {\"seconds\": n}, {\"milliseconds\": n} or null, got ",
       value.dump());
}

Json cadence_json(const std::optional<Every>& every) {
  if (!every) return nullptr;
  if (const auto* steps = std::get_if<Steps>(&*every)) return {{"steps", steps->count}};
  auto ms = std::get<std::chrono::milliseconds>(*every).count();
  if (ms % 1000 != 0) return {{"milliseconds", ms}};
  return {{"seconds", ms / 1000}};
}

void set_keep_rules(KeepRules& rules, const Json& value, std::string_view key) {
  require(value.is_object(), "config: `", key,
          "` must be {\"newest\": n, \"every\": a cadence, \"multiples_of\": n}, got ",
          value.dump());
  for (const auto& [name, part] : value.items()) {
    std::string whole = concat(key, ".", name);
    if (name == "newest") {
      rules.newest = small_number(part, whole);
    } else if (name == "every") {
      rules.every = cadence(part, whole);
    } else if (name == "multiples_of") {
      rules.multiples_of = Steps(whole_number(part, whole));
    } else {
      fail("config: unknown key `", whole, "`; known are every, multiples_of, newest");
    }
  }
}

template <class Enum>
Enum one_of(const Json& value, std::string_view key, std::initializer_list<Enum> all) {
  std::vector<std::string> names;
  for (Enum e : all) {
    names.push_back(to_string(e));
    if (value.is_string() && value.get<std::string>() == names.back()) return e;
  }
  fail("config: `", key, "` must be one of ", join(names, ", "), ", got ", value.dump());
}

Recompute recompute(const Json& value, std::string_view key) {
  if (value == "automatic") return {};
  if (value == "off") return {.automatic = false};
  if (value.is_array()) return {.scopes = names(value, key)};
  require(value.is_object() && value.size() == 1 && value.contains("only"), "config: `", key,
          "` must be automatic, off, a list of scopes or {\"only\": [scopes]}, got ", value.dump());
  return {.automatic = false, .scopes = names(value["only"], key)};
}

Json recompute_json(const Recompute& r) {
  if (r.scopes.empty()) return r.automatic ? "automatic" : "off";
  return r.automatic ? Json(r.scopes) : Json{{"only", r.scopes}};
}

MemoryLimit memory_limit(const Json& value, std::string_view key) {
  if (!value.is_number_float()) return Bytes(whole_number(value, key));
  return MemoryLimit::of_device(value.get<double>());
}

Json memory_limit_json(const MemoryLimit& limit) {
  return limit.share > 0 ? Json(limit.share) : Json(limit.bytes.count);
}

using Setter = std::function<void(RunConfig&, const Json&, std::string_view key)>;

const std::map<std::string, Setter, std::less<>>& setters() {
  static const std::map<std::string, Setter, std::less<>> table{
      {"devices", [](auto& c, auto& v, auto k) { c.devices = names(v, k); }},
      {"split", [](auto& c, auto& v, auto k) { c.split = auto_split(small_number(v, k)); }},
      {"batch",
       [](auto& c, auto& v, auto k) {
         c.batch =
             one_of(v, k, {BatchPolicy::global, BatchPolicy::per_worker, BatchPolicy::per_tower});
       }},
      {"variables",
       [](auto& c, auto& v, auto k) {
         c.variables = one_of(v, k, {VariablePlacement::mirrored, VariablePlacement::central});
       }},
      {"reduction",
       [](auto& c, auto& v, auto k) {
         c.reduction = one_of(
             v, k, {CrossDevice::shared, CrossDevice::to_one_device, CrossDevice::hierarchical});
       }},
      {"bucket", [](auto& c, auto& v, auto k) { c.bucket = Bytes(whole_number(v, k)); }},
      {"reduction_timeout",
       [](auto& c, auto& v, auto k) {
         c.reduction_timeout = std::chrono::seconds(whole_number(v, k));
       }},
      {"save_checkpoint", [](auto& c, auto& v, auto k) { c.save_checkpoint = cadence(v, k); }},
      {"save_checkpoint_steps",
       [](auto& c, auto& v, auto k) { c.save_checkpoint = Steps(whole_number(v, k)); }},
      {"save_in_background", [](auto& c, auto& v, auto k) { c.save_in_background = truth(v, k); }},
      {"keep_checkpoints",
       [](auto& c, auto& v, auto k) { set_keep_rules(c.keep_checkpoints, v, k); }},
      {"log_step_count",
       [](auto& c, auto& v, auto k) { c.log_step_count = Steps(whole_number(v, k)); }},
      {"precision",
       [](auto& c, auto& v, auto k) {
         c.precision = one_of(v, k, {Precision::f32, Precision::bf16, Precision::f16});
       }},
      {"tf32", [](auto& c, auto& v, auto k) { c.tf32 = truth(v, k); }},
      {"exact_convolutions", [](auto& c, auto& v, auto k) { c.exact_convolutions = truth(v, k); }},
      {"capture_steps", [](auto& c, auto& v, auto k) { c.capture_steps = truth(v, k); }},
      {"seed", [](auto& c, auto& v, auto k) { c.seed = seed(v, k); }},
      {"threads", [](auto& c, auto& v, auto k) { c.threads = small_number(v, k); }},
      {"memory_limit", [](auto& c, auto& v, auto k) { c.memory_limit = memory_limit(v, k); }},
      {"plans", [](auto& c, auto& v, auto k) { c.plans = small_number(v, k); }},
      {"recompute", [](auto& c, auto& v, auto k) { c.recompute = recompute(v, k); }},
      {"stop_on_signals", [](auto& c, auto& v, auto k) { c.stop_on_signals = truth(v, k); }},
      {"fail_on_non_finite", [](auto& c, auto& v, auto k) { c.fail_on_non_finite = truth(v, k); }},
      {"check_numerics", [](auto& c, auto& v, auto k) { c.check_numerics = truth(v, k); }},
  };
  return table;
}

}  // namespace

std::string to_string(Precision precision) {
  switch (precision) {
    case Precision::f32:
      return "f32";
    case Precision::bf16:
      return "bf16";
    case Precision::f16:
      return "f16";
  }
  fail("internal error in Belfry: unknown precision");
}

RunConfig run_config_from_json(std::string_view text, RunConfig defaults) {
  Json json = Json::parse(text, nullptr, false);
  require(json.is_object(), "config: expected a JSON object of RunConfig fields");
  for (const auto& [key, value] : json.items()) {
    auto setter = setters().find(key);
    if (setter == setters().end()) {
      std::vector<std::string> known;
      for (const auto& [name, unused] : setters()) known.push_back(name);
      fail("config: unknown key `", key, "`; known are ", join(known, ", "));
    }
    setter->second(defaults, value, key);
  }
  require(
      !(json.contains("save_checkpoint_steps") && json.contains("save_checkpoint")),
      "config: save_checkpoint and save_checkpoint_steps are two forms of one cadence; keep one");
  validate(defaults);
  return defaults;
}

MemoryLimit MemoryLimit::of_device(double share) {
  require(share > 0 && share <= 1,
          "memory_limit must be a share in (0, 1] of the device's memory, got ", share);
  MemoryLimit limit;
  limit.share = share;
  return limit;
}

std::string to_json(const RunConfig& c) {
  return Json{{"devices", c.devices},
              {"split", c.split.slots},
              {"batch", to_string(c.batch)},
              {"variables", to_string(c.variables)},
              {"reduction", to_string(c.reduction)},
              {"bucket", c.bucket.count},
              {"reduction_timeout", c.reduction_timeout.count()},
              {"save_checkpoint", cadence_json(c.save_checkpoint)},
              {"save_in_background", c.save_in_background},
              {"keep_checkpoints",
               {{"newest", c.keep_checkpoints.newest},
                {"every", cadence_json(c.keep_checkpoints.every)},
                {"multiples_of", c.keep_checkpoints.multiples_of.count}}},
              {"log_step_count", c.log_step_count.count},
              {"seed", c.seed},
              {"precision", to_string(c.precision)},
              {"tf32", c.tf32},
              {"exact_convolutions", c.exact_convolutions},
              {"capture_steps", c.capture_steps},
              {"threads", c.threads},
              {"memory_limit", memory_limit_json(c.memory_limit)},
              {"plans", c.plans},
              {"recompute", recompute_json(c.recompute)},
              {"stop_on_signals", c.stop_on_signals},
              {"fail_on_non_finite", c.fail_on_non_finite},
              {"check_numerics", c.check_numerics}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> all_gpus_or_cpu() {
  std::vector<std::string> kinds = device_kinds();
  if (std::find(kinds.begin(), kinds.end(), "cuda") == kinds.end()) return {"cpu"};
  DevicesPresent gpus = devices_present("cuda");
  if (gpus.count == 0) {
    log_info("using the CPU: CUDA finds no GPU: ", gpus.why_none);
    return {"cpu"};
  }
  std::vector<std::string> names;
  for (int i = 0; i < gpus.count; ++i) names.push_back(concat("cuda:", i));
  return names;
}

void validate(const RunConfig& c) {
  require(!c.devices.empty(), "RunConfig: devices is empty; name one, for example cpu");
  require(c.split.slots >= 0, "RunConfig: split must be into at least 1 slot, got ", c.split.slots);
  if (c.save_checkpoint)
    require(is_positive(*c.save_checkpoint), "RunConfig: save_checkpoint must be above 0, got ",
            *c.save_checkpoint, "; std::nullopt turns saving off");
  validate(c.keep_checkpoints, "RunConfig: keep_checkpoints");
  require(c.log_step_count.count >= 0, "RunConfig: log_step_count must be at least 0, got ",
          c.log_step_count.count);
  require(c.threads >= 0, "RunConfig: threads must be at least 0, got ", c.threads);
  require(c.bucket.count > 0, "RunConfig: bucket must be above 0 bytes, got ", c.bucket.count);
  require(c.reduction_timeout.count() > 0, "RunConfig: reduction_timeout must be above 0 s, got ",
          c.reduction_timeout.count());
  const MemoryLimit& limit = c.memory_limit;
  require(limit.bytes.count >= 0, "RunConfig: memory_limit must be at least 0, got ",
          limit.bytes.count);
  require(limit.share >= 0 && limit.share <= 1,
          "RunConfig: memory_limit must be a share in (0, 1] of the device's memory, got ",
          limit.share);
  require(c.plans >= 1, "RunConfig: plans must be at least 1, got ", c.plans);
}

}  // namespace belfry
