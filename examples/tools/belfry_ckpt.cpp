// belfry-ckpt: what one wants to do with checkpoints and other files of weights without a model.
// Ends with 0; with 1 if files differ or one is damaged; with 2 after an error.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/text.h"
#include "belfry/framework/tensor/tensor_bundle.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/version.h"
#include "tools/table.h"
#include "tools/weight_files.h"

namespace belfry::programs {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;
using Json = nlohmann::ordered_json;

struct Arguments {
  std::string from, to;
  std::vector<std::string> paths;
  Pairs names, rules;
  bool statistics = false, json = false;
  double tolerance = 0;
};

// Names may hold bytes that are no UTF-8.
void print_json(const Json& json) {
  print(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string size_text(const NamedArrays& tensors) {
  std::int64_t elements = 0, bytes = 0;
  for (const auto& [name, array] : tensors) elements += array.elements(), bytes += array.bytes();
  return concat(tensors.size(), " tensors, ", elements, " elements, ", bytes_text(bytes));
}

// Headers alone are read.
int list(const Arguments& args) {
  auto files = list_checkpoints(args.from);
  require(!files.empty(), "ls: folder `", args.from, "` has no checkpoints");
  std::vector<std::vector<std::string>> rows{{"step", "tensors", "size", "file"}};
  Json all = Json::array();
  for (const CheckpointFile& file : files) {
    std::filesystem::path path(file.path);
    std::error_code error;
    std::int64_t size = std::filesystem::file_size(path, error);
    if (error) size = 0;
    Json tensors;  // null: damaged
    try {
      tensors = read_safetensors_header(file.path).tensors.size();
    } catch (const Error&) {  // verify tells more
    }
    all.push_back(
        {{"step", file.step}, {"tensors", tensors}, {"bytes", size}, {"file", file.path}});
    rows.push_back({text(file.step), tensors.is_null() ? "damaged" : tensors.dump(),
                    bytes_text(size), path.filename().string()});
  }
  args.json ? print_json(all) : print_table(rows);
  return 0;
}

// The least, the mean and the largest element; none of no elements.
std::vector<double> statistics_of(const Array& array) {
  double low = 0, high = 0, sum = 0;
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    double value = array.at(i);
    if (std::isnan(value)) return {value, value, value};
    low = i == 0 ? value : std::min(low, value);
    high = i == 0 ? value : std::max(high, value);
    sum += value;
  }
  if (array.elements() == 0) return {};
  return {low, sum / array.elements(), high};
}

int show_as_json(const Weights& weights, bool statistics) {
  Json tensors = Json::array();
  for (const auto& [name, array] : weights.tensors) {
    std::vector<std::int64_t> shape(array.shape().begin(), array.shape().end());
    Json& one = tensors.emplace_back(
        Json{{"name", name}, {"type", to_string(array.dtype())}, {"shape", shape}});
    std::vector<double> numbers = statistics ? statistics_of(array) : std::vector<double>();
    for (std::size_t i = 0; i < numbers.size(); ++i)  // JSON has no NaN: null
      one[std::array{"least", "mean", "largest"}[i]] = numbers[i];
  }
  print_json(Json{{"path", weights.path},
                  {"metadata", weights.metadata},
                  {"tensors", tensors},
                  {"left_out", weights.skipped}});
  return 0;
}

int show(const Arguments& args) {
  Weights weights = read_weights(args.from);
  if (args.json) return show_as_json(weights, args.statistics);
  print(weights.path);
  constexpr std::size_t most = 100;
  for (const auto& [key, value] : weights.metadata)
    print(concat(key, ": ",
                 value.size() <= most
                     ? value
                     : concat(value.substr(0, most), "... (", value.size(), " bytes)")));
  std::vector<std::vector<std::string>> rows;
  if (args.statistics) rows.push_back({"name", "type", "least", "mean", "largest"});
  for (const auto& [name, array] : weights.tensors) {
    auto& row = rows.emplace_back(std::vector<std::string>{name, to_string(array.type())});
    if (!args.statistics) continue;
    for (double number : statistics_of(array)) row.push_back(text(static_cast<float>(number)));
  }
  print_table(rows);
  for (const std::string& skipped : weights.skipped) print("left out: " + skipped);
  print(size_text(weights.tensors));
  return 0;
}

int diff(const Arguments& args) {
  Weights a = read_weights(args.from), b = read_weights(args.to);
  auto differences = compare(a, b, args.tolerance);
  std::size_t tensors = std::max(a.tensors.size(), b.tensors.size());
  std::vector<std::vector<std::string>> rows;
  Json all = Json::array();
  for (const Difference& difference : differences) {
    rows.push_back({difference.name, difference.what});
    all.push_back({{"name", difference.name}, {"what", difference.what}});
  }
  if (args.json) {
    print_json(Json{{"tensors", tensors}, {"differences", all}});
  } else {
    print_table(rows);
    print(concat(differences.size(), " of ", tensors, " tensors differ"));
  }
  return differences.empty() ? 0 : 1;
}

int write(const std::string& path, const Weights& weights) {
  for (const std::string& note : weights.skipped) print("left out: " + note);
  for (const std::string& note : write_weights(path, weights)) print(note);
  print(concat("wrote ", path, ": ", size_text(weights.tensors)));
  return 0;
}

int convert(const Arguments& args) { return write(args.to, read_weights(args.from)); }

int rename(const Arguments& args) {
  Weights weights = read_weights(args.from);
  programs::rename(weights, args.names, args.rules);
  return write(args.to, weights);
}

// All checkpoints of a folder, oldest first, or else the path itself.
std::vector<std::string> files_of(const std::string& path) {
  std::vector<std::string> out;
  for (const CheckpointFile& file : list_checkpoints(path)) out.push_back(file.path);
  if (out.empty()) out.push_back(path);
  return out;
}

int average(const Arguments& args) {
  std::vector<std::string> files;
  for (const std::string& path : args.paths)
    for (const std::string& file : files_of(path)) {
      // Only one of TensorFlow's checkpoints in a folder would be read.
      std::error_code error;
      require(!std::filesystem::exists(file + "/checkpoint", error), "average: folder `", file,
              "` has checkpoints of TensorFlow's; name each: ", file, "/model.ckpt-100");
      files.push_back(file);
    }
  Weights mean = programs::average(files);
  print(concat("mean of ", files.size(), files.size() == 1 ? " file" : " files"));
  return write(args.to, mean);
}

int verify(const Arguments& args) {
  int damaged = 0;
  Json all = Json::array();
  auto tell = [&](bool ok, const std::string& path, const std::string& what) {
    if (!args.json) print(concat(ok ? "ok       " : "damaged  ", path, ": ", what));
    all.push_back({{"path", path}, {"ok", ok}, {"what", what}});
  };
  auto check = [&](const std::string& path) {
    try {
      tell(true, path, size_text(read_weights(path).tensors));
    } catch (const Error& error) {
      std::string why = error.what(), suffix = concat(" (in `", path, "`)");
      if (why.ends_with(suffix)) why.resize(why.size() - suffix.size());  // the line begins with it
      tell(false, path, why);
      damaged = 1;
    }
  };
  // A file that is not there is not damaged: reading it throws the error with which the program
  // ends.
  for (const std::string& path : args.paths) {
    std::error_code error;
    if (!std::filesystem::exists(path, error) && !is_tensor_bundle(path)) read_weights(path);
  }
  for (const std::string& path : args.paths)
    for (const std::string& file : files_of(path)) check(file);
  if (args.json) print_json(all);
  return damaged;
}

struct Command {
  CLI::App* app;
  int (*run)(const Arguments&);
};

std::vector<Command> declare(CLI::App& app, Arguments& args) {
  std::vector<Command> commands;
  auto add = [&](const char* name, const char* what, int (*run)(const Arguments&)) {
    commands.push_back({app.add_subcommand(name, what), run});
    return commands.back().app;
  };
  auto from = [&](CLI::App* to, const char* name = "FROM") {
    to->add_option(name, args.from, "A file of weights")->required();
  };
  auto to = [&](CLI::App* command) {
    command
        ->add_option("TO", args.to,
                     "*.safetensors, *.npz, or a prefix for TensorFlow's: a name with no\n"
                     "extension, with .ckpt or .ckpt-STEP, or with .index after it")
        ->required()
        ->each(check_written_name);
  };
  auto json = [&](CLI::App* command) {
    command->add_flag("--json", args.json, "Print JSON, for other programs");
  };
  CLI::App* ls = add("ls", "List the checkpoints of a folder", list);
  ls->add_option("FOLDER", args.from, "A model_dir")->required();
  json(ls);
  CLI::App* one = add("show", "Print what a file holds", show);
  json(one);
  from(one);
  one->add_flag("--statistics", args.statistics, "Least, mean and largest element, too");
  CLI::App* two = add("diff", "Compare two files; status 1 if they differ", diff);
  json(two);
  from(two, "A");
  two->add_option("B", args.to, "The other one")->required();
  two->add_option("--tolerance", args.tolerance, "Elements may differ by so much [0]");
  CLI::App* names = add("rename", "Give tensors, with their slots, other names", rename);
  from(names);
  to(names);
  names->add_option("--name", args.names, "OLD NEW")->allow_extra_args(false);
  names
      ->add_option("--rule", args.rules,
                   "PATTERN REPLACEMENT: a regular expression of whole names; $1 is its group.\n"
                   "The first rule that matches counts; each must rename something")
      ->allow_extra_args(false);
  names->footer(
      "What is below a renamed tensor, as the optimizer's slots are (w/adam/m is below w),\n"
      "goes along, unless a --name or --rule renames it itself.");
  CLI::App* mean = add(
      "average", "The mean of files, or of all checkpoints of folders, tensor by tensor", average);
  to(mean);
  mean->add_option("FROM", args.paths, "Files and folders, with the same tensors")->required();
  CLI::App* all = add(
      "verify", "Read files, or all checkpoints of folders; status 1 if one is damaged", verify);
  all->add_option("FROM", args.paths, "Files and folders")->required();
  json(all);
  CLI::App* other = add("convert", "Write a file in another format", convert);
  from(other);
  to(other);
  return commands;
}

int run(int argc, char** argv) {
  CLI::App app(
      "Looks at checkpoints and other files of weights, and changes them. FROM is a\n"
      "safetensors file, the index of one in several files, an NPZ file, a checkpoint of\n"
      "TensorFlow's, or a folder with one of these: the newest checkpoint, unless a command\n"
      "says that it takes all.",
      "belfry-ckpt");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string(build_info()));
  Arguments args;
  auto commands = declare(app, args);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    auto chosen = app.get_subcommands();
    std::fputs((chosen.empty() ? &app : chosen[0])->help().c_str(), stdout);
    return 0;
  } catch (const CLI::CallForVersion& version) {
    print(version.what());
    return 0;
  } catch (const CLI::ParseError& error) {
    if (!app.get_subcommands().empty())
      fail("command line: ", error.what(), "; --help lists the options");
    std::vector<std::string> names;
    for (const Command& command : commands) names.push_back(command.app->get_name());
    bool named = argc > 1 && argv[1][0] != '-';
    fail("command line: ", named ? concat("there is no command `", argv[1], "`") : error.what(),
         "; the commands are ", join(names, ", "));
  }
  for (const Command& command : commands)
    if (command.app->parsed()) return command.run(args);
  return 2;
}

}  // namespace
}  // namespace belfry::programs

int main(int argc, char** argv) {
  return belfry::programs::run_program(belfry::programs::run, argc, argv);
}
