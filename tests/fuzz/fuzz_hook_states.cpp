// Any text is the state of a hook, as a checkpoint has it, or an Error; what was restored is saved
// and restored again as itself, and the hook goes on from there. The same bytes are the points of a
// curve, and a folder's list of its best checkpoints.

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"
#include "belfry/hooks/evaluate/best.h"
#include "belfry/hooks/plateau.h"
#include "belfry/hooks/record/curve.h"
#include "belfry/hooks/report/report.h"
#include "json_mutator.h"
#include "memory_folder.h"

using namespace belfry;
using namespace belfry::hooks;

namespace {

/// Restores `state` and, into another one, what that saves. None: it is an Error.
template <class Make>
auto restored(const std::string& state, Make make) {
  auto one = make(), other = make();
  try {
    one->restore(state);
  } catch (const Error&) {
    one = nullptr;
  }
  if (!one) return one;
  const std::string saved = one->state();
  other->restore(saved);
  if (other->state() != saved) std::abort();
  return one;
}

void try_plateau(const std::string& state) {
  auto hook = restored(state, [] { return plateau({.patience = 2}); });
  if (hook)
    for (double result : {1.0, 2.0, 3.0, 4.0}) hook->add(result);
}

void try_best(const std::string& state) {
  auto best = restored(state, [] {
    return std::make_unique<BestValue>("eval", "loss", Better::lower,
                                       EarlyStoppingOptions{.patience = 2, .target = 0.5});
  });
  if (!best) return;
  for (std::int64_t later : {1, 2, 3}) best->offer(1, best->last_step() + later);
  best->reason_to_stop(9);
}

void try_curve(const std::string& text) {
  Curve curve(20);
  try {
    curve.read(text);
  } catch (const Error&) {
    return;
  }
  Curve again(20);
  again.read(curve.text(10));
  for (std::int64_t step : {0, 1, 1, 1000000}) curve.add(step, 0.5);
}

void try_list(const std::string& text) {
  static const MemoryFolder folder;
  std::ofstream(folder.path + "/best.json", std::ios::trunc) << text;
  try {
    BestList list(folder.path, "loss", Better::lower);
    list.insert({"new", 5, 0.5});
    if (!list.has("new")) std::abort();
  } catch (const Error&) {
  }
}

/// Names of members, and texts that may stand somewhere.
const std::vector<std::string>& words() {
  static const std::vector<std::string> all{"best",
                                            "waited",
                                            "cooling",
                                            "lower",
                                            "decided",
                                            "step",
                                            "last",
                                            "kept",
                                            "file",
                                            "value",
                                            "metric",
                                            "better",
                                            "loss",
                                            "higher",
                                            "curves",
                                            "runs",
                                            "seconds",
                                            "last_step",
                                            "speed",
                                            "rate",
                                            "scalar",
                                            "values",
                                            "..",
                                            "examples",
                                            "0.5",
                                            "a/b",
                                            "histogram",
                                            "1 3 1 0.5 3 0 1 0 0.5 ",
                                            "2 9 0 3 1 2 0 0.5 0.25 1 8 1 1 1 7 ",
                                            R"({"best":0.5,"step":4,"waited":1,"last_step":6})"};
  return all;
}

/// Changes the text of one of the members, which may be a state or points themselves.
void change_text(Json& json, JsonMutator& mutator, std::size_t max_size) {
  if (json.is_string()) {
    std::string text = json.get<std::string>();
    const std::size_t size = text.size();
    text.resize(size + std::min<std::size_t>(max_size, 64));
    text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
    json = text;
  } else if (json.is_structured() && !json.empty()) {
    auto at = json.begin();
    std::advance(at, mutator.below(json.size()));
    change_text(*at, mutator, max_size);
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  return mutate_json(data, size, max_size, seed, [&](Json& document) {
    JsonMutator mutator(seed, words());
    if (mutator.below(3) == 0) return change_text(document, mutator, max_size);
    for (std::size_t i = 0, n = 1 + mutator.below(3); i < n; ++i) mutator.change(document);
  });
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const LogSink before = set_log_sink([](LogLevel, std::string_view) {});
  const std::string text(reinterpret_cast<const char*>(data), size);
  try_plateau(text);
  try_best(text);
  restored(text, [] { return report(); });
  try_curve(text);
  try_list(text);
  return 0;
}
