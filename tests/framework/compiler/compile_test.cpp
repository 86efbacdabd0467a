// Whole plans: order, places, what reads what, and the report about them.

#include "../backend/device_without_memory.h"
#include "belfry/framework/compiler/reference_use.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/update/updates.h"
#include "belfry/framework/runtime/evaluate.h"
#include "belfry/framework/runtime/executable.h"
#include "belfry/framework/tensor/philox.h"
#include "compiler_testing.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- values

Array noise(const Shape& shape, std::uint64_t seed) {
  Array out(shape, DType::f32);
  PhiloxStream random(philox_key(seed, "noise"));
  for (float& x : out.span<float>()) x = random.uniform(-1, 1);
  return out;
}

// f32 rounds some tens of times on the way; sums here have at most a few hundred terms.
void expect_close(const Array& a, const Array& b, const std::string& what) {
  ASSERT_EQ(a.type(), b.type()) << what;
  double scale = 1e-6;
  for (std::int64_t i = 0; i < b.elements(); ++i) scale = std::max(scale, std::abs(b.at(i)));
  for (std::int64_t i = 0; i < b.elements(); ++i)
    ASSERT_NEAR(a.at(i), b.at(i), 256 * 0x1p-24 * scale) << what << ", element " << i;
}

TEST(Compile, RewritingChangesNoValue) {
  Graph graph;
  Tensor image = f32(graph, "image", {3, 6, 6, 4}), kernel = f32(graph, "kernel", {3, 3, 4, 4});
  Tensor scale = f32(graph, "scale", {4}), offset = f32(graph, "offset", {4});
  Tensor bias = f32(graph, "bias", {4});
  auto norm = [&](const Tensor& t) { return batch_norm_train(t, scale, offset).y; };
  Tensor a = relu(norm(conv2d(image, kernel)));
  Tensor b = relu(norm(conv2d(a, kernel)) + a);
  Tensor c = relu(conv2d(b, kernel) + bias);
  Tensor d = relu(norm(c) + norm(b));
  Tensor loss = mean(tanh(d) * 2.0 - square(c)) + sum(exp(mean(d, {.axes = {1, 2}})));
  std::vector<Tensor> outputs{loss, a, d};
  std::vector<Tensor> xs{image, kernel, scale, offset, bias};
  for (const Tensor& g : gradients(loss, xs)) outputs.push_back(g);
  std::map<std::string, Array> inputs;
  for (const Tensor& t : xs) {
    const auto& options = t.node().as<InputOptions>();
    inputs[options.name] = noise(options.type.shape, inputs.size());
  }
  std::vector<Array> plain = evaluate(outputs, inputs, {.fast = false});
  std::vector<Array> fast = evaluate(outputs, inputs);
  for (std::size_t i = 0; i < plain.size(); ++i)
    expect_close(fast[i], plain[i], concat("output ", i));
}

// A kernel is packed for both of its convolutions once, unless memory is short and the second one
// comes long after the first.
TEST(Compile, WeightsArePackedAgainWhereMemoryIsShort) {
  Graph graph;
  Tensor image = f32(graph, "image", {2, 32, 32, 64}),
         kernel = f32(graph, "kernel", {1, 1, 64, 64});
  auto device = find_device("cpu");
  auto packs = [&](int between, const CompileOptions& options) {
    Tensor y = conv2d(image, kernel);
    for (int i = 0; i < between; ++i) y = transpose(y, {0, 2, 1, 3});
    y = conv2d(y, kernel);
    auto plan = compile(std::vector{y}, {}, *device, options);
    return std::ranges::count(plan->instructions, Instruction::Role::pack, &Instruction::role);
  };
  CompileOptions short_of_memory{.recompute = {.most_bytes = 1}};
  EXPECT_EQ(packs(80, {}), 1);
  EXPECT_EQ(packs(80, short_of_memory), 2);
  EXPECT_EQ(packs(8, short_of_memory), 1);
}

