#include "belfry/hooks/record/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "belfry/framework/base/log.h"
#include "belfry/framework/base/mutex.h"
#include "belfry/framework/train/activity.h"
#include "belfry/framework/train/hook.h"
#include "belfry/hooks/record/values.h"

namespace belfry::hooks {
namespace {

constexpr double seconds_between_draws = 0.1;
// After which older speeds count 1/e: in what is shown as the speed, and in what is left of the
// time.
constexpr double memory_seconds = 3, memory_seconds_of_estimate = 30;

// Three digits, or all before the point.
std::string short_number(double value) { return printed(value < 100 ? "%.3g" : "%.0f", value); }

// Sums in which older summands fade, so that their quotients follow a change of speed.
StepSums faded(StepSums sums, const StepSums& latest, double memory) {
  sums = sums / std::exp(latest.seconds / memory);
  return sums += latest;
}

// The loss or a value of the model. One that is not finite is shown, and forgotten.
struct ShownValue {
  std::string name;
  FadingMean mean = {};
  double shown = 0;

  void add(double value) {
    constexpr double fading = 0.98;
    if (std::isfinite(value)) mean.add(value, fading);
    shown = std::isfinite(value) ? mean.value() : value;
  }
};

struct Status {
  std::int64_t step = 0;
  std::optional<std::int64_t> last_step;
  double elapsed_seconds = 0;
  std::vector<ShownValue> values;  // the loss first; none before the first step
  StepSums speed, long_speed;
};

// "00:12<00:17", "34.1 steps/s" or, if slow, "2.1 s/step", "4365 examples/s", "loss 0.1234",
// and the shares of time: "input 3%", "compute 87%", "apply 10%".
std::vector<std::string> numbers(const Status& s) {
  bool known = s.speed.seconds > 0 && s.speed.steps > 0;
  std::string times = duration_text(s.elapsed_seconds);
  if (s.last_step) {
    double left = *s.last_step - s.step;
    times += "<" + (known ? duration_text(left / s.long_speed.steps_per_second()) : "?");
  }
  if (!known) return {times};
  double steps = s.speed.steps_per_second();
  std::vector<std::string> out{
      times, steps < 1 ? short_number(1 / steps) + " s/step" : short_number(steps) + " steps/s",
      short_number(s.speed.examples_per_second()) + " examples/s"};
  for (const ShownValue& v : s.values) out.push_back(v.name + printed(" %.4g", v.shown));
  std::string breakdown = breakdown_text(s.speed);
  for (std::size_t at = 0, end = 0; end != breakdown.npos; at = end + 2) {
    end = breakdown.find(", ", at);
    out.push_back(breakdown.substr(at, end - at));
  }
  return out;
}

std::string bracketed(const std::vector<std::string>& numbers) {
  return "[" + join(numbers, ", ") + "]";
}

// As many of the numbers as fit: first go the shares of time and the model's values, from the last
// on, then examples/s, steps/s and the loss.
std::string fitted(std::vector<std::string> numbers, std::size_t width) {
  while (numbers.size() > 1 && bracketed(numbers).size() > width) {
    bool has_speed = numbers.size() == 3 || numbers.size() == 4;
    numbers.erase(numbers.end() - (has_speed ? 2 : 1));
  }
  return bracketed(numbers);
}

std::string count(const Status& s) {
  long long step = s.step;
  if (!s.last_step) return printed("%lld steps ", step);
  return printed("%lld/%lld ", step, static_cast<long long>(*s.last_step));
}

double fraction_done(const Status& s) {
  if (*s.last_step <= 0) return 1;
  return std::clamp(static_cast<double>(s.step) / (*s.last_step), 0.0, 1.0);
}

// One column stays free: a full line would make some terminals wrap.
std::string bar_line(const Status& s, int columns) {
  std::size_t width = std::max(columns - 1, 1);
  std::string percent;
  if (s.last_step) percent = printed("%3.0f%%|", std::floor(100 * fraction_done(s)));
  std::size_t before = percent.size() + (s.last_step ? 1 : 0) + count(s).size();
  if (s.last_step && width >= 90) before += 12;  // ten cells of the bar, and its end
  std::string right = count(s) + fitted(numbers(s), width > before ? width - before : 0);
  if (s.last_step) {
    std::size_t needed = percent.size() + right.size() + 2;
    std::size_t cells = needed + 5 <= width ? std::min<std::size_t>(width - needed, 40) : 0;
    auto full = static_cast<std::size_t>(fraction_done(s) * cells);
    std::string bar = std::string(full, '#') + std::string(cells - full, ' ') + "| ";
    right = percent + (cells > 0 ? bar : " ") + right;
  }
  return right.substr(0, width);
}

// "evaluating: 12/40 batches [00:03<00:07]", "saving step 100".
std::string activity_line(const Activity& a, double seconds, int columns) {
  std::string text = a.what;
  if (a.done > 0) {
    text += concat(": ", a.done, a.total ? concat("/", *a.total) : "", " batches [",
                   duration_text(seconds));
    if (a.total) text += "<" + duration_text(seconds * (*a.total - a.done) / a.done);
    text += "]";
  }
  return text.substr(0, std::max(columns - 1, 1));
}

// The line on the terminal, and the log lines of any thread that come in between.
class Drawing {
 public:
  explicit Drawing(Terminal terminal) : terminal_(std::move(terminal)) {}

