// A network for CIFAR-10 on two towers that share every batch, 8 rows and 7 of 15, trained twice:
// by a strategy, which copies the model for one tower to all, and by a model_fn that writes the
// towers out. Both have the same variables in the end, to the last bit.

#include <belfry/data.h>
#include <belfry/framework.h>
#include <belfry/hooks.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "common/program.h"

using namespace belfry;

constexpr double kept = 0.9;  // share of the moving statistics that a step keeps
constexpr double epsilon = 1e-5;

using Norm = std::function<Tensor(Scope, Tensor)>;

// x [n, 32, 32, 3] -> logits [n, 10].
Tensor network(Scope s, Tensor x, const Norm& norm) {
  for (int stage = 1; stage <= 3; ++stage) {
    Scope layer = s / concat("conv", stage);
    x = conv2d(layer, x, {.filters = 16 << stage, .kernel = 3, .use_bias = false});
    x = max_pool(relu(norm(layer / "norm", x)));  // [n, 16, 16, 32], ... [n, 4, 4, 128]
  }
  return dense(s / "head", global_avg_pool(x), {.units = 10});
}

Tensor loss_of(Tensor logits, Tensor label) {
  return mean(sparse_softmax_cross_entropy(logits, label));
}

// Both trainings update the variables by the same rule and keep moving averages of them.
EstimatorSpec spec_of(Tensor loss, Tensor logits, const Batch& batch) {
  return {.loss = loss,
          .train = momentum({.learning_rate = 0.05, .momentum = 0.9, .weight_decay = 5e-4}),
          .metrics = {{"accuracy", accuracy(batch["label"], argmax(logits, 1))}},
          .hooks = {hooks::moving_average({.decay = 0.99})}};
}

// ---- one tower; a strategy makes several of it

Norm norm_of_one_tower(Mode mode) {
  return [mode](Scope s, Tensor x) {
    return batch_norm(s, x,
                      {.training = mode == Mode::train, .momentum = kept, .epsilon = epsilon});
  };
}

EstimatorSpec one_tower(Scope s, const Batch& batch, Mode mode) {
  Tensor logits = network(s, batch["image"], norm_of_one_tower(mode));
  if (mode == Mode::predict) return {.predictions = {{"class", argmax(logits, 1)}}};
  return spec_of(loss_of(logits, batch["label"]), logits, batch);
}

// ---- several, by hand

// Each tower's updates of what all towers have in common: it becomes their mean, weighted by rows.
class UpdateOps {
 public:
  void add(Variable variable, Tensor value, double weight) {
    Tensor& sum = sums_[variable.name()].second;
    sums_[variable.name()].first = variable;
    sum = sum.defined() ? sum + value * weight : value * weight;
  }
  void apply(const Scope& s) const {
    Graph::PlacementGuard guard(s.graph(), s.placement());
    for (const auto& [name, update] : sums_) assign(update.first, update.second);
  }

 private:
  std::map<std::string, std::pair<Variable, Tensor>> sums_;
};

// batch_norm() in training, but what its statistics become is left to `updates`. A layer that is
// called again with the same variables would go on from what its last call assigned.
Tensor tower_norm(Scope s, Tensor x, double weight, UpdateOps& updates) {
  auto variable = [&](const char* name, double first, VariableKind kind) {
    return s.variable(name,
                      {.shape = {x.size(-1)}, .initializer = constant_value(first), .kind = kind});
  };
  Variable scale = variable("scale", 1, VariableKind::parameter);
  Variable offset = variable("offset", 0, VariableKind::parameter);
  Graph::PlacementGuard guard(s.graph(), s.placement());
  BatchNormResult result = batch_norm_train(x, scale, offset, epsilon);
  auto move = [&](const char* name, double first, Tensor batch) {
    Variable moving = variable(name, first, VariableKind::statistic);
    updates.add(moving, moving + (batch - moving) * (1 - kept), weight);
  };
  double count = x.shape().elements() / x.size(-1);
  move("moving_mean", 0, result.mean);
  move("moving_variance", 1, result.variance * (count / (count - 1)));
  return result.y;
}

// Tower t takes its rows on device t, with the variables that the first tower has made.
ModelFn written_out(int towers) {
  return [towers](Scope s, const Batch& batch, Mode mode) -> EstimatorSpec {
    std::vector<Tensor> logits;
    Tensor loss;
    UpdateOps updates;
    int number = 0;
    for (RowRange rows : split_rows(batch.rows(), towers)) {
      if (rows.count == 0) break;
      double weight = static_cast<double>(rows.count) / batch.rows();
      Scope tower = (number == 0 ? s : s.shared()).on(number);
      ++number;
      Batch own = batch.rows(rows.first, rows.count);
      Norm norm = norm_of_one_tower(mode);
      if (mode == Mode::train)
        norm = [&](Scope at, Tensor x) { return tower_norm(std::move(at), x, weight, updates); };
      logits.push_back(network(tower, own["image"], norm));
      if (mode == Mode::predict) continue;
      Tensor part = loss_of(logits.back(), own["label"]) * weight;
      loss = loss.defined() ? loss + part : part;
    }
    updates.apply(s);
    Tensor all = concat(logits, 0);
    if (mode == Mode::predict) return {.predictions = {{"class", argmax(all, 1)}}};
    return spec_of(loss, all, batch);
  };
}

