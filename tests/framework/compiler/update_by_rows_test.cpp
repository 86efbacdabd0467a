// Covers update_by_rows.cpp: which updates are made by rows, and that this changes no bit.
#include <numeric>

#include "belfry/framework/graph/scope.h"
#include "belfry/framework/ops/update/updates.h"
#include "belfry/framework/runtime/executable.h"
#include "compiler_testing.h"

namespace belfry {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t rows = 64, width = 3, batch = 5;

// Adds the update node of groups.
using Rule = std::function<Node&(Tensor rate, Tensor step, std::span<const UpdateGroup> groups,
                                 Tensor condition)>;

Node& adagrad(Tensor rate, Tensor, std::span<const UpdateGroup> groups, Tensor condition) {
  return adagrad_update(rate, groups, {}, condition);
}

struct Problem {
  Graph graph;
  Scope scope{graph};
  Tensor ids = input(graph, "ids", {{batch}, DType::i64});
  Tensor other_ids = input(graph, "other_ids", {{2, 2}, DType::i32});
  Tensor rate = f32(graph, "rate", {});
  Variable table;
  Tensor loss;

  explicit Problem(DType dtype = DType::f32)
      : table(scope.variable(
          "table", {.shape = {rows, width}, .dtype = dtype, .initializer = uniform(-1, 1)})) {}

  Tensor looked_up() { return mean(square(embedding_lookup(table, ids))); }
  Tensor gradient() {
    if (!gradient_.defined()) gradient_ = gradients(loss, {{table}})[0];
    return gradient_;
  }
  Node& update(const Rule& rule, Tensor gradient, int slots, Tensor condition = {}) {
    return rule(rate, global_step(graph), {{group(table, gradient, slots)}}, condition);
  }
  UpdateGroup group(const Variable& variable, Tensor gradient, int slots) {
    UpdateGroup out{variable, gradient};
    for (int k = 0; k < slots; ++k)
      out.slots.push_back(scope.variable(concat(variable.name(), "_slot", k),
                                         {.shape = variable.value().shape(),
                                          .dtype = variable.value().dtype(),
                                          .initializer = k == 0 ? constant_value(0.1) : zeros()}));
    return out;
  }
  std::vector<std::string> ops(const std::vector<Tensor>& outputs = {}, bool host = true) {
    Program program = program_of(outputs, graph.effects());
    return ops_of(update_by_rows(program, [=](int) { return host; }));
  }