// Random graphs of ops that share memory in every allowed way: a value overwritten too early would
// show.
TEST(Compile, SharingMemoryChangesNoValue) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    PhiloxStream random(philox_key(seed, "graph"));
    Graph graph;
    std::vector<Tensor> values{f32(graph, "x", {4, 6}), f32(graph, "y", {4, 6})};
    auto any = [&] { return values[random.below(values.size())]; };
    auto matrix = [&] { return reshape(any(), {4, 6}); };
    for (int i = 0; i < 25; ++i) {
      switch (random.below(8)) {
        case 0:
          values.push_back(matrix() + matrix());
          break;
        case 1:
          values.push_back(tanh(any()));
          break;
        case 2:
          values.push_back(reshape(any(), {6, 4}));
          break;
        case 3:
          values.push_back(matrix() * sum(matrix(), {.axes = {0}}));
          break;
        case 4:
          values.push_back(softmax(matrix()));
          break;
        case 5:
          values.push_back(transpose(reshape(any(), {6, 4})));
          break;
        case 6:
          values.push_back(matrix() - mean(matrix(), {.axes = {1}, .keep_dims = true}));
          break;
        default:
          values.push_back(where(greater(matrix(), matrix()), matrix(), matrix()));
      }
    }
    std::vector<Tensor> outputs{values.back(), any(), mean(any())};
    std::map<std::string, Array> inputs{{"x", noise({4, 6}, 1)}, {"y", noise({4, 6}, 2)}};
    std::vector<Array> plain = evaluate(outputs, inputs, {.fast = false});
    std::vector<Array> fast = evaluate(outputs, inputs);
    for (std::size_t i = 0; i < plain.size(); ++i)
      expect_close(fast[i], plain[i], concat("seed ", seed, ", output ", i));
  }
}

// ---- effects

class Effects : public ::testing::Test {
 protected:
  Variable variable(const std::string& name, double value) {
    return Scope(graph).variable(name, {.shape = {2}, .initializer = constant_value(value)});
  }
  void run(const std::vector<Tensor>& outputs = {}) {
    auto plan = compile(outputs, graph.effects(), store.device(), {.verify = true});
    Executable executable(plan, store, 0);
    executable.run({}, {});
    for (std::size_t i = 0; i < executable.output_count(); ++i)
      fetched.push_back(executable.output(i).at(0));
  }
  double value(const std::string& name) { return store.read(name).at(1); }

  Graph graph;
  VariableStore store{find_device("cpu")};
  std::vector<double> fetched;
};

TEST_F(Effects, ASwapSwaps) {
  Variable x = variable("x", 1), y = variable("y", 2);
  assign(x, y);
  assign(y, x);
  run();
  EXPECT_EQ(value("x"), 2);
  EXPECT_EQ(value("y"), 1);
}

TEST_F(Effects, ViewsOfVariablesAreReadBeforehandToo) {
  Variable x = variable("x", 1), y = variable("y", 2), z = variable("z", 3);
  assign(x, y);
  assign(y, reshape(reshape(x, {2, 1}), {2}));
  assign(z, y);
  run();
  EXPECT_EQ(value("x"), 2);
  EXPECT_EQ(value("y"), 1);
  EXPECT_EQ(value("z"), 2);
}

TEST_F(Effects, AnUpdateMayReadWhatItWrites) {
  Variable x = variable("x", 8), y = variable("y", 2);
  std::vector<UpdateGroup> groups{{x, y.value(), {}}, {y, x.value(), {}}};
  sgd_update(constant(graph, 0.5, DType::f32), groups);
  run();
  EXPECT_EQ(value("x"), 8 - 0.5 * 2);
  EXPECT_EQ(value("y"), 2 - 0.5 * 8);
}

TEST_F(Effects, OutputsAreFromBeforeThem) {
  Variable x = variable("x", 1);
  assign(x, x.value() + 1.0);
  run({x, reshape(x, {1, 2}), x.value() * 10.0});
  EXPECT_THAT(fetched, ElementsAre(1, 1, 10));
  EXPECT_EQ(value("x"), 2);
}