  void draw(const std::string& line) {
    MutexLock lock(mutex_);
    line_ = line;
    terminal_.write("\r" + line_ + "\x1b[K");
  }
  void above(const std::function<void()>& write_line) {
    MutexLock lock(mutex_);
    terminal_.write("\r\x1b[K");
    write_line();
    terminal_.write(line_);
  }
  void finish() {
    MutexLock lock(mutex_);
    terminal_.write("\n");
    line_.clear();
  }

 private:
  Mutex mutex_;
  Terminal terminal_ BELFRY_GUARDED_BY(mutex_);
  std::string line_ BELFRY_GUARDED_BY(mutex_);
};

class Progress final : public Hook {
 public:
  explicit Progress(ProgressOptions options) : options_(std::move(options)) {}

  void begin(HookContext& context) override {
    if (!context.is_chief()) return;
    status_ = {};
    status_.step = context.step();
    status_.last_step = context.last_step();
    started_ = drawn_ = options_.clock();
    meter_.begin(context, started_);
    if (options_.terminal.columns <= 0) return;
    drawing_ = std::make_shared<Drawing>(options_.terminal);
    drawing_->draw(line());
    // It may stay behind in a thread that does not end the training.
    alive_ = std::make_shared<Progress*>(this);
    previous_activity_sink_ = set_activity_sink([weak = std::weak_ptr(alive_)](const Activity& a) {
      if (auto progress = weak.lock()) (*progress)->show(a);
    });
    thread_ = std::this_thread::get_id();
    previous_sink_ = set_log_sink({});
    set_log_sink(
        [drawing = drawing_, before = previous_sink_](LogLevel level, std::string_view text) {
          drawing->above([&] { before ? before(level, text) : write_log_line(level, text); });
        });
  }

  void after_step(const StepResult& result) override {
    if (!result.context.is_chief()) return;
    status_.step = result.step;
    add_values(result);
    meter_.add(result);
    is_news_ = true;
    double now = options_.clock();
    if (drawing_) {
      if (now - drawn_ >= seconds_between_draws) draw(result.context, now);
    } else if (result.step % options_.every.count == 0) {
      count_time(result.context, now);
      std::string last = status_.last_step ? concat("/", *status_.last_step) : "";
      log_info("step ", result.step, last, " ", bracketed(numbers(status_)));
    }
  }

  void end(HookContext& context, Outcome) override {
    if (!drawing_) return;
    draw(context, options_.clock());
    set_log_sink(previous_sink_);
    alive_.reset();
    if (std::this_thread::get_id() == thread_) set_activity_sink(previous_activity_sink_);
    drawing_->finish();
    drawing_.reset();
  }

 private:
  void add_values(const StepResult& result) {
    std::vector<ShownValue>& all = status_.values;
    if (all.size() != result.values.size() + 1) {  // before the first step
      all.assign(1, {"loss"});
      for (const auto& [name, value] : result.values) all.push_back({name});
    }
    all[0].add(result.loss);
    for (std::size_t i = 1; i < all.size(); ++i) all[i].add(result.values[i - 1].second);
  }
  void count_time(const HookContext& context, double now) {
    status_.elapsed_seconds = now - started_;
    if (!is_news_) return;  // without a step, seconds say nothing of the speed
    is_news_ = false;
    StepSums latest = meter_.collect(context, now);
    status_.speed = faded(status_.speed, latest, memory_seconds);
    status_.long_speed = faded(status_.long_speed, latest, memory_seconds_of_estimate);
  }
  void draw(const HookContext& context, double now) {
    count_time(context, now);
    drawn_ = now;
    drawing_->draw(line());
  }
  // In the line's place, until it is over.
  void show(const Activity& activity) {
    double now = options_.clock();
    bool begins = activity.done == 0;
    if (begins) activity_began_ = now;
    if (!begins && now - drawn_ < seconds_between_draws) return;
    drawn_ = now;
    drawing_->draw(
        activity.what.empty() ? line() : activity_line(activity, now - activity_began_, columns()));
  }
  int columns() const {
    const Terminal& terminal = options_.terminal;
    int present = terminal.present_columns ? terminal.present_columns() : 0;
    return present > 0 ? present : terminal.columns;
  }
  std::string line() const { return bar_line(status_, columns()); }

  ProgressOptions options_;
  Status status_;
  StepMeter meter_;
  double started_ = 0, drawn_ = 0;
  bool is_news_ = false;  // a step since the speed was counted
  double activity_began_ = 0;
  std::shared_ptr<Drawing> drawing_;  // on a terminal, between begin and end
  LogSink previous_sink_;
  ActivitySink previous_activity_sink_;
  std::shared_ptr<Progress*> alive_;  // between begin and end, on a terminal
  std::thread::id thread_;            // in which it began
};

}  // namespace

Terminal stderr_terminal() {
  auto write = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
  const char* term = std::getenv("TERM");
  if (isatty(STDERR_FILENO) == 0 || (term && std::string_view(term) == "dumb"))
    return {.columns = 0, .write = write};
  auto present_columns = [] {
    winsize size{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? int{size.ws_col} : 0;
  };
  int columns = present_columns();
  return {
      .columns = columns > 0 ? columns : 80, .write = write, .present_columns = present_columns};
}

std::shared_ptr<Hook> progress(ProgressOptions options) {
  require(options.every.count >= 1, "progress: every must be at least 1 step, got ",
          options.every.count);
  if (!options.clock) options.clock = monotonic_seconds;
  return std::make_shared<Progress>(std::move(options));
}

}  // namespace belfry::hooks
