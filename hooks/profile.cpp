#include "belfry/hooks/profile.h"

#include <cmath>
#include <set>

#include "belfry/framework/base/file.h"
#include "belfry/framework/base/json_tree.h"
#include "belfry/framework/base/log.h"

namespace belfry::hooks {
namespace {

constexpr int host = 0;  // process number in the trace; towers follow

class Profile final : public Hook {
 public:
  explicit Profile(ProfileOptions options) : options_(std::move(options)) {}

  void begin(HookContext& context) override {
    events_.clear();
    named_.clear();
    begun_steps_ = traced_ = 0;
    traced_step_ = -1;
    between_ = false;
    written_ = true;                  // if it cannot be, there is nothing to say at the end
    if (context.is_chief()) write();  // says at once whether it can be
    written_ = false;
  }

  void before_step(StepRequest& request) override {
    close_gap();
    ++begun_steps_;
    std::int64_t later = begun_steps_ - options_.first_step;
    if (later == options_.steps) finish(request.context);
    if (later < 0 || later >= options_.steps) return;
    request.trace = true;
    traced_step_ = request.step + 1;
  }

  void after_step(const StepResult& result) override {
    if (result.step != traced_step_ || !result.context.is_chief()) return;
    double start = result.start_seconds, end = start + result.step_seconds;
    if (traced_++ == 0) origin_ = start - result.input_wait_seconds;
    name_row(host, 0, "host", "training");
    add("input wait", "host", host, 0, start - result.input_wait_seconds, start,
        JsonNode::object({{"step", result.step}}));
    add(concat("step ", result.step), "host", host, 0, start, end,
        JsonNode::object({{"rows", result.rows}, {"loss", result.loss}}));
    for (const TraceEntry& entry : result.trace) add(entry);
    gap_since_ = end;
    between_ = true;
  }

  void end(HookContext& context, Outcome) override {
    close_gap();
    finish(context);
  }

 private:
  void add(const TraceEntry& entry) {
    int process = 1 + entry.tower;
    name_row(process, entry.device, concat("tower ", entry.tower), concat("slot ", entry.device));
    bool pack = entry.role == InstructionRole::pack;  // of which the op is what is packed
    add(pack ? to_string(entry.role) : entry.op, to_string(entry.phase), process, entry.device,
        entry.start_seconds, entry.start_seconds + entry.seconds,
        JsonNode::object({{"scope", entry.scope}, {"role", to_string(entry.role)}}));
  }

  // Beginning and end are rounded alike, so that what follows upon another does not overlap it.
  void add(std::string name, std::string category, int process, int thread, double from, double to,
           JsonNode arguments) {
    auto nanoseconds = [this](double time) { return std::round((time - origin_) * 1e9); };
    double start = nanoseconds(from);
    add_event({{"name", std::move(name)},
               {"cat", std::move(category)},
               {"ph", "X"},
               {"ts", start / 1e3},
               {"dur", (nanoseconds(to) - start) / 1e3},
               {"pid", process},
               {"tid", thread},
               {"args", std::move(arguments)}});
  }

  void name_row(int process, int thread, const std::string& process_name,
                const std::string& thread_name) {
    auto add_name = [&](const char* what, const std::string& name) {
      add_event({{"name", what},
                 {"ph", "M"},
                 {"pid", process},
                 {"tid", thread},
                 {"args", JsonNode::object({{"name", name}})}});
    };
    if (!named_.insert({process, thread}).second) return;
    if (thread == 0) add_name("process_name", process_name);
    add_name("thread_name", thread_name);
  }

  void add_event(std::vector<std::pair<std::string, JsonNode>> members) {
    events_ += concat(events_.empty() ? "" : ",", JsonNode::object(std::move(members)).text());
  }

  // Records the time that hooks, checkpoints and other workers took after a step.
  void close_gap() {
    if (between_)
      add("between steps", "host", host, 0, gap_since_, monotonic_seconds(), JsonNode::object());
    between_ = false;
  }

  void finish(HookContext& context) {
    if (written_ || !context.is_chief()) return;
    written_ = true;
    if (traced_ == 0) {
      log_warning("profile: training ended before step ", options_.first_step, ", so `",
                  options_.path, "` is empty");
      return;
    }
    write();
    log_info("profile: ", traced_ == 1 ? "one step is" : concat(traced_, " steps are"), " in `",
             options_.path, "`");
  }

  void write() const { write_file_atomically(options_.path, concat("[", events_, "]")); }

  ProfileOptions options_;
  std::string events_;                   // in JSON, with commas between them
  std::set<std::pair<int, int>> named_;  // process and thread
  std::int64_t begun_steps_ = 0, traced_ = 0;
  std::int64_t traced_step_ = -1;  // the global number of the last one
  double origin_ = 0;              // of the trace's clock
  double gap_since_ = 0;
  bool between_ = false;  // a traced step and the next one
  bool written_ = false;
};

}  // namespace

std::shared_ptr<Hook> profile(ProfileOptions options) {
  require(options.first_step >= 1, "profile: first_step must be at least 1, got ",
          options.first_step);
  require(options.steps >= 1, "profile: steps must be at least 1, got ", options.steps);
  return std::make_shared<Profile>(std::move(options));
}

}  // namespace belfry::hooks