TEST_F(Effects, ReadsThatWereMadeLaterComeFirst) {
  Variable x = variable("x", 1), y = variable("y", 0);
  assign(x, constant(graph, Array::of({5.f, 5.f})));
  assign(y, exp(x) * 0.0 + x.value());
  run();
  EXPECT_EQ(value("y"), 1);
}

TEST_F(Effects, TheLastAssignmentStays) {
  Variable x = variable("x", 1);
  assign(x, x.value() + 1.0);
  assign(x, x.value() + 10.0);
  run();
  EXPECT_EQ(value("x"), 11);
}

TEST_F(Effects, StandLastInThePlan) {
  Variable x = variable("x", 1);
  assign(x, x.value() * 2.0);
  Tensor later = exp(x);
  std::vector<Tensor> outputs{later};
  auto plan = compile(outputs, graph.effects(), store.device());
  ASSERT_EQ(plan->instructions.size(), 3u);
  EXPECT_EQ(plan->first_effect, 2);
  EXPECT_EQ(plan->instructions[2].node->op().name, "assign");
}

// ---- places

TEST(Plan, ViewsShareMemory) {
  Graph graph;
  Tensor y = stop_gradient(reshape(exp(f32(graph, "x", {2, 3})), {6}));
  auto plan = plan_of({reshape(y, {3, 2}), y}, false);
  EXPECT_EQ(plan->instructions.size(), 1u);
  EXPECT_EQ(plan->outputs[0], plan->outputs[1]);
  EXPECT_EQ(plan->outputs[0], plan->instructions[0].outputs[0]);
  Tensor x = f32(graph, "z", {4});
  EXPECT_EQ(plan_of({reshape(x, {2, 2})})->outputs[0].kind, Location::Kind::input);
}

TEST(Plan, ADyingInputIsOverwritten) {
  Graph graph;
  auto plan = plan_of({exp(tanh(exp(f32(graph, "x", {100}))))}, false);
  EXPECT_EQ(plan->blocks.size(), 1u);
  EXPECT_EQ(plan->arena_bytes, 448);  // 400 bytes, to the next 64
}

TEST(Plan, ALivingInputIsNot) {
  Graph graph;
  Tensor a = exp(f32(graph, "x", {100}));
  Tensor b = tanh(a);
  auto plan = plan_of({a, b}, false);
  EXPECT_EQ(plan->blocks.size(), 2u);
  EXPECT_NE(plan->outputs[0], plan->outputs[1]);
  // Leaves are never overwritten, nor is what a view still shows.
  Tensor viewed = reshape(a, {10, 10});
  auto with_view = plan_of({exp(a), viewed}, false);
  EXPECT_NE(with_view->outputs[0], with_view->outputs[1]);
  EXPECT_EQ(plan_of({exp(f32(graph, "z", {8}))})->outputs[0].kind, Location::Kind::arena);
}

// A gradient whose addend is also the operand that it is made of, as in x + conv2d(x).
TEST(Plan, ADyingInputThatIsReadTwiceIsNot) {
  Graph graph;
  Tensor dy = exp(f32(graph, "dy", {1, 4, 4, 2})), other = exp(f32(graph, "other", {1, 4, 4, 2})),
         kernel = f32(graph, "kernel", {3, 3, 2, 2});
  ConvGradInputOptions options{Conv2dOptions{}, {4, 4}};
  auto once = plan_of({apply1(conv2d_grad_input_op, {dy, kernel, other}, options)}, false);
  EXPECT_EQ(once->blocks.size(), 2u);
  auto twice = plan_of({apply1(conv2d_grad_input_op, {dy, kernel, dy}, options)}, false);
  EXPECT_EQ(twice->blocks.size(), 2u);
}

TEST(Plan, BroadcastInputsKeepTheirPlace) {
  Graph graph;
  Tensor row = exp(f32(graph, "row", {4})), x = f32(graph, "x", {4, 4});
  auto plan = plan_of({x + row}, false);
  EXPECT_EQ(plan->blocks.size(), 2u);
}

