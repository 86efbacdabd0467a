#include "belfry/framework/export/op_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/attention/dot_product_attention.h"
#include "belfry/framework/ops/check_range.h"
#include "belfry/framework/ops/defs.h"
#include "belfry/framework/ops/defs_nn.h"
#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/math.h"
#include "belfry/framework/ops/movement/shape_ops.h"
#include "belfry/framework/ops/random/random.h"
#include "belfry/framework/ops/recurrent/recurrence.h"
#include "belfry/framework/ops/sequence/sequence_rows.h"

namespace belfry::saved {

void read_field(const OptionValue& from, Activation& activation) {
  require(from.words() == to_string(Activation::none),
          "an activation belongs to no saved graph, got `", from.words(), "`");
  activation = Activation::none;
}

void read_field(const OptionValue& from, Size2& size) {
  std::array<std::int64_t, 2> sizes{};
  read_value(from, sizes);
  size = {sizes[0], sizes[1]};
}

void read_field(const OptionValue& from, Padding& padding) {
  const std::string& text = from.words();
  if (text == "same" || text == "valid") {
    padding = text == "same" ? same_padding : valid_padding;
    return;
  }
  padding = {Padding::Kind::given, 0, {}};
  std::size_t count = 0;
  const char *at = text.data() + 1, *end = text.data() + text.size();
  bool good = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  while (good && at < end && count < padding.amounts.size()) {
    auto [behind, error] = std::from_chars(at, end, padding.amounts[count]);
    good = error == std::errc() && padding.amounts[count] >= 0
           && padding.amounts[count] <= std::int64_t{1} << 31;
    ++count;
    at = behind;
    if (good && end - at > 2 && at[0] == ',' && at[1] == ' ') {
      at += 2;
    } else {
      break;
    }
  }
  require(good && end - at == 1 && count % 2 == 0, "`", text,
          "` is no padding; expected same, valid or [1, 1, 2, 2]");
  padding.axes = count / 2;
}

namespace {

constexpr std::int64_t most = std::int64_t{1} << 40;  // of what shape rules add and multiply

void require_axis(const ShapeContext& c, int axis) {
  int rank = c.inputs[0].shape.rank();
  require(axis >= 0 && axis < rank, c.op, ": axis ", axis, " of ", c.inputs[0]);
}

void check_axis(const ShapeContext& c) { require_axis(c, c.as<AxisOptions>().axis); }

void check_softmax(const ShapeContext& c) {
  check_axis(c);
  require(is_floating(c.inputs[0].dtype), c.op, ": expected a floating type, got ", c.inputs[0]);
}

void check_concat(const ShapeContext& c) {
  check_axis(c);
  std::int64_t size = 0;
  for (const TensorType& part : c.inputs) {
    require(part.shape.rank() == c.inputs[0].shape.rank(), c.op, ": parts are ", c.inputs[0],
            " and ", part);
    require(!__builtin_add_overflow(size, part.shape[c.as<AxisOptions>().axis], &size), c.op,
            ": the parts' sizes are beyond 64 bits together");
  }
}

void check_reduction(const ShapeContext& c) {
  const auto& axes = c.as<ReduceOptions>().axes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    require_axis(c, axes[i]);
    require(i == 0 || axes[i] > axes[i - 1], c.op, ": axes must rise");
  }
}

void check_slice(const ShapeContext& c) {
  const auto& o = c.as<SliceOptions>();
  std::size_t rank = c.inputs[0].shape.rank();
  require(o.begin.size() == rank && o.size.size() == rank && o.strides.size() == rank, c.op, ": ",
          o.begin.size(), " begins, ", o.size.size(), " sizes and ", o.strides.size(),
          " strides for ", c.inputs[0]);
}

void check_embedding(const ShapeContext& c) {
  require(c.inputs[0].shape.rank() == 2 && c.as<AxisOptions>().axis == 0, c.op,
          ": the table must be [rows, width], got ", c.inputs[0]);
}

void check_window(const ShapeContext& c, const ConvWindow& w) {
  std::size_t axes = c.op.starts_with("conv3d") ? 3 : 2;
  require(w.stride.size() == axes && w.dilation.size() == axes, c.op, ": ", w.stride.size(),
          " strides and ", w.dilation.size(), " dilations");
}

void check_conv(const ShapeContext& c) {
  const auto& o = c.as<ConvOptions>();
  check_window(c, o.window);
  require(!o.bias, c.op, ": a bias belongs to no saved graph");
}

void check_conv_grad_input(const ShapeContext& c) {
  const auto& o = c.as<ConvGradInputOptions>();
  check_window(c, o.window);
  require(o.input_size.size() == o.window.stride.size(), c.op, ": the input has ",
          o.input_size.size(), " sizes");
  require(o.window.groups >= 1 && o.window.groups <= most, c.op, ": ", o.window.groups, " groups");
}

void check_matmul(const ShapeContext& c) {
  require(!c.as<MatmulNodeOptions>().bias, c.op, ": a bias belongs to no saved graph");
}

void check_batch_norm(const ShapeContext& c) {
  require(!c.as<BatchNormOptions>().residual, c.op, ": a residual belongs to no saved graph");
}

void require_state(const ShapeContext& c, std::size_t input) {
  TensorType state{{3}, DType::i64};
  require(c.inputs[input] == state, c.op, ": the state of random numbers is ", state, ", got ",
          c.inputs[input]);
}
void check_random(const ShapeContext& c) { require_state(c, 0); }
void check_dropout(const ShapeContext& c) {
  require_state(c, 1);
  float rate = c.as<DropoutMask>().rate;
  require(rate >= 0 && rate < 1, c.op, ": rate ", rate);
}

void check_recurrent(const ShapeContext& c) {
  require(c.inputs[1].shape.rank() < 1 || c.inputs[1].shape[0] <= most, c.op, ": ",
          c.inputs[1].shape[0], " units");
}
void check_attention(const ShapeContext& c) {
  const auto& o = c.as<DotProductAttentionNodeOptions>();
  require(o.window >= 0 && o.window <= most, c.op, ": a window of ", o.window);
  require(o.dropout >= 0 && o.dropout < 1, c.op, ": dropout ", o.dropout);
  if (o.dropout > 0) require_state(c, c.inputs.size() - 1);
}

void check_input(const ShapeContext& c) {
  const auto& o = c.as<InputOptions>();
  if (!is_run_input(o.name)) return;
  const std::map<std::string_view, TensorType> known{{global_step_input, {{}, DType::i64}},
                                                     {random_state_input, {{3}, DType::i64}},
                                                     {tower_weight_input, {{}, DType::f64}},
                                                     {tower_index_input, {{}, DType::i64}}};
  auto found = known.find(o.name);
  require(found != known.end() && found->second == o.type, "input: the runtime feeds no `", o.name,
          "` ", o.type);
}

// The graph keeps a variable's name and type alone.
Options variable_options(std::span<const Option> options, const BatchSize& batch) {
  auto leaf = read_options<InputOptions>(options, batch).as<InputOptions>();
  return VariableOptions{.name = leaf.name, .type = leaf.type};
}

using Table = std::map<std::string_view, KnownOp>;

Table make_table() {
  Table table;
  constexpr std::size_t any = 1 << 20;
  auto add = [&](const OpDef& op, std::size_t fewest, std::size_t most_inputs, auto options,
                 void (*check)(const ShapeContext&) = nullptr) {
    table.emplace(op.name, KnownOp{&op, fewest, most_inputs, options, check});
  };
  for_each_functor([&](auto f) { add(f.op, f.arity, f.arity, no_options); });
  add(stop_gradient_op, 1, 1, no_options);
  add(cast_op, 1, 1, read_options<CastOptions>);
  for (const OpDef* op : {&sum_op, &max_op, &min_op, &prod_op})
    add(*op, 1, 1, read_options<ReduceOptions>, check_reduction);
  for (const OpDef* op : {&argmax_op, &argmin_op})
    add(*op, 1, 1, read_options<AxisOptions>, check_axis);
  for (const OpDef* op : {&softmax_op, &log_softmax_op})
    add(*op, 1, 1, read_options<AxisOptions>, check_softmax);
  for (const OpDef* op : {&reshape_op, &broadcast_to_op})
    add(*op, 1, 1, read_options<ShapeOptions>);
  add(transpose_op, 1, 1, read_options<TransposeOptions>);
  add(concat_op, 1, any, read_options<AxisOptions>, check_concat);
  add(slice_op, 1, 1, read_options<SliceOptions>, check_slice);
  add(pad_op, 1, 1, read_options<PadOptions>);
  add(gather_op, 2, 2, read_options<AxisOptions>, check_axis);
  add(embedding_lookup_op, 2, 2, read_options<AxisOptions>, check_embedding);
  add(one_hot_op, 1, 1, read_options<OneHotOptions>);
  add(matmul_op, 2, 2, read_options<MatmulNodeOptions>, check_matmul);
  for (const OpDef* op : {&conv2d_op, &conv3d_op})
    add(*op, 2, 2, read_options<ConvOptions>, check_conv);
  for (const OpDef* op : {&conv2d_grad_input_op, &conv3d_grad_input_op})
    add(*op, 2, 2, read_options<ConvGradInputOptions>, check_conv_grad_input);
  for (const OpDef* op : {&max_pool_op, &avg_pool_op}) add(*op, 1, 1, read_options<Pool2dOptions>);
  add(batch_norm_train_op, 3, 3, read_options<BatchNormOptions>, check_batch_norm);
  add(layer_norm_op, 3, 3, read_options<LayerNormOptions>);
  for (const OpDef* op : {&resize_nearest_op, &resize_bilinear_op})
    add(*op, 1, 1, read_options<ResizeOptions>);
  for (const OpDef* op : {&random_uniform_op, &random_normal_op, &random_truncated_normal_op})
    add(*op, 1, 1, read_options<RandomOptions>, check_random);
  add(dropout_op, 2, 2, read_options<DropoutMask>, check_dropout);
  add(recurrent_op, 2, 6, read_options<RecurrentNodeOptions>, check_recurrent);
  add(dot_product_attention_op, 3, 7, read_options<DotProductAttentionNodeOptions>,
      check_attention);
  add(ctc_collapse_op, 2, 2, read_options<CtcCollapseOptions>);
  add(check_range_op, 3, 3, read_options<CheckRangeOptions>);
  add(input_op, 0, 0, read_options<InputOptions>, check_input);
  add(variable_op, 0, 0, variable_options);
  return table;
}

Table& table() {
  static Table all = make_table();
  return all;
}

}  // namespace