// ---- pictures, u8 [32, 32, 3]

// Stripes in one of ten directions, the class, of any colours, width and place, under noise.
Features stripes(std::int64_t index, std::uint64_t seed) {
  PhiloxStream random(philox_key(seed, index));
  std::int64_t label = random.below(10);
  float angle = label * std::numbers::pi_v<float> / 10;
  float step_x = std::cos(angle), step_y = std::sin(angle);
  float speed = random.uniform(0.6f, 1.2f), phase = random.uniform(0, 6.3f);
  std::array<float, 3> contrast;
  for (float& c : contrast) c = random.uniform(-70, 70);
  Array image({32, 32, 3}, DType::u8);
  auto pixels = image.span<std::uint8_t>();
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    float x = i / 3 % 32, y = i / 96;
    float wave = std::sin((step_x * x + step_y * y) * speed + phase);
    pixels[i] = static_cast<std::uint8_t>(128 + contrast[i % 3] * wave + random.uniform(-40, 40));
  }
  return {{"image", image}, {"label", Array::scalar(label)}};
}

// CIFAR-10's binary files, or a folder of images for each class in train/ and in test/.
Dataset pictures(const examples::Options& o, data::Split split) {
  if (o.data_dir.empty())
    return data::indexed(split == data::Split::train ? 5000 : 500,
                         [seed = o.run.seed + (split == data::Split::test)](
                             std::int64_t i, Features& out) { out = stripes(i, seed); });
  std::string folder = o.data_dir + "/" + data::to_string(split);
  if (std::filesystem::is_directory(folder)) return data::image_folder(folder);
  return data::cifar10(o.data_dir, split);
}

// ---- comparing

struct Losses final : Hook {
  std::vector<double> of_steps;
  void after_step(const StepResult& result) override { of_steps.push_back(result.loss); }
};

// The largest difference of all variables, slots and moving averages included.
double largest_difference(Estimator& a, Estimator& b) {
  require(a.variable_names() == b.variable_names(), "the two trainings have different variables");
  double worst = 0;
  for (const std::string& name : a.variable_names()) {
    Array x = a.variable_value(name), y = b.variable_value(name);
    for (std::int64_t i = 0; i < x.elements(); ++i)
      worst = std::max(worst, std::abs(x.at(i) - y.at(i)));
  }
  return worst;
}

std::string subfolder(const std::string& folder, const char* name) {
  return folder.empty() ? folder : folder + "/" + name;
}

int main(int argc, char** argv) {
  examples::Options defaults{
      .about =
          "A network for CIFAR-10 on two towers, by a strategy and written out: both learn the "
          "same bits.",
      .data = "CIFAR-10: its binary files, or folders train and test with one of images a class",
      .max_steps = 1000,
      .batch_size = 15};
  defaults.run.devices = {"cpu:0", "cpu:1"};
  return examples::run(argc, argv, defaults, [](const auto& o) {
    auto scaled = data::normalize({.mean = {0.5}, .deviation = {0.25}});
    Dataset train = pictures(o, data::Split::train) | data::shuffle(50'000, {.seed = o.run.seed})
                    | data::repeat() | data::map(data::compose({data::pad_and_crop(), scaled}))
                    | data::batch(o.batch_size) | data::prefetch();
    Dataset test = pictures(o, data::Split::test) | data::map(scaled) | data::batch(100);
    RunConfig one_group = o.run;  // all devices are of one tower
    one_group.devices = {join(o.run.devices, "+")};
    int towers = static_cast<int>(o.run.devices.size());
    Estimator by_strategy({one_tower, subfolder(o.model_dir, "by_strategy"), o.run});
    Estimator by_hand({written_out(towers), subfolder(o.model_dir, "by_hand"), one_group});
    auto losses = std::make_shared<Losses>(), losses_by_hand = std::make_shared<Losses>();
    TrainOptions training{.max_steps = o.max_steps, .hooks = {losses, hooks::progress()}};
    if (o.plan) return examples::print_plan(o, by_strategy, train, training);
    if (o.summary) return examples::print_summary(by_strategy, train);
    by_strategy.train(train, training);
    training.hooks[0] = losses_by_hand;
    TrainResult trained = by_hand.train(train, training);
    auto result = by_strategy.evaluate(test, {.averaged = true});
    auto result_by_hand = by_hand.evaluate(test, {.averaged = true});
    return examples::Results{{"accuracy", result.at("accuracy")},
                             {"accuracy_by_hand", result_by_hand.at("accuracy")},
                             {"loss", trained.loss},
                             {"losses_are_equal", losses->of_steps == losses_by_hand->of_steps},
                             {"largest_difference", largest_difference(by_strategy, by_hand)},
                             {"global_step", static_cast<double>(trained.global_step)}};
  });
}
