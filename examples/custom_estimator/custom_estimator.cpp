// An application with a model of its own, which trains in a thread while the application goes on:
// it watches, saves, pauses, continues and stops.

#include <belfry/data.h>
#include <belfry/framework.h>

#include <chrono>
#include <future>

#include "common/program.h"

using namespace belfry;

/// Reads digits. The model is part of the class, and needs no model_fn from outside.
class DigitReader : public Estimator {
 public:
  using Estimator::Estimator;

 private:
  EstimatorSpec model_fn(Scope s, const Batch& batch, Mode mode) override {
    Tensor x = relu(dense(s / "hidden", flatten(batch["image"]), {.units = 64}));  // [n, 64]
    Tensor logits = dense(s / "digit", x, {.units = 10});                          // [n, 10]
    Tensor digit = argmax(logits, 1);                                              // [n]
    if (mode == Mode::predict) return {.predictions = {{"digit", digit}}};
    return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
            .train = adam({.learning_rate = 1e-3}),
            .metrics = {{"accuracy", accuracy(batch["label"], digit)}}};
  }
};

/// Training in a thread of its own, until the application asks it to stop.
class TrainingThread {
 public:
  TrainingThread(Estimator& estimator, const InputFn& input)
      : training_(estimator.start(input)), result_(std::async(std::launch::async, [this] {
          training_.run();
          return training_.finish();
        })) {}
  ~TrainingThread() { control().request_stop("the application ends"); }  // and result_ waits for it

  /// Its progress, and what it is asked for, from any thread.
  TrainControl& control() { return training_.control(); }

  /// Looks at the progress again and again. An error of the training is thrown here.
  template <class Condition>
  TrainProgress wait_until(Condition reached) {
    for (TrainProgress now = control().progress();; now = control().progress()) {
      if (reached(now)) return now;
      auto ended = result_.wait_for(std::chrono::milliseconds(1));
      if (ended == std::future_status::ready) fail_as_ended(result_.get());
    }
  }
  TrainResult result() { return result_.get(); }

 private:
  [[noreturn]] static void fail_as_ended(const TrainResult& result) {
    if (result.signal != 0) throw Interrupted(result.reason, result.signal);
    fail("training ended by itself");
  }

  Training training_;
  std::future<TrainResult> result_;  // goes first, as its thread uses the training
};

/// How many of these digits are read right by what has been learnt so far.
int digits_read(const LivePredictor& read, const Features& digits) {
  Array found = read(digits).at("digit");
  const Array& label = digits.at("label");
  int right = 0;
  for (std::int64_t i = 0; i < label.elements(); ++i) right += found.at(i) == label.at(i);
  return right;
}

int main(int argc, char** argv) {
  examples::Options defaults{.about =
                                 "An application trains a model of its own in a thread: it "
                                 "watches, saves, pauses and stops.",
                             .max_steps = 1000};
  defaults.run.threads = 1;  // the application has use for the other cores
  return examples::run(argc, argv, defaults, [](const auto& o) {
    DigitReader reader({.model_dir = o.model_dir, .run = o.run});
    Dataset train = data::drawn_digits() | data::shuffle(10'000, {.seed = o.run.seed})
                    | data::repeat() | data::batch(o.batch_size) | data::prefetch();
    Dataset test = data::drawn_digits({.split = data::Split::test}) | data::batch(500);
    if (o.plan) return examples::print_plan(o, reader, train, {.max_steps = o.max_steps});
    if (o.summary) return examples::print_summary(reader, train);
    auto at = [&](double fraction) {
      auto step = static_cast<std::int64_t>(fraction * static_cast<double>(o.max_steps));
      return [step](const TrainProgress& now) { return now.step >= step; };
    };

    Features digits;  // that the application wants to know
    test.open()->next(digits);
    LivePredictor read = reader.predictor();

    TrainingThread training(reader, train);
    training.wait_until(at(0.25));
    training.control().request_save();
    training.wait_until(at(0.5));
    training.control().pause();
    auto paused = training.wait_until([](const TrainProgress& now) { return now.paused; });
    log_info("paused at step ", paused.step, ", loss ", paused.loss, ", ", paused.rows, " digits");
    training.control().resume();
    training.wait_until(at(0.75));
    log_info("after three quarters: ", digits_read(read, digits), " of 500 digits are read right");
    training.wait_until(at(1));
    training.control().request_stop("the user has seen enough");
    TrainResult trained = training.result();
    log_info("stopped at step ", trained.global_step, ": ", trained.reason);
    return examples::report(trained, reader.evaluate(test));
  });
}