Options no_options(std::span<const Option> options, const BatchSize& batch) {
  OptionReader(options, batch).finish();
  return {};
}

const KnownOp& known_op(std::string_view name) {
  auto found = table().find(name);
  require(found != table().end(), "op `", name,
          "` cannot be saved or loaded; if it is one of your own, make it known by add_known_op()");
  return found->second;
}

void add_known_op(const KnownOp& op) {
  bool added = table().emplace(op.op->name, op).second;
  require(added, "add_known_op: `", op.op->name, "` is known already");
}

OptionValue OptionReader::find(std::string_view name) {
  for (const Option& option : options_) {
    if (option.name != name) continue;
    read_.push_back(name);
    return {option.value, batch_};
  }
  fail("the option `", name, "` is missing");
}

void OptionReader::finish() const {
  for (const Option& option : options_)
    require(std::find(read_.begin(), read_.end(), option.name) != read_.end(),
            "there is no option `", option.name, "`");
}

bool OptionValue::truth() const {
  const bool* found = std::get_if<bool>(&value_);
  if (!found) refuse("true or false");
  return *found;
}

std::int64_t OptionValue::whole() const {
  if (const auto* text = std::get_if<std::string>(&value_))
    return extent_from_string(*text).at(batch_);
  const Extent* found = std::get_if<Extent>(&value_);
  if (!found) refuse("a whole number");
  return found->at(batch_);
}

