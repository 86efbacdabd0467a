#include "common/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace belfry::examples {
namespace {

constexpr std::int64_t most_examples = 1024;  // of an automatic batch

// The options given on the command line; those not given stay unset and leave room for the file.
struct Given {
  std::optional<std::string> config, data_dir, model_dir, precision, batch_size;
  std::optional<std::int64_t> max_steps, save_checkpoint_steps;
  std::optional<std::uint64_t> seed;
  std::optional<int> threads;
  std::optional<std::vector<std::string>> devices;
  bool plan = false, summary = false;
  std::map<std::string, std::string> own;
};

// --data-dir=a-b as --data_dir=a-b.
std::string with_underscores(std::string argument) {
  if (!argument.starts_with("--")) return argument;
  std::size_t end = std::min(argument.find('='), argument.size());
  std::replace(argument.begin() + 2, argument.begin() + end, '-', '_');
  return argument;
}

void declare(CLI::App& app, Given& given, const Options& defaults) {
  if (!defaults.data.empty())
    app.add_option("--data_dir", given.data_dir,
                   concat("Folder with ", defaults.data,
                          defaults.needs_data ? " [required]" : " [data that Belfry makes up]"));
  app.add_option("--model_dir", given.model_dir,
                 "Folder for checkpoints, from which training also goes on ["
                     + (defaults.model_dir.empty() ? "a new temporary one" : defaults.model_dir)
                     + "]");
  app.add_option("--max_steps", given.max_steps,
                 concat("Train up to this step [", defaults.max_steps, "]"));
  app.add_option("--batch_size", given.batch_size,
                 concat("Examples in a step, or auto: as many as the memory allows, up to ",
                        most_examples, " [", defaults.batch_size, "]"));
  app.add_option("--seed", given.seed,
                 concat("Of first values, shuffling and dropout [", defaults.run.seed, "]"));
  app.add_option("--threads", given.threads, "Threads of CPU kernels [one per core]");
  app.add_option("--save_checkpoint_steps", given.save_checkpoint_steps,
                 "Steps between checkpoints [one every 600 s]");
  app.add_option("--devices", given.devices,
                 concat("One tower for each [", join(defaults.run.devices, ","), "]"))
      ->delimiter(',');
  app.add_option(
      "--precision", given.precision,
      "Type that models compute in: f32, bf16 or f16 [" + to_string(defaults.run.precision) + "]");
  for (const auto& [name, option] : defaults.own)
    app.add_option_function<std::string>(
        "--" + name, [&given, key = name](const std::string& text) { given.own[key] = text; },
        concat(option.help, " [", option.value.empty() ? "none" : option.value, "]"));
  app.add_flag("--plan", given.plan, "Say what training would do, and do nothing");
  app.add_flag("--summary", given.summary,
               "Show the model's layers, parameters and work, and do nothing");
  app.add_option("--config", given.config,
                 "JSON file whose keys are these names and the fields of RunConfig; the command "
                 "line goes before it");
}

template <class T>
void move_out(nlohmann::json& json, const char* key, T& out) {
  if (!json.contains(key)) return;
  const nlohmann::json& value = json[key];
  if constexpr (std::is_same_v<T, std::string>) {
    require(value.is_string(), "config: `", key, "` must be a text, got ", value.dump());
  } else {
    require(value.is_number_integer(), "config: `", key, "` must be a whole number, got ",
            value.dump());
  }
  out = value.template get<T>();
  json.erase(key);
}

// Texts as they are, numbers and truth values as JSON writes them.
void move_out_own(nlohmann::json& json, const std::string& key, std::string& out) {
  if (!json.contains(key)) return;
  const nlohmann::json& value = json[key];
  require(value.is_primitive() && !value.is_null(), "config: `", key,
          "` must be a text or a number, got ", value.dump());
  out = value.is_string() ? value.get<std::string>() : value.dump();
  json.erase(key);
}

void apply_file(const std::string& path, Options& options) {
  std::ifstream file(path);
  require(file.good(), "config: cannot read ", path);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> known{"batch_size", "max_steps", "model_dir"};
  if (!options.data.empty()) known.insert(known.begin() + 1, "data_dir");
  for (const auto& [name, option] : options.own) known.push_back(name);
  with_context(concat("in ", path, "; ", join(known, ", "), " are known too"), [&] {
    auto json = nlohmann::json::parse(content, nullptr, false);
    require(json.is_object(), "config: expected a JSON object");
    if (!options.data.empty()) move_out(json, "data_dir", options.data_dir);
    move_out(json, "model_dir", options.model_dir);
    move_out(json, "max_steps", options.max_steps);
    if (json.value("batch_size", nlohmann::json()) == "auto") {
      options.fit_batch = json.erase("batch_size") > 0;
    } else {
      move_out(json, "batch_size", options.batch_size);
    }
    for (auto& [name, option] : options.own) move_out_own(json, name, option.value);
    options.run = run_config_from_json(json.dump(), options.run);
  });
}

void set_batch_size(const std::string& given, Options& options) {
  options.fit_batch = given == "auto";
  if (options.fit_batch) return;
  const char* end = given.data() + given.size();
  auto [stop, error] = std::from_chars(given.data(), end, options.batch_size);
  require(error == std::errc() && stop == end, "batch_size must be a whole number or auto, got `",
          given, "`");
}

void apply_command_line(const Given& given, Options& options) {
  auto set = [](const auto& from, auto& to) {
    if (from) to = *from;
  };
  set(given.data_dir, options.data_dir);
  set(given.model_dir, options.model_dir);
  set(given.max_steps, options.max_steps);
  if (given.batch_size) set_batch_size(*given.batch_size, options);
  set(given.seed, options.run.seed);
  set(given.threads, options.run.threads);
  set(given.devices, options.run.devices);
  if (given.precision)
    options.run =
        run_config_from_json(nlohmann::json{{"precision", *given.precision}}.dump(), options.run);
  for (const auto& [name, value] : given.own) options.own[name].value = value;
  options.plan = given.plan;
  options.summary = given.summary;
  if (given.save_checkpoint_steps)
    options.run.save_checkpoint = Steps(*given.save_checkpoint_steps);
}

// NaN and infinity have no place in JSON.
std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  if (value == std::trunc(value) && std::abs(value) < 1e15)
    return std::to_string(static_cast<long long>(value));
  return text(value);
}