TEST(Plan, DeadCodeDoesNotExist) {
  Graph graph;
  Tensor x = f32(graph, "x", {4});
  sqrt(exp(f32(graph, "unused", {4})));
  auto plan = plan_of({tanh(x)});
  EXPECT_EQ(plan->instructions.size(), 1u);
  EXPECT_EQ(plan->inputs.size(), 1u);
}

TEST(Plan, NothingIsAPlan) {
  auto plan = plan_of({});
  EXPECT_TRUE(plan->instructions.empty());
  EXPECT_EQ(plan->arena_bytes, 0);
}

// ---- a device without kernels

TEST(Compile, AMissingKernelIsNamedWithPathAndDevice) {
  DeviceWithoutMemory device;
  Graph graph;
  Scope s = Scope(graph) / "discriminator" / "down1";
  Variable w = s.variable("w", {.shape = {2}});
  std::vector<Tensor> outputs{softmax(w)};
  EXPECT_THAT(error_of([&] { compile(outputs, {}, device); }),
              AllOf(HasSubstr("softmax: there is no kernel on bare:0 for f32[2]"),
                    HasSubstr("(at discriminator/down1)")));
}

// ---- the report

TEST(Explain, ListsKernelsMemoryAndTheLargest) {
  Graph graph;
  Scope s = Scope(graph) / "fc";
  Variable w = s.variable("kernel", {.shape = {256, 512}});
  s.variable("m", {.shape = {256, 512}, .kind = VariableKind::slot});
  Tensor y = relu(matmul(f32(graph, "x", {64, 256}), w));
  std::string report = explain(*plan_of({softmax(y)}));
  EXPECT_THAT(report,
              AllOf(HasSubstr("plan: 2 kernels, 0.017 GFLOP a step, "),
                    HasSubstr("forward  matmul"), HasSubstr("activation=relu"),
                    HasSubstr("f32[64, 512]"), HasSubstr("parameters and statistics   512.0 KiB"),
                    HasSubstr("optimizer slots             0 B"),
                    HasSubstr("inputs                      64.0 KiB"),
                    HasSubstr("largest tensors:\n  512.0 KiB   fc/kernel")));
}

TEST(Explain, SaysWhatIsLeftToReferenceKernels) {
  Graph graph;
  Tensor x = f32(graph, "x", {100, 10});
  std::shared_ptr<const Plan> fast = plan_of({exp(x)}), slow = plan_of({prod(x, {.axes = {1}})});
  EXPECT_TRUE(reference_use(*fast).empty());
  EXPECT_THAT(explain(*fast), Not(HasSubstr("reference")));
  ASSERT_EQ(reference_use(*slow).size(), 1u);
  EXPECT_EQ(reference_use(*slow)[0].bytes, 4 * (1000 + 100));
  EXPECT_THAT(explain(*slow),
              HasSubstr("reference kernels, on one thread: 1 kernel, 100.0 % of the "
                        "bytes read and written: prod f32 100.0 %\n"));
  EXPECT_FALSE(references_are_noticeable(*slow));  // a step of a few microseconds
  Tensor large = f32(graph, "large", {1000, 1000});
  EXPECT_TRUE(references_are_noticeable(*plan_of({prod(large, {.axes = {1}})})));
}

// A table of 4 MB is no work: 3 rows of it are copied, as fast as by any other kernel.
TEST(Explain, DoesNotTakeLookupsForSlow) {
  Graph graph;
  Tensor table = f32(graph, "table", {1000, 1000}), rows = input(graph, "rows", {{3}, DType::i64});
  std::shared_ptr<const Plan> plan =
      plan_of({exp(gather(table, rows)), prod(f32(graph, "x", {8}))});
  std::vector<ReferenceUse> uses = reference_use(*plan);
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].what, "prod f32");
  // 8 numbers in and 1 out; of 3 rows, read and written by gather, then by exp
  EXPECT_DOUBLE_EQ(uses[0].fraction, 36.0 / (36 + 2 * 2 * 3 * 1000 * 4));
}

}  // namespace
}  // namespace belfry
