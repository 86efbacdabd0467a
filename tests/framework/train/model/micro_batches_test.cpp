// Steps in parts.

#include "../comparing.h"
#include "belfry/framework/train/model/model.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;

// The generator's update is for the variables so far; in later parts the critic's are there too.
EstimatorSpec adversarial(Scope s, const Batch& batch, Mode) {
  Tensor made = dense(s / "generator", batch["x"], {.units = 6});
  std::vector<Variable> generator = trainable_variables(s.graph());
  Tensor score = mean(dense(s / "critic", tanh(made), {.units = 1}));
  std::vector<Variable> critic = trainable_variables(s.graph(), "critic");
  return {.loss = score,
          .train = {minimize(score, sgd({.learning_rate = 0.1}), generator),
                    minimize(score * -1.0, sgd({.learning_rate = 0.1}), critic)}};
}

TEST(MicroBatches, UpdatesKeepTheVariablesOfTheFirstPart) {
  InputFn input = over_and_over({labelled_rows(6, 0), labelled_rows(5, 1)});
  for (int devices_each : {1, 2}) {
    RunConfig config = on_cpus(1, devices_each);
    if (devices_each == 2) config.split = auto_split(2);
    NamedArrays whole = variables_after(adversarial, config, input, 6);
    NamedArrays parts =
        variables_after(adversarial, config, input, 6, {std::make_shared<AsksForMicroBatches>(3)});
    EXPECT_LT(largest_difference(whole, parts), 1e-6) << devices_each;
  }
}

// Gradients are added up part by part: one sum and one part's, however many parts there are.
TEST(MicroBatches, GradientsTakeNoMoreMemoryWithMoreParts) {
  ModelFn wide = [](Scope s, const Batch& batch, Mode) -> EstimatorSpec {
    Tensor x = relu(dense(s / "in", batch["x"], {.units = 512}));
    Tensor logits = dense(s / "out", relu(dense(s / "hidden", x, {.units = 512})), {.units = 3});
    return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])), .train = sgd()};
  };
  auto device = find_device("cpu");
  std::vector<Device*> devices{device.get()};
  auto arena = [&](int parts) {
    Model model(wide, Mode::train, signature_of(labelled_rows(32, 0)), {},
                {.micro_batches = parts});
    return model.compile(devices)->plans[0]->arena_bytes;
  };
  std::int64_t two = arena(2);
  for (int parts : {4, 8, 16}) EXPECT_LE(arena(parts), two) << parts;
}

EstimatorSpec classifier(Scope s, const Batch& batch, Mode) {
  Tensor logits = dense(s / "out", batch["x"], {.units = 4});
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])), .train = sgd()};
}

// Row 4 of 6 is the first of the third of three parts.
TEST(MicroBatches, ErrorsCountRowsOfTheWholeBatch) {
  Features batch = labelled_rows(6, 0);
  Array labels = batch.at("label").clone();
  labels.span<std::int64_t>()[4] = -1;
  batch.set("label", labels);
  auto told = [&](int towers) {
    return error_of([&] {
      variables_after(classifier, on_cpus(towers, 1), once({batch}), 1,
                      {std::make_shared<AsksForMicroBatches>(3)});
    });
  };
  EXPECT_THAT(told(1), HasSubstr("label -1 at row 0 is outside 0..3 (at out) (in a part whose row "
                                 "0 is row 4) (in training step 1)"));
  EXPECT_THAT(told(2), HasSubstr("at row 0 is outside 0..3 (at out) (in a part whose row 0 is row "
                                 "1) (on tower 1, whose row 0 is row 3 of the batch's 6) (in"));
}

TEST(MicroBatches, AreAskedForBeforeTheModelIsBuilt) {
  ModelFn model = [](Scope s, const Batch& batch, Mode mode) {
    EstimatorSpec spec = linear(std::move(s), batch, mode);
    spec.hooks = {std::make_shared<AsksForMicroBatches>(2)};
    return spec;
  };
  EXPECT_THAT(error_of([&] {
                variables_after(model, on_cpus(1, 1), over_and_over({points({1, 2}, {1, 2})}), 1);
              }),
              HasSubstr("give it to TrainOptions::hooks"));
}

}  // namespace
}  // namespace belfry
