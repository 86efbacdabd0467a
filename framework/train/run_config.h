#pragma once
// How an Estimator runs, and which of the things that a training writes stay.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/framework/base/fields.h"
#include "belfry/framework/base/policies.h"
#include "belfry/framework/base/units.h"

namespace belfry {

/// The newest stay, and of the older ones each that `every` or `multiples_of` names. A checkpoint
/// that was kept by a rule stays for good; exports are judged anew each time.
struct KeepRules {
  int newest = 5;  ///< 0 keeps all, whatever the others say
  /// A time: the first stays, and each that was written at least so long after the last one that
  /// stayed. Steps(n): the last one of steps 1 to n stays, the last one of n + 1 to 2 n, and so on,
  /// and that of step 0. With Steps(100), of those of steps 0, 50, 90, 120 and 200 all but 50 and
  /// 120 stay. nullopt: none.
  std::optional<Every> every = {};
  Steps multiples_of = Steps(0);  ///< what was written at a multiple of this stays; 0: none

  /// Whether they ask when something was written, and of which step it is.
  ///@{
  bool ask_for_times() const {
    return every && std::holds_alternative<std::chrono::milliseconds>(*every);
  }
  bool ask_for_steps() const { return multiples_of.count > 0 || (every && !ask_for_times()); }
  ///@}