double OptionValue::number() const {
  if (const double* found = std::get_if<double>(&value_)) return *found;
  return whole();
}

const std::string& OptionValue::words() const {
  const auto* found = std::get_if<std::string>(&value_);
  if (!found) refuse("a text");
  return *found;
}

std::vector<OptionValue> OptionValue::elements() const {
  std::vector<OptionValue> out;
  if (const auto* numbers = std::get_if<Numbers>(&value_)) {
    for (double number : *numbers) out.emplace_back(number, batch_);
  } else if (const auto* extents = std::get_if<std::vector<Extent>>(&value_)) {
    for (const Extent& extent : *extents) {
      std::int64_t number = extent.at(batch_);
      require(number >= -most && number <= most, number, " is out of range");
      out.emplace_back(extent, batch_);
    }
  } else {
    refuse("a list of numbers");
  }
  return out;
}

void OptionValue::refuse(std::string_view expected) const {
  std::string got = std::visit(
      [](const auto& value) {
        if constexpr (requires { text(value); }) {
          return text(value);
        } else {
          return concat("[", join(value, ", "), "]");
        }
      },
      value_);
  fail("must be ", expected, ", got ", got);
}

void read_field(const OptionValue& from, Shape& shape) {
  std::vector<std::int64_t> sizes;
  read_value(from, sizes);
  shape = Shape(sizes);
}

void read_field(const OptionValue& from, TensorType& type) {
  type = type_from_string(from.words()).at(from.batch());
}

}  // namespace belfry::saved
