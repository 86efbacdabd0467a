// belfry-predict: serves an export from the command line. Ends with 0; with 2 after an error.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "belfry/data/formats/images/image.h"
#include "belfry/framework/tensor/array.h"
#include "belfry/version.h"
#include "tools/predict_inputs.h"
#include "tools/predictions.h"
#include "tools/table.h"

namespace belfry::programs {
namespace {

struct Arguments {
  std::string path, output, device = "cpu";
  std::vector<std::string> only;
  bool json = false;
  PredictInputs inputs;
};

constexpr const char* examples =
    "Examples:\n"
    "  belfry-predict exports                        what the newest export takes and gives\n"
    "  belfry-predict exports a.png b.jpg --resize   a table of predictions\n"
    "  belfry-predict exports people.csv --json      the same as lines of JSON\n"
    "  belfry-predict exports x.npz --only digit --output digits.npy\n";

std::string how_read(const std::string& name, const ExampleInput& how) {
  return concat("feature `", how.feature.empty() ? name : how.feature, "`",
                how.stored ? ", stored as " + to_string(*how.stored) : "",
                how.default_value ? concat(", default ", *how.default_value) : "");
}

// All signatures, or the one that was asked for.
std::vector<std::string> signatures_of(const Predictor& predictor, const std::string& asked) {
  if (asked.empty()) return predictor.signatures();
  predictor.inputs(asked);  // throws if there is no such signature
  return {asked};
}

void describe_as_json(const Predictor& predictor, const std::string& asked) {
  using Json = nlohmann::ordered_json;
  auto types = [](const Predictor::Types& all) {
    Json out = Json::object();
    for (const auto& [name, type] : all) out[name] = to_string(type);
    return out;
  };
  Json signatures = Json::object();
  for (const std::string& signature : signatures_of(predictor, asked)) {
    Json& one = signatures[signature];
    one = {{"inputs", types(predictor.inputs(signature))},
           {"outputs", types(predictor.outputs(signature))}};
    if (const std::string& preparation = predictor.preparation(signature); !preparation.empty())
      one["preparation"] = Json::parse(preparation);
    for (const auto& [name, how] : predictor.examples(signature))
      one["examples"][name] = how_read(name, how);
  }
  print(
      Json{{"path", predictor.path()}, {"step", predictor.step()}, {"signatures", signatures}}.dump(
          -1, ' ', false, Json::error_handler_t::replace));
}

void describe(const Predictor& predictor, const std::string& asked) {
  auto signatures = signatures_of(predictor, asked);
  print(concat(predictor.path(), ", step ", predictor.step()));
  std::vector<std::vector<std::string>> rows;
  for (const std::string& signature : signatures) {
    rows.push_back({"signature " + signature});
    auto add = [&](const char* what, const Predictor::Types& types) {
      for (const auto& [name, type] : types) rows.push_back({what, name, to_string(type)});
    };
    add("  input", predictor.inputs(signature));
    add("  output", predictor.outputs(signature));
    if (const std::string& preparation = predictor.preparation(signature); !preparation.empty())
      rows.push_back({"  prepared by", preparation});
    for (const auto& [name, how] : predictor.examples(signature))
      rows.push_back({"  example", name, how_read(name, how)});
  }
  namespace fs = std::filesystem;
  std::vector<std::vector<std::string>> assets;
  std::error_code error;
  for (fs::directory_iterator entry(predictor.path() + "/assets", error), end;
       !error && entry != end; entry.increment(error))
    assets.push_back({"asset", entry->path().filename(), bytes_text(entry->file_size(error))});
  std::sort(assets.begin(), assets.end());
  rows.insert(rows.end(), assets.begin(), assets.end());
  // A signature's name is wider than what stands below it.
  std::vector<std::vector<std::string>> block;
  for (const auto& row : rows) {
    if (row.size() == 1) {
      print_table(std::exchange(block, {}));
      print(row[0]);
    } else {
      block.push_back(row);
    }
  }
  print_table(block);
}

// Error: --only names one that is not there.
std::vector<std::string> chosen(const Predictor& predictor, const Arguments& args) {
  std::vector<std::string> names;
  for (const auto& [name, type] : predictor.outputs(args.inputs.signature)) names.push_back(name);
  for (const std::string& name : args.only)
    require(std::find(names.begin(), names.end(), name) != names.end(),
            "--only: there is no prediction `", name, "`; there are ", join(names, ", "));
  return args.only.empty() ? names : args.only;
}

PredictedRows predict(const Predictor& predictor, const Arguments& args) {
  PredictedRows rows;
  const std::vector<std::string> names = chosen(predictor, args);
  std::vector<std::vector<Array>> parts(names.size());
  for_each_batch(predictor, args.inputs,
                 [&](const Features& batch, const std::vector<std::string>& origins) {
                   Features out = predictor(batch, args.inputs.signature);
                   for (std::size_t i = 0; i < names.size(); ++i) {
                     const Array& value = out.at(names[i]);
                     require(value.shape().rank() > 0 && value.shape()[0] == std::ssize(origins),
                             "`", names[i], "` is ", value.type(), " for ", origins.size(),
                             " rows, not one row each; leave it out with --only");
                     parts[i].push_back(value);
                   }
                   rows.origins.insert(rows.origins.end(), origins.begin(), origins.end());
                 });
  require(!rows.origins.empty(), "the files have no rows");
  for (std::size_t i = 0; i < names.size(); ++i)
    rows.predictions.set(names[i], concat_rows(parts[i]));
  return rows;
}

void declare(CLI::App& app, Arguments& args) {
  app.add_option("EXPORT", args.path, "An export, or a folder of them: the newest")->required();
  app.add_option("FILE", args.inputs.paths,
                 "Images, .npy, .npz, .csv with a column for each input (x, or x_0, x_1, ...),\n"
                 "or TFRecord files of tf.train.Examples; none: describe the export. Where the\n"
                 "export says how examples were prepared for training, all but arrays are");
  app.add_option("--signature", args.inputs.signature,
                 "Which, if there are several; to describe: that one alone");
  app.add_option("--only", args.only, "Which predictions [all]")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--output", args.output, "Write *.npy, *.npz, *.csv or *.jsonl");
  app.add_option("--batch", args.inputs.batch, "Rows at once [32]")->check(CLI::Range(1, 1 << 20));
  app.add_option("--device", args.device, "cpu, cuda:0, ... [cpu]");
  app.add_flag("--json", args.json, "Print a line of JSON for each row, or of what the export is");
  app.add_flag("--resize", args.inputs.resize, "Resize images to the input's size");
  app.add_flag("--raw", args.inputs.raw, "Pixels 0 to 255 instead of 0 to 1");
  app.set_version_flag("--version", std::string(build_info()));
  app.footer(examples);
}

int run(int argc, char** argv) {
  CLI::App app("Predicts with an exported model.", "belfry-predict");
  Arguments args;
  declare(app, args);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::CallForVersion& version) {
    print(version.what());
    return 0;
  } catch (const CLI::ParseError& error) {
    fail("command line: ", error.what(), "; --help lists the options");
  }
  if (!args.output.empty()) check_output(args.output);
  Predictor predictor = Predictor::load(
      args.path,
      {.device = args.device, .decode_image = [](std::span<const std::byte> bytes, int channels) {
         return data::decode_image(bytes, {.channels = channels});
       }});
  if (args.inputs.paths.empty()) {
    (args.json ? describe_as_json : describe)(predictor, args.inputs.signature);
    return 0;
  }
  PredictedRows rows = predict(predictor, args);
  if (!args.output.empty()) {
    write_rows(args.output, rows);
    print(concat("wrote ", args.output, ": ", rows.origins.size(), " rows"));
  } else if (args.json) {
    std::fputs(to_json_lines(rows).c_str(), stdout);
  } else {
    print_rows(rows);
  }
  return 0;
}

}  // namespace
}  // namespace belfry::programs

int main(int argc, char** argv) {
  return belfry::programs::run_program(belfry::programs::run, argc, argv);
}