void print(const Results& results) {
  if (results.empty()) return;
  std::vector<std::string> parts;
  for (const auto& [name, value] : results)
    parts.push_back("\"" + name + "\": " + json_number(value));
  std::printf("{%s}\n", join(parts, ", ").c_str());
}

// The number that an option of the example's own is.
template <class T>
T number_of(const Options& options, const std::string& name, const char* kind) {
  const std::string& value = options.words(name);
  T out{};
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
  require(error == std::errc() && end == value.data() + value.size(), name, " must be a ", kind,
          ", got `", value, "`");
  return out;
}

void find_batch(const std::function<Results(const Options&)>& body, Options& options) {
  require(find_workers()->count() == 1,
          "batch_size: auto is for one worker; find the size on one, and name it to all");
  Options search = options;
  search.plan = true;
  Results found = body(search);
  require(found.size() == 1, "batch_size: this program has no automatic one");
  options.batch_size = static_cast<std::int64_t>(found[0].second);
  options.fit_batch = false;
  require(options.batch_size > 0, "batch_size: not even one example fits into the memory");
}

}  // namespace

const std::string& Options::words(const std::string& name) const { return own.at(name).value; }
double Options::number(const std::string& name) const {
  return number_of<double>(*this, name, "number");
}
std::int64_t Options::whole_number(const std::string& name) const {
  return number_of<std::int64_t>(*this, name, "whole number");
}

std::optional<Options> parse(int argc, const char* const* argv, Options defaults) {
  CLI::App app(defaults.about, argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "");
  Given given;
  declare(app, given, defaults);
  // CLI11 takes arguments from the back.
  std::vector<std::string> arguments;
  for (int i = argc - 1; i > 0; --i) arguments.push_back(with_underscores(argv[i]));
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    fail("command line: ", error.what(), "; --help lists the options");
  }
  if (given.config) apply_file(*given.config, defaults);
  apply_command_line(given, defaults);
  require(defaults.max_steps > 0, "max_steps must be above 0, got ", defaults.max_steps);
  require(defaults.batch_size > 0, "batch_size must be above 0, got ", defaults.batch_size);
  require(!defaults.needs_data || !defaults.data_dir.empty(),
          "--data_dir must name the folder with ", defaults.data);
  validate(defaults.run);
  return defaults;
}

int run(int argc, const char* const* argv, Options defaults,
        const std::function<Results(const Options&)>& body) {
  try {
    auto options = parse(argc, argv, std::move(defaults));
    if (options && options->fit_batch) find_batch(body, *options);
    if (options) print(body(*options));
    return 0;
  } catch (const Interrupted& interrupted) {  // what was saved is said already
    return interrupted.exit_status();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

Results print_plan(const Options& options, Estimator& estimator, const Dataset& dataset,
                   const TrainOptions& training) {
  if (options.fit_batch) {
    BatchThatFits fits = estimator.batch_that_fits(dataset, training, most_examples);
    // Evaluations and samples beside the training need memory, too.
    std::int64_t left = fits.ways[0].at_least ? 0 : fits.batch / 8;
    std::fprintf(stderr, "%sbatch_size: %lld\n", to_string(fits).c_str(),
                 static_cast<long long>(fits.batch - left));
    return {{"batch_size", static_cast<double>(fits.batch - left)}};
  }
  std::string plan = estimator.plan(dataset, training);
  int workers = find_workers()->count();
  if (workers > 1 && estimator.config().batch != BatchPolicy::global)
    plan += data::describe_shards(dataset, workers);
  std::fputs(plan.c_str(), stdout);
  return {};
}

Results print_summary(Estimator& estimator, const Dataset& dataset) {
  std::fputs(estimator.summary(dataset).c_str(), stdout);
  return {};
}

Results report(const TrainResult& trained, const EvalResult& evaluated) {
  return {{"accuracy", evaluated.at("accuracy")},
          {"loss", evaluated.at("loss")},
          {"global_step", evaluated.at("global_step")},
          {"examples_per_second", trained.examples_per_second}};
}

}  // namespace belfry::examples
