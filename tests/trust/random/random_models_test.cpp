// Models put together at random: the compiled plan gives what the reference gives, in each type;
// gradients are those of differences.
//
// BELFRY_RANDOM_MODELS says how many models are tried, BELFRY_RANDOM_SEED the first one's seed.
// BELFRY_RANDOM_ONLY is the seed of one that is tried alone, and printed. The shares that are
// expected over all of them hold for hundreds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>

#include "../../framework/base/from_environment.h"
#include "../tell_count.h"
#include "belfry/framework/ops/autocast.h"
#include "belfry/framework/runtime/evaluate.h"
#include "belfry/framework/tensor/philox.h"
#include "random_rounding.h"
#include "random_subject.h"

namespace belfry::random_models {
namespace {

using Arrays = std::vector<Array>;
using Feed = Subject::Feed;

const EvaluateOptions reference{.fast = false, .seed = 3, .step = 5}, fast{.seed = 3, .step = 5};

double largest(const Array& a) {
  double out = 1e-30;
  for (std::int64_t i = 0; i < a.elements(); ++i)
    if (std::isfinite(a.at(i))) out = std::max(out, std::abs(a.at(i)));
  return out;
}

// The largest difference; infinite for NaN or infinity on one side alone.
double apart(const Array& got, const Array& wanted) {
  double worst = 0;
  for (std::int64_t i = 0; i < wanted.elements(); ++i) {
    double a = got.at(i), b = wanted.at(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    double d = std::abs(a - b);
    worst = std::isfinite(d) ? std::max(worst, d) : INFINITY;
  }
  return worst;
}

bool is_finite(const Array& a) {
  for (std::int64_t i = 0; i < a.elements(); ++i)
    if (!std::isfinite(a.at(i))) return false;
  return true;
}

// How much a kind of check has compared, and how much of it the reference itself cannot tell.
struct Count {
  int compared = 0, left_out = 0;
};
struct Tally {
  Count f64 = {}, f32 = {}, low = {}, differences = {};
  int models = 0, penalised = 0;
  std::map<std::string, int> ops = {};
};

// The rounding that check_op() allows the ops of a graph.
double rounding_of(const Graph& graph) {
  double most = 32;
  for (const auto& node : graph) {
    std::string_view op = node->op().name;
    if (op.starts_with("conv")) most = std::max(most, 64.0);
    if (op.find("attention") != op.npos) most = std::max(most, 128.0);
    if (op.find("recurrent") != op.npos) most = 256;
  }
  return most;
}

// How far results of a type may be apart, in units of the largest element, and the rounding of one
// op, generously.
struct Comparison {
  std::string what;
  double allowed, rounding;
};

class RandomModel {
 public:
  RandomModel(std::uint64_t seed, Tally& tally)
      : seed_(seed), tally_(tally), exact_(seed, DType::f64) {
    wanted_ = evaluate(all_of(exact_), exact_.feed(), reference);
    ++tally.models, tally.penalised += exact_.is_penalised();
    for (const auto& node : exact_.graph()) ++tally.ops[std::string(node->op().name)];
  }

  Subject& exact() { return exact_; }

  void check_f64() {
    compare({.what = "f64", .allowed = 1e-11, .rounding = 0x1p-50}, tally_.f64, run_twice(exact_),
            wanted_);
  }
  // The reference in f32 is checked as well: only rounding may take it away from the exact one.
  void check_f32() {
    Subject single(seed_, DType::f32);
    Arrays slow = evaluate(all_of(single), single.feed(), reference);
    double allowed = rounding_of(exact_.graph()) * 0x1p-23;
    Comparison c{.what = "f32 reference", .allowed = allowed, .rounding = 0x1p-21};
    compare(c, tally_.f32, slow, wanted_);
    c.what = "f32";
    compare(c, tally_.f32, run_twice(single), wanted_, &slow);
  }
  // Against the reference in the same types, which rounds where the fast kernels round.
  void check_low(DType low, bool mixed) {
    Subject subject(seed_, mixed ? DType::f32 : low, mixed ? autocast(low) : Graph::InputRule());
    double unit = low == DType::bf16 ? 0x1p-7 : 0x1p-10;
    double allowed = std::max(4.0, rounding_of(exact_.graph()) / 16) * unit;
    Arrays slow = evaluate(all_of(subject), subject.feed(), reference);
    compare({.what = concat(low, mixed ? " mixed" : ""), .allowed = allowed, .rounding = unit},
            tally_.low, run_twice(subject), slow, &slow);
  }

  // Central differences in f64 along a random direction of all of a tensor's elements, and along
  // some of its elements alone. All are a little beside round numbers, of which many are equal: the
  // maximum of these has no derivative.
  void check_differences() {
    Evaluator loss({exact_.loss()}, reference);
    Feed feed = exact_.feed();
    PhiloxStream random(philox_key(seed_, "differences"));
    for (const Tensor& x : exact_.xs())
      for (double& value : (feed[name_of(x)] = feed.at(name_of(x)).clone()).span<double>())
        value += random.uniform() / 1024;
    double middle = loss(feed)[0].item();
    Arrays gradients = evaluate(exact_.gradient_tensors(), feed, reference);
    std::size_t next = 0;
    for (std::size_t k = 0; k < exact_.xs().size(); ++k) {
      const Tensor& x = exact_.xs()[k];
      Array analytic =
          exact_.depends()[k] ? gradients[next++] : Array::zeros(x.shape(), DType::f64);
      std::string name = name_of(x);
      for (int trial = 0; trial < 3 && analytic.elements() > 0; ++trial) {
        Array direction = Array::zeros(x.shape(), DType::f64);
        if (trial == 0) {
          for (double& d : direction.span<double>()) d = random.below(2) ? 1 : -1;
        } else {
          direction.span<double>()[random.below(direction.span<double>().size())] = 1;
        }
        check_difference(loss, feed, name, middle, analytic, direction);
      }
    }
  }

 private:
  void check_difference(Evaluator& loss, const Feed& feed, const std::string& name, double middle,
                        const Array& analytic, const Array& direction) {
    constexpr double step = 1e-5;
    auto at = [&](double along) {
      Feed moved = feed;
      Array x = feed.at(name).clone();
      for (std::int64_t i = 0; i < x.elements(); ++i)
        x.span<double>()[static_cast<std::size_t>(i)] += along * direction.at(i);
      moved[name] = x;
      return loss(moved)[0].item();
    };
    double above = at(step), below = at(-step), slope = 0, terms = 0;
    for (std::int64_t i = 0; i < analytic.elements(); ++i) {
      slope += analytic.at(i) * direction.at(i);
      if (direction.at(i) != 0) terms += 1;
    }
    double numeric = (above - below) / (2 * step), curvature = (above - 2 * middle + below) / step;
    // The truncation, as in check_op(); the loss is rounded some times on its way.
    double allowed =
        1e-6 * std::max(largest(analytic), std::abs(numeric) / terms) * std::sqrt(terms)
        + 0x1p-45 * std::max(1.0, std::abs(middle)) / step;
    ++tally_.differences.compared;
    if (std::abs(numeric - slope) <= allowed) return;
    bool kink = std::abs(numeric - slope) <= std::abs(curvature);
    // A loss with the norm of max()'s gradient jumps: then differences depend on their step.
    double closer = (at(step / 10) - at(-step / 10)) / (step / 5);
    bool jump = std::abs(closer - numeric) > std::abs(numeric - slope);
    // A norm of what is nearly constant magnifies rounding. That shows over steps so short that a
    // wrong gradient does not.
    double scatter = 0;
    for (double shortest : {1e-9, 2e-9, 3e-9})
      scatter = std::max(scatter, std::abs(at(shortest) - at(-shortest) - 2 * shortest * slope));
    bool noise = std::abs(numeric - slope) * 2 * step <= 4 * scatter;
    tally_.differences.left_out += kink || jump || noise;
    if (kink || jump || noise) return;
    ADD_FAILURE() << "seed " << seed_ << ": the gradient of " << name << " along a direction of "
                  << terms << " elements is " << slope << ", differences give " << numeric
                  << ", allowed difference " << allowed;
  }

  static std::vector<Tensor> all_of(const Subject& s) {
    std::vector<Tensor> all = s.whole();
    all.insert(all.end(), s.outputs().begin(), s.outputs().end());
    all.insert(all.end(), s.gradient_tensors().begin(), s.gradient_tensors().end());
    return all;
  }

  // In between, on other inputs: nothing of a step stays behind.
  Arrays run_twice(const Subject& subject) {
    Evaluator run(all_of(subject), fast);
    Arrays first = run(subject.feed());
    run(subject.feed(0.25));
    Arrays second = run(subject.feed());
    for (std::size_t i = 0; i < first.size(); ++i)
      EXPECT_TRUE(identical(first[i], second[i])) << "seed " << seed_ << ": two runs differ";
    return first;
  }

  // How far rounding alone takes a result: the largest distance from the exact one when every op
  // rounds as the type does, and that of `slow`, the reference in the type. No more draws are made
  // when it is `enough`.
  double wobble(double rounding, std::size_t i, const Arrays* slow, double enough) {
    double worst = slow ? apart((*slow)[i], wanted_[i]) : 0;
    std::vector<Arrays>& runs = rounded_[rounding];
    for (std::uint64_t draw = 0; draw < 8 && worst < enough; ++draw) {
      if (runs.size() <= draw) {
        Program program = rounded(all_of(exact_), rounding, draw);
        runs.push_back(evaluate(program.outputs, exact_.feed(), reference));
      }
      worst = std::max(worst, apart(runs[draw][i], wanted_[i]));
    }
    return worst;
  }

  void compare(const Comparison& c, Count& count, const Arrays& got, const Arrays& wanted,
               const Arrays* slow = nullptr) {
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      bool whole = i < exact_.whole().size();
      ASSERT_EQ(got[i].shape(), wanted[i].shape());
      ++count.compared;
      double difference = apart(got[i], wanted[i]);
      double allowed = whole ? 0 : c.allowed * largest(wanted[i]);
      if (difference <= allowed) {
        count.left_out += !is_finite(wanted[i]);  // little of it was compared
        continue;
      }
      if (!whole && std::isfinite(difference))
        allowed += 4 * wobble(c.rounding, i, slow, (difference - allowed) / 4);
      if (!whole && difference <= allowed) {
        ++count.left_out;
        continue;
      }
      ADD_FAILURE() << "seed " << seed_ << ", " << c.what << ", " << name_of(i) << " "
                    << text(wanted[i].type()) << ": " << difference << " apart, " << allowed
                    << " allowed";
    }
  }

  static std::string name_of(const Tensor& x) {
    const Node& node = x.node();
    return node.is(variable_op) ? node.as<VariableOptions>().name : node.as<InputOptions>().name;
  }

  std::string name_of(std::size_t i) const {
    std::size_t whole = exact_.whole().size(), outputs = whole + exact_.outputs().size();
    if (i < whole) return concat("whole output ", i);
    return i < outputs ? concat("output ", i - whole) : concat("gradient ", i - outputs);
  }

  std::uint64_t seed_;
  Tally& tally_;
  Subject exact_;
  Arrays wanted_;
  std::map<double, std::vector<Arrays>> rounded_;
};

void for_each_seed(const std::function<void(std::uint64_t)>& run, std::int64_t usual,
                   std::string_view what) {
  std::int64_t only = from_environment("BELFRY_RANDOM_ONLY", -1);
  if (only >= 0) return run(static_cast<std::uint64_t>(only));
  std::int64_t first = from_environment("BELFRY_RANDOM_SEED", 0);
  std::int64_t count = from_environment("BELFRY_RANDOM_MODELS", usual);
  for (std::int64_t i = 0; i < count; ++i) {
    try {
      run(static_cast<std::uint64_t>(first + i));
    } catch (const std::exception& error) {
      ADD_FAILURE() << "seed " << first + i << ": " << error.what();
    }
  }
  tell_count(count, what);
}

bool is_alone() { return std::getenv("BELFRY_RANDOM_ONLY"); }

// A result is left out where rounding alone takes the reference too far for its tolerance, or it
// is not finite; they are few.
void expect_few_left_out(std::string_view check, const Count& count, double share) {
  std::cout << check << ": " << count.compared << " compared, " << count.left_out << " left out\n";
  EXPECT_TRUE(is_alone() || count.left_out <= share * count.compared) << check;
}

void print_if_alone(Graph& graph) {
  if (is_alone()) std::cout << to_text(graph) << std::endl;
}

TEST(RandomModels, PlansGiveWhatTheReferenceGives) {
  Tally tally;
  for_each_seed(
      [&](std::uint64_t seed) {
        RandomModel model(seed, tally);
        print_if_alone(model.exact().graph());
        model.check_f64();
        model.check_f32();
        model.check_low(seed % 2 ? DType::bf16 : DType::f16, seed % 3 != 0);
      },
      200, "random models like the reference");
  expect_few_left_out("f64", tally.f64, 0.02);
  expect_few_left_out("f32", tally.f32, 0.02);
  expect_few_left_out("bf16 and f16", tally.low, 0.05);
  if (std::getenv("BELFRY_RANDOM_OPS"))
    for (const auto& [op, n] : tally.ops) std::cout << op << " " << n << "\n";
}

TEST(RandomModels, GradientsAreThoseOfDifferences) {
  Tally tally;
  for_each_seed([&](std::uint64_t seed) { RandomModel(seed, tally).check_differences(); }, 200,
                "random models with gradients like differences");
  expect_few_left_out("differences", tally.differences, 0.01);
  std::cout << tally.penalised << " of " << tally.models << " with a gradient penalty\n";
  EXPECT_TRUE(is_alone() || tally.penalised * 10 >= tally.models);
}

}  // namespace
}  // namespace belfry::random_models
