#include "belfry/framework/train/run_config.h"

#include <algorithm>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/json.h"
#include "belfry/framework/base/log.h"

namespace belfry {

// The forms in JSON of what is neither plain nor has fields.

static void read_field(const JsonValue& json, std::optional<Every>& every) {
  std::int64_t count = 0;
  if (json.is_null()) {
    every = std::nullopt;
  } else if (auto steps = json.only_member("steps")) {
    every = Steps(steps->whole());
  } else if (auto seconds = json.only_member("seconds")) {
    read_value(*seconds, count, {1, std::numeric_limits<std::int64_t>::max() / 1000});
    every = std::chrono::seconds(count);
  } else if (auto milliseconds = json.only_member("milliseconds")) {
    every = std::chrono::milliseconds(milliseconds->whole());
  } else {
    json.refuse("{\"steps\": n}, {\"seconds\": n}, {\"milliseconds\": n} or null");
  }
}

static void write_field(JsonWriter& to, const std::optional<Every>& every) {
  if (!every) return to.add("null");
  if (const auto* steps = std::get_if<Steps>(&*every))
    return to.object([&] { to("steps", steps->count); });
  auto ms = std::get<std::chrono::milliseconds>(*every).count();
  to.object([&] { ms % 1000 == 0 ? to("seconds", ms / 1000) : to("milliseconds", ms); });
}

static void read_field(const JsonValue& json, Recompute& r) {
  auto only = json.only_member("only");
  bool automatic = json.is_text() && json.words() == "automatic";
  bool off = json.is_text() && json.words() == "off";
  if (!only && !automatic && !off && !json.is_list())
    json.refuse("automatic, off, a list of scopes or {\"only\": [scopes]}");
  r = {.automatic = !only && !off};
  if (only || json.is_list()) read_value(only.value_or(json), r.scopes);
}

static void write_field(JsonWriter& to, const Recompute& r) {
  if (r.scopes.empty()) return to.write(r.automatic ? "automatic" : "off");
  if (r.automatic) return to.list(r.scopes);
  to.object([&] { to("only", r.scopes); });
}

static void read_field(const JsonValue& json, MemoryLimit& limit) {
  limit = json.is_fraction() ? MemoryLimit::of_device(json.number()) : Bytes(json.whole());
}

// Without a point, a fraction of 1 would be read as a byte.
static void write_field(JsonWriter& to, const MemoryLimit& limit) {
  if (limit.fraction == 0) return to.write(limit.bytes);
  limit.fraction == 1 ? to.add("1.0") : to.write(limit.fraction);
}

RunConfig run_config_from_json(std::string_view text, RunConfig defaults) {
  JsonFields json(JsonValue::parse(text, "config"));
  RunConfig::fields(defaults, json);
  bool saves = json.has("save_checkpoint");
  if (auto steps = json.member("save_checkpoint_steps")) {
    require(!saves,
            "config: save_checkpoint and save_checkpoint_steps are two forms of one cadence; keep "
            "one");
    defaults.save_checkpoint = Steps(steps->whole());
  }
  json.finish();
  validate(defaults);
  return defaults;
}

std::string to_json(const RunConfig& config) {
  return json_of(config, JsonWriter::BadText::replace);
}

MemoryLimit MemoryLimit::of_device(double fraction) {
  require(fraction > 0 && fraction <= 1,
          "memory_limit must be a fraction in (0, 1] of the device's memory, got ", fraction);
  MemoryLimit limit;
  limit.fraction = fraction;
  return limit;
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
  check_limits(c, "RunConfig: ");
  if (c.save_checkpoint)
    require(is_positive(*c.save_checkpoint), "RunConfig: save_checkpoint must be above 0, got ",
            *c.save_checkpoint, "; std::nullopt turns saving off");
  validate(c.keep_checkpoints, "RunConfig: keep_checkpoints");
  const MemoryLimit& limit = c.memory_limit;
  require(limit.bytes.count >= 0, "RunConfig: memory_limit must be at least 0, got ",
          limit.bytes.count);
  require(limit.fraction >= 0 && limit.fraction <= 1,
          "RunConfig: memory_limit must be a fraction in (0, 1] of the device's memory, got ",
          limit.fraction);
}

void validate(const KeepRules& rules, std::string_view name) {
  check_limits(rules, concat(name, "."));
  require(!rules.every || is_positive(*rules.every), name, ".every must be above 0, got ",
          rules.every.value_or(Steps(0)), "; std::nullopt turns it off");
}

bool stays(const KeepRules& rules, const WrittenAt& older, const WrittenAt& next,
           const std::optional<WrittenAt>& last) {
  if (rules.multiples_of.count > 0 && older.step % rules.multiples_of.count == 0) return true;
  if (!rules.every) return false;
  if (const auto* steps = std::get_if<Steps>(&*rules.every)) {
    auto span = [n = steps->count](std::int64_t step) { return step / n + (step % n != 0); };
    return span(older.step) != span(next.step);
  }
  return !last || older.time - last->time >= std::get<std::chrono::milliseconds>(*rules.every);
}

}  // namespace belfry