 private:
  Tensor gradient_;
};

Features step_of(std::int64_t step) {
  PhiloxStream random(philox_key(5, static_cast<std::uint64_t>(step)));
  Array ids(Shape{batch}, DType::i64), other(Shape{2, 2}, DType::i32);
  // Few, so that some come twice in a step.
  for (std::int64_t& id : ids.span<std::int64_t>())
    id = static_cast<std::int64_t>(random.below(6)) * 9;
  for (std::int32_t& id : other.span<std::int32_t>())
    id = static_cast<std::int32_t>(random.below(4)) * 9;
  return {{"ids", ids}, {"other_ids", other}, {"rate", Array::scalar(0.5f / float(step + 1))}};
}

// Every variable after some steps. Where the gradient is an output too, it has another reader.
std::map<std::string, Array> trained(Problem& p, const std::vector<Tensor>& outputs,
                                     CompileOptions options = {}) {
  options.verify = true;
  VariableStore variables(find_device("cpu"));
  Executable run(compile(outputs, p.graph.effects(), variables.device(), options), variables, 3);
  for (std::int64_t step = 0; step < 6; ++step) {
    Features in = step_of(step), wanted;
    for (const Node* node : run.plan().inputs)
      if (const std::string& name = node->as<InputOptions>().name; in.contains(name))
        wanted.set(name, in.at(name));
    run.run(wanted, {.step = step});
  }
  std::map<std::string, Array> out;
  for (const std::string& name : variables.names()) out[name] = variables.read(name);
  return out;
}

// `gradient`: of the table; it is the other reader of an update that is made as a whole.
void expect_same_bits(Problem& p, Tensor gradient, const std::string& what) {
  EXPECT_THAT(p.ops({p.loss}), Contains(HasSubstr("_rows_update"))) << what;
  EXPECT_THAT(p.ops({p.loss}), Not(Contains("gather_grad"))) << what;
  EXPECT_THAT(p.ops({p.loss, gradient}), Not(Contains(HasSubstr("_rows_update")))) << what;
  auto by_rows = trained(p, {p.loss}), whole = trained(p, {p.loss, gradient});
  ASSERT_EQ(by_rows.size(), whole.size());
  for (const auto& [name, value] : by_rows)
    EXPECT_TRUE(identical(value, whole.at(name))) << what << ": " << name;
}

// ---- what is computed

struct Case {
  std::string name;
  int slots;
  Rule rule;
};

std::vector<Case> cases() {
  using Groups = std::span<const UpdateGroup>;
  return {
      {"sgd", 0,
       [](Tensor rate, Tensor, Groups g, Tensor c) -> Node& { return sgd_update(rate, g, {}, c); }},
      {"adagrad", 1, adagrad},
      {"momentum", 1,
       [](Tensor rate, Tensor, Groups g, Tensor c) -> Node& {
         return momentum_update(rate, g, {.nesterov = true, .lazy = true}, c);
       }},
      {"adam", 2,
       [](Tensor rate, Tensor step, Groups g, Tensor c) -> Node& {
         return adam_update(rate, step, g, {.weight_decay = 0.1, .lazy = true}, c);
       }},
      {"ftrl", 2, [](Tensor rate, Tensor, Groups g, Tensor c) -> Node& {
         return ftrl_update(rate, g, {.l1 = 0.01, .l2 = 0.1, .lazy = true}, c);
       }}};
}

TEST(UpdateByRows, HasTheBitsOfTheWholeUpdate) {
  for (const Case& c : cases())
    for (DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      Problem p(dtype);
      p.loss = p.looked_up();
      p.update(c.rule, p.gradient(), c.slots);
      expect_same_bits(p, p.gradient(), concat(c.name, " ", dtype));
    }
}

TEST(UpdateByRows, AddsSeveralLookupsAsTheWholeUpdateDoes) {
  for (const Case& c : cases())
    for (DType dtype : {DType::f32, DType::bf16}) {
      Problem p(dtype);
      Tensor third = gather(p.table, p.ids + constant(p.graph, 1, DType::i64));
      p.loss = p.looked_up() + mean(embedding_lookup(p.table, p.other_ids)) + mean(exp(third));
      p.update(c.rule, p.gradient(), c.slots);
      expect_same_bits(p, p.gradient(), concat(c.name, " ", dtype));
    }
}

TEST(UpdateByRows, IsWhatReferenceKernelsCompute) {
  for (const Case& c : cases()) {
    Problem p(DType::f64);  // whose kernels are references
    p.loss = p.looked_up() + mean(embedding_lookup(p.table, p.other_ids));
    p.update(c.rule, p.gradient(), c.slots);
    auto fast = trained(p, {p.loss}), plain = trained(p, {p.loss}, {.fast = false});
    for (const auto& [name, value] : fast)
      for (std::int64_t i = 0; i < value.elements(); ++i)
        ASSERT_NEAR(value.at(i), plain.at(name).at(i), 1e-14) << c.name << ": " << name;
  }
}

TEST(UpdateByRows, LeavesOtherVariablesToTheWholeUpdate) {
  Problem p;
  Variable scale = p.scope.variable("scale", {.shape = {width}, .initializer = ones()});
  p.loss = mean(square(embedding_lookup(p.table, p.ids) * scale));
  auto found = gradients(p.loss, {{p.table, scale}});
  Tensor condition = less(mean(p.rate), constant(p.graph, 0.3, DType::f32));
  adagrad(p.rate, {}, {{p.group(p.table, found[0], 1), p.group(scale, found[1], 1)}}, condition);
  EXPECT_THAT(p.ops(), Contains("adagrad_update"));
  expect_same_bits(p, found[0], "with a condition");
}

TEST(UpdateByRows, ATableMayHaveOneAxis) {
  Problem p;
  Variable weights = p.scope.variable("weights", {.shape = {rows}, .initializer = uniform(-1, 1)});
  p.loss = mean(square(gather(weights, p.ids)));
  Tensor gradient = gradients(p.loss, {{weights}})[0];
  adagrad(p.rate, {}, {{p.group(weights, gradient, 1)}}, {});
  expect_same_bits(p, gradient, "one axis");
}

TEST(UpdateByRows, InfinityIsLeftAloneByDescentToo) {
  for (bool other_reader : {false, true}) {
    Problem p;
    p.loss = p.looked_up();
    p.update(cases()[0].rule, p.gradient(), 0);
    VariableStore variables(find_device("cpu"));
    std::vector<Tensor> outputs{p.loss};
    if (other_reader) outputs.push_back(p.gradient());
    Executable run(compile(outputs, p.graph.effects(), variables.device()), variables, 3);
    Array table = variables.read("table").clone();
    table.span<float>()[width * 2] = std::numeric_limits<float>::infinity();  // is not looked up
    variables.write("table", table);
    Features in = step_of(0);
    run.run({{"ids", in.at("ids")}, {"rate", in.at("rate")}}, {.step = 0});
    EXPECT_EQ(variables.read("table").at(width * 2), std::numeric_limits<double>::infinity());
  }
}

// ---- memory

TEST(UpdateByRows, TheGradientOfTheTableIsNowhere) {
  auto plan_of = [](bool other_reader) {
    Problem p;
    p.loss = p.looked_up();
    p.update(adagrad, p.gradient(), 1);
    std::vector<Tensor> outputs{p.loss};
    if (other_reader) outputs.push_back(p.gradient());
    auto device = find_device("cpu");
    return compile(outputs, p.graph.effects(), *device, {.threads = 1});
  };
  auto largest = [](const Plan& plan) {
    std::int64_t bytes = 0;
    for (const PlannedBlock& block : plan.blocks)
      if (block.use != MemoryUse::workspace) bytes = std::max(bytes, block.bytes);
    return bytes;
  };
  auto by_rows = plan_of(false), whole = plan_of(true);
  EXPECT_EQ(largest(*whole), rows * width * 4);
  EXPECT_EQ(largest(*by_rows), batch * width * 4);
  EXPECT_LT(by_rows->arena_bytes, whole->arena_bytes);
  EXPECT_THAT(explain(*by_rows), HasSubstr("adagrad_rows_update"));
}

// ---- what stays as it is

void expect_whole(Problem& p, const std::vector<Tensor>& outputs = {}, bool host = true) {
  for (const std::string& op : p.ops(outputs, host)) EXPECT_THAT(op, Not(HasSubstr("_rows_")));
}

TEST(UpdateByRows, NeedsADeviceThatHasKernels) {
  Problem p;
  p.loss = p.looked_up();
  p.update(adagrad, p.gradient(), 1);
  expect_whole(p, {}, false);
}

TEST(UpdateByRows, NeedsAGradientThatNobodyElseReads) {
  Problem p;
  p.loss = p.looked_up();
  Tensor gradient = p.gradient();
  p.update(adagrad, gradient, 1);
  expect_whole(p, {gradient});
  expect_whole(p, {sum(square(gradient))});
}

TEST(UpdateByRows, NeedsAGradientOfLookupsAlone) {
  Problem edited;
  edited.loss = edited.looked_up();
  edited.update(adagrad, edited.gradient() * 0.5, 1);
  expect_whole(edited);

  Problem tied;  // the table is a factor, too
  Tensor x = embedding_lookup(tied.table, tied.ids);
  tied.loss = mean(square(matmul(x, tied.table, {.transpose_b = true})));
  tied.update(adagrad, tied.gradient(), 1);
  expect_whole(tied);

  Problem columns;
  columns.loss = mean(square(gather(columns.table, constant(columns.graph, 1, DType::i64), 1)));
  columns.update(adagrad, columns.gradient(), 1);
  expect_whole(columns);
}

// (a + b) + (c + d) is not a + b + c + d.
TEST(UpdateByRows, NeedsLookupsAddedOneAfterTheOther) {
  Problem p;
  auto gradient_of = [&](Tensor a, Tensor b) {
    Tensor loss =
        mean(square(embedding_lookup(p.table, a))) + mean(exp(embedding_lookup(p.table, b)));
    return gradients(loss, {{p.table}})[0];
  };
  auto moved = [&](double by) { return p.ids + constant(p.graph, by, DType::i64); };
  p.update(adagrad, gradient_of(moved(1), moved(2)) + gradient_of(moved(3), moved(4)), 1);
  expect_whole(p);
}

TEST(UpdateByRows, NeedsARuleThatLeavesIdleRowsAlone) {
  using Groups = std::span<const UpdateGroup>;
  const std::vector<Case> others = {
      {"sgd with decay", 0,
       [](Tensor rate, Tensor, Groups g, Tensor c) -> Node& {
         return sgd_update(rate, g, {.weight_decay = 0.1}, c);
       }},
      {"momentum", 1,
       [](Tensor rate, Tensor, Groups g, Tensor c) -> Node& {
         return momentum_update(rate, g, {}, c);
       }},
      {"adam", 2,
       [](Tensor rate, Tensor step, Groups g, Tensor c) -> Node& {
         return adam_update(rate, step, g, {}, c);
       }},
      {"ftrl", 2,
       [](Tensor rate, Tensor, Groups g, Tensor c) -> Node& {
         return ftrl_update(rate, g, {}, c);
       }},
      {"rmsprop", 1, [](Tensor rate, Tensor, Groups g, Tensor c) -> Node& {
         return rmsprop_update(rate, g, {}, c);
       }}};
  for (const Case& c : others) {
    Problem p;
    p.loss = p.looked_up();
    p.update(c.rule, p.gradient(), c.slots);
    SCOPED_TRACE(c.name);
    expect_whole(p);
  }
}

TEST(UpdateByRows, NeedsFewLookups) {
  for (std::int64_t count : {rows / 2, rows / 2 + 1}) {
    Problem p;
    Array ids(Shape{count}, DType::i64);
    std::iota(ids.span<std::int64_t>().begin(), ids.span<std::int64_t>().end(), 0);
    p.loss = mean(square(embedding_lookup(p.table, constant(p.graph, ids))));
    p.update(adagrad, p.gradient(), 1);
    if (count * 2 <= rows)
      EXPECT_THAT(p.ops(), Contains("adagrad_rows_update"));
    else
      expect_whole(p);
  }
}

}  // namespace
}  // namespace belfry
