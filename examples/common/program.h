#pragma once
// The parts around the model of every example program: options, errors, the line with the results.

#include <belfry/data.h>
#include <belfry/framework.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::examples {

/// An option of one example alone.
struct OwnOption {
  std::string value;
  std::string help;  ///< for --help: "Side of the images, in pixels"
};

/// An example's words about itself, and the options that all take. Defaults are its own.
struct Options {
  std::string about = {};   ///< one sentence, for --help
  std::string data = {};    ///< what lies in --data_dir; empty: there is no such option
  bool needs_data = false;  ///< false: without --data_dir, data that Belfry makes itself
  std::string data_dir = {};
  std::string model_dir = {};     ///< for checkpoints; empty: a new temporary folder
  std::int64_t max_steps = 1000;  ///< training ends at this step in all, earlier runs counted
  std::int64_t batch_size = 32;   ///< examples a step
  bool fit_batch = false;         ///< run() finds batch_size: the largest that the memory allows
  bool plan = false;              ///< say what training would do, and do nothing
  bool summary = false;           ///< the same of what the model is made of
  RunConfig run = {.log_step_count = Steps(0), .throw_on_signals = true};
  /// By name: {{"image_size", {"32", "Side of the images, in pixels"}}} is --image_size.
  std::map<std::string, OwnOption> own = {};

  const std::string& words(const std::string& name) const;   ///< the value of one of `own`
  double number(const std::string& name) const;              ///< the same. Error: it is no number
  std::int64_t whole_number(const std::string& name) const;  ///< the same
};

/// Results by name, in the order in which they are printed.
using Results = std::vector<std::pair<std::string, double>>;

/// Reads a command line: --data_dir, --model_dir, --max_steps, --batch_size, --seed, --threads,
/// --save_checkpoint_steps, --devices, --precision, --plan, --summary, what is in Options::own, and
/// --config with a JSON file whose keys are these names (but for the last two) and the fields of
/// RunConfig. The command line goes before the file, the file before `defaults`; "-" and "_" in
/// names are alike. "--batch_size auto" asks for Options::fit_batch. Nothing if --help was asked
/// for, which is printed. Error: an unknown option or key, a value that does not fit, no --data_dir
/// where Options::needs_data.
std::optional<Options> parse(int argc, const char* const* argv, Options defaults);

/// A program: parses its command line, runs `body` and prints the results, if there are any, as one
/// line of JSON on stdout. With Options::fit_batch, `body` is called as for --plan first, to find
/// the batch size; it is 1024 at most. Returns the exit status: 0, 1 after "error: ..." on stderr,
/// or 130 or 143 when SIGINT or SIGTERM has ended it.
int run(int argc, const char* const* argv, Options defaults,
        const std::function<Results(const Options&)>& body);

/// Answers --plan: prints Estimator::plan() and, where several workers read a part of the data
/// each, those parts. With Options::fit_batch, prints Estimator::batch_that_fits() on stderr; the
/// result is its batch, less an eighth for evaluations where memory sets the limit. Else no
/// results.
Results print_plan(const Options& options, Estimator& estimator, const Dataset& dataset,
                   const TrainOptions& training);

/// Answers --summary: prints Estimator::summary(). No results.
Results print_summary(Estimator& estimator, const Dataset& dataset);

/// The usual results: accuracy and loss on the test set, steps in all, speed of training.
Results report(const TrainResult& trained, const EvalResult& evaluated);

}  // namespace belfry::examples