  /// Names the fields: see OptionStruct.
  static void fields(auto& o, auto&& field) {
    field("newest", o.newest, at_least(0));
    field("every", o.every);
    field("multiples_of", o.multiples_of, at_least(0));
  }
};

/// Error naming the field of `rules`, whose own name is `name`, that is out of its range.
void validate(const KeepRules& rules, std::string_view name);

/// The step and time at which something was written. One that the rules do not ask for may be left
/// out.
struct WrittenAt {
  std::int64_t step = 0;                ///< finished steps
  std::chrono::milliseconds time = {};  ///< since any one moment
};

/// Whether `older`, no longer among the newest, stays: `next` was written after it, and `last` is
/// the last before it that stayed, if there is one.
bool stays(const KeepRules& rules, const WrittenAt& older, const WrittenAt& next,
           const std::optional<WrittenAt>& last);

/// How a model comes to lie on the devices of a tower.
struct AutoSplit {
  int devices = 0;  ///< 0: as the model says by Scope::on(); else it is cut into so many parts
};
/// The model is cut over that many devices such that the fullest needs as little memory as can be,
/// by planning; among cuts that are alike in this, the fastest is taken. A device may have several
/// stretches of it. The log and plan() say where it is cut. The model_fn must not call Scope::on()
/// then.
inline AutoSplit auto_split(int devices) { return {devices}; }

/// The type in which models compute. Variables, optimizers, statistics and losses stay f32.
enum class Precision : std::uint8_t {
  f32,
  /// Matrix products, convolutions, recurrences and attention take their operands in bf16; sums,
  /// powers, exponentials, logarithms, softmax and losses are computed in f32, and the other ops in
  /// the type of their operands. The rule is autocast()'s, in framework/ops/autocast.h.
  bf16,
  /// The same in f16, with a loss scale for each update, so that small gradients do not become 0:
  /// the variable loss_scale/N for update N, at first 2^15. It is doubled after 2000 steps
  /// in a row with finite gradients, and halved, to 1 at least, after a step with gradients that
  /// are not finite, in which the update is left out (StepResult::applied). The first steps are
  /// often left out, until the scale is found. Each change is logged. Error: gradients that are not
  /// finite at a scale of 1.
  f16,
};
constexpr auto names_of(Precision) { return name_list("f32", "bf16", "f16"); }

/// The values that training computes again in its backward pass in place of keeping them. The
/// results are the same, to the bit, unless auto_split() cuts the model at other places for it;
/// plan() and explain() say how much memory it takes.
struct Recompute {
  /// Values that one pass over memory gives again are not kept (normalised batches, conversions,
  /// concats), for at most some 3 % of a step's time. Where a plan would be over the memory limit,
  /// as many more as it takes to fit are computed again, those that cost the least time first.
  /// Where that does not suffice, convolutions become exact, too, which changes roundings: see
  /// exact_convolutions.
  bool automatic = true;
  /// Values that are made in one of these scopes, by full path, and below, are computed again, but
  /// for those that other scopes read. Scopes that follow each other, as the blocks of a model, are
  /// computed again one at a time, each from the values that it reads. The empty path stands for
  /// the whole model; it saves little, as all of it is computed again at once.
  std::vector<std::string> scopes = {};
};

/// How much of a device's memory may be used.
struct MemoryLimit {
  /// `bytes` is at least 0.
  MemoryLimit(Bytes bytes = Bytes(0)) : bytes(bytes) {}
  /// A fraction in (0, 1] of what the device has; on a CPU, of what the machine has or its control
  /// group allows.
  static MemoryLimit of_device(double fraction);
  Bytes bytes;                                          ///< 0: the device's limit stays as it is
  double fraction = 0;                                  ///< above 0: in place of `bytes`
  bool operator==(const MemoryLimit&) const = default;  ///< both fields
};

/// How an Estimator runs: devices, precision, memory, saving and checks.
struct RunConfig {
  /// A tower for each: "cpu", "cuda:0", ...; or several joined by +, one a device: "cuda:0+cuda:1".
  std::vector<std::string> devices = {"cpu"};
  /// Who says which parts of the model are on which device.
  AutoSplit split = {};
  /// The meaning of a batch of the input.
  BatchPolicy batch = BatchPolicy::global;
  /// Where variables live.
  VariablePlacement variables = VariablePlacement::mirrored;
  /// How gradients are summed over the towers of this process.
  CrossDevice reduction = CrossDevice::shared;
  /// Gradients are summed in pieces of about this size.
  Bytes bucket = Bytes(4 << 20);
  /// How long a tower waits for the others before it fails, naming those that are missing.
  std::chrono::seconds reduction_timeout = std::chrono::seconds(600);
  /// When to save while training; a cadence in steps or seconds. nullopt: never, not even at the
  /// end.
  std::optional<Every> save_checkpoint = std::chrono::seconds(600);
  /// Whether training goes on while a checkpoint that `save_checkpoint` asks for is written: a
  /// snapshot is taken between two steps, and a thread of its own writes it. A kill meanwhile
  /// leaves the checkpoint before it; a failure ends training after a later step; the next save
  /// waits for it; train() returns when the last one is durable. Off: a step that saves waits for
  /// the disk.
  bool save_in_background = false;
  /// Which checkpoints stay. One that a rule keeps moves, once it is no longer among the newest, to
  /// the folder `kept` in model_dir, where nothing is ever removed. In JSON {"newest": n, "every":
  /// a cadence or null, "multiples_of": n}; what is left out is as it was.
  KeepRules keep_checkpoints = {};
  /// Steps between log lines with loss and speed; 0 logs none.
  Steps log_step_count = Steps(100);
  /// The seed of first values and of random ops. Where training goes on from a checkpoint, the
  /// checkpoint's seed counts.
  std::uint64_t seed = 1;
  /// The type in which the model computes.
  Precision precision = Precision::f32;
  /// Whether GPUs may round the factors of f32 products, those of convolutions among them, to 10
  /// bits, for several times the speed. CPUs ignore it.
  bool tf32 = true;
  /// Whether convolutions on CPUs are the sums of products that they are defined as. Off, those of
  /// 2x2 to 5x5 and 1x3 to 1x5 taps with a stride of 1, and of 4x4 to 6x6 with a stride of 2, go by
  /// Winograd's method where it is faster, in about half the time: results then differ by some 1e-6
  /// of their size, in 16 bits by a rounding. A plan that would take more memory than memory_limit
  /// for it has exact ones. GPUs ignore it.
  bool exact_convolutions = false;
  /// Whether a GPU's step is captured once and replayed with one launch. The results are the same.
  /// Some steps are always launched kernel by kernel: the first one of a plan, those that are
  /// traced (hooks::profile), all with check_numerics, and those of models on several devices.
  bool capture_steps = true;
  /// Threads of CPU kernels, for each device; 0: the cores divided by the devices of all towers.
  /// Some sums are cut into as many pieces as there are threads, so results have the same bits for
  /// the same number of threads. When they have nothing to do they spin for a while, or sleep where
  /// they had to wait for cores. Who sets OMP_WAIT_POLICY in the environment of the process, before
  /// it starts, is obeyed.
  int threads = 0;
  /// The memory that each device may give out, to all estimators of the process together:
  /// Bytes(1 << 30), or MemoryLimit::of_device(0.5). 0: the limit as it is, at first all that the
  /// device has, or that was free on a GPU.
  MemoryLimit memory_limit = {};
  /// The values that the backward pass computes again in place of keeping them.
  Recompute recompute = {};
  /// An Estimator keeps so many plans ready, one for each mode and shape of a tower's rows. When
  /// another one comes, the least recently used goes; its shape is compiled again if it comes
  /// again. All plans compute in the same memory, as large as the largest needs. Each also has some
  /// of its own: on the host for its kernels, on a GPU for its inputs and results.
  int plans = 32;
  /// SIGINT and SIGTERM end train() after the running step, with a checkpoint, evaluations and
  /// predictions that its hooks make included, and an evaluate() by itself after the running batch.
  /// A log line says so at once. Handlers are in place during these calls only, or from start() to
  /// Training::finish(); a second signal takes its usual course. Several workers evaluate without.
  bool stop_on_signals = true;
  /// train() and evaluate() throw Interrupted when a signal has ended them and all is saved, so
  /// that a program ends that would go on to other things. false: they return what there is, as
  /// stopped; Training::finish() does always.
  bool throw_on_signals = false;
  /// A loss, or another of EstimatorSpec::values, that is NaN or infinite fails training, unless
  /// the step applied nothing (hooks::skip_non_finite). false: a warning says so, once until all
  /// are finite again; checkpoints are written all the same, and such steps are not evaluated.
  bool fail_on_non_finite = true;
  /// Check the results of every kernel and name the first op that produces NaN or infinity. Slow.
  bool check_numerics = false;

