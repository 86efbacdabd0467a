#include "belfry/hooks/plateau.h"

#include <cmath>
#include <limits>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/json.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/distribute/variables.h"
#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/math.h"

namespace belfry::hooks {
namespace {

class LowersRates final : public Plateau {
 public:
  explicit LowersRates(PlateauOptions options) : options_(std::move(options)) {}

  Schedule schedule(Schedule base) const override {
    return [name = options_.name, base = std::move(base)](Tensor step) {
      Variable factor = (Scope(step.graph()) / name)
                            .shared()
                            .variable("factor", {.dtype = DType::f64,
                                                 .initializer = constant_value(1),
                                                 .kind = VariableKind::statistic});
      return base.exact(step) * factor;
    };
  }

  void add(double result) override {
    if (is_better(result)) {
      best_ = result;
      waited_ = 0;
    } else if (cooling_ == 0) {
      ++waited_;
    }
    if (cooling_ > 0) --cooling_;
    if (waited_ < options_.patience) return;
    waited_ = 0;
    cooling_ = options_.cooldown;
    lower_ = true;
  }

  bool needs_result_now(HookContext& context, std::int64_t) override {
    decided_ = context.chief_decides(lower_);
    return decided_;
  }

  // No step is under way.
  void before_step(StepRequest& request) override {
    if (!std::exchange(decided_, false)) return;
    lower_ = false;
    Variables& variables = request.context.variables();
    std::string name = options_.name + "/factor";
    require(variables.contains(name), "plateau: the model has no variable `", name,
            "`; give its optimizer plateau->schedule(...)");
    double before = variables.read(name).item();
    double after = std::max(before * options_.factor, options_.least);
    if (after >= before) return;
    variables.write(name, Array::scalar(after));
    if (request.context.is_chief())
      log_info("plateau: ", std::isnan(best_) ? "no result was finite" : "nothing got better than ",
               std::isnan(best_) ? "" : text(best_), "; learning rates are now ", text(after),
               " of what they were at first");
  }

  std::string name() const override { return options_.name; }
  std::string state() const override {
    return JsonNode::object({{"best", std::isnan(best_) ? JsonNode() : best_},
                             {"waited", waited_},
                             {"cooling", cooling_},
                             {"lower", lower_},
                             {"decided", decided_}})
        .text();
  }
  void restore(const std::string& state) override {
    try {
      JsonValue saved = JsonValue::parse(state, "");
      JsonValue best = saved.required("best");
      best_ = best.is_null() ? none : best.number();
      constexpr Limits counts{.low = 0, .high = std::int64_t{1} << 62};  // they go on from there
      read_value(saved.required("waited"), waited_, counts);
      read_value(saved.required("cooling"), cooling_, counts);
      lower_ = saved.required("lower").truth();
      decided_ = saved.required("decided").truth();
    } catch (const Error& error) {
      fail("plateau: `", state, "` is no state of this hook: ", error.what(),
           "; another hook has had this name, or the checkpoint is damaged");
    }
  }

 private:
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();

  bool is_better(double result) const {
    if (!std::isfinite(result)) return false;
    if (std::isnan(best_)) return true;
    double gain = options_.better == Better::lower ? best_ - result : result - best_;
    return gain > options_.min_change;
  }

  PlateauOptions options_;
  double best_ = none;
  std::int64_t waited_ = 0,
               cooling_ = 0;  // results without a better one, and those to be passed over
  bool lower_ = false;        // on the chief: the rate is to be lowered
  bool decided_ = false;      // before the next step
};

}  // namespace

std::shared_ptr<Plateau> plateau(PlateauOptions o) {
  require(o.factor > 0 && o.factor < 1, "plateau: factor is ", o.factor,
          "; it must lie between 0 and 1");
  require(o.patience >= 1, "plateau: patience is ", o.patience, "; it must be at least 1");
  require(o.min_change >= 0, "plateau: min_change is ", o.min_change, "; it must be at least 0");
  require(o.cooldown >= 0, "plateau: cooldown is ", o.cooldown, "; it must be at least 0");
  require(o.least >= 0 && o.least < 1, "plateau: least is ", o.least, "; it must lie in [0, 1)");
  require(!o.name.empty(), "plateau: the name is empty");
  return std::make_shared<LowersRates>(std::move(o));
}

}  // namespace belfry::hooks