  /// Names the fields: see OptionStruct.
  static void fields(auto& o, auto&& field) {
    field("devices", o.devices);
    field("split", o.split.devices, at_least(0));
    field("batch", o.batch);
    field("variables", o.variables);
    field("reduction", o.reduction);
    field("bucket", o.bucket, at_least(1));
    field("reduction_timeout", o.reduction_timeout, at_least(1));
    field("save_checkpoint", o.save_checkpoint);
    field("save_in_background", o.save_in_background);
    field("keep_checkpoints", o.keep_checkpoints);
    field("log_step_count", o.log_step_count, at_least(0));
    field("seed", o.seed);
    field("precision", o.precision);
    field("tf32", o.tf32);
    field("exact_convolutions", o.exact_convolutions);
    field("capture_steps", o.capture_steps);
    field("threads", o.threads, at_least(0));
    field("memory_limit", o.memory_limit);
    field("recompute", o.recompute);
    field("plans", o.plans, at_least(1));
    field("stop_on_signals", o.stop_on_signals);
    field("throw_on_signals", o.throw_on_signals);
    field("fail_on_non_finite", o.fail_on_non_finite);
    field("check_numerics", o.check_numerics);
  }
};

/// `defaults` with the fields that a JSON object names: {"devices": ["cpu"], "seed": 7,
/// "save_checkpoint": {"steps": 500}}. Keys are the names of the fields. A cadence is {"steps": n},
/// {"seconds": n}, {"milliseconds": n} or null (never); "save_checkpoint_steps": n is short for the
/// first; "memory_limit" is in bytes, a whole number, or a fraction with a point, 0.5 or 1.0;
/// "split": n stands for auto_split(n); "recompute" is "automatic", "off", a list of scopes, or
/// {"only": [scopes]} without what is automatic. Error: an unknown key (the known ones are listed),
/// a wrong type, a value out of range.
RunConfig run_config_from_json(std::string_view json, RunConfig defaults = {});

/// `config` as run_config_from_json() reads it, with all fields, on one line.
std::string to_json(const RunConfig& config);

/// Every cuda device, or the CPU when there is none; then each call logs one line saying why,
/// unless the build has no CUDA.
std::vector<std::string> all_gpus_or_cpu();

/// Error naming the field unless every field is in its range.
void validate(const RunConfig& config);

}  // namespace belfry
