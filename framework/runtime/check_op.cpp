#include "belfry/framework/runtime/check_op.h"

#include <algorithm>
#include <cmath>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/ops/ops.h"
#include "belfry/framework/runtime/evaluate.h"
#include "belfry/framework/tensor/philox.h"

namespace belfry {
namespace {

constexpr double f32_epsilon = 0x1p-23, tf32_epsilon = 0x1p-10;

using Arrays = std::vector<Array>;

std::set<std::string, std::less<>>& names_of_checked() {
  static std::set<std::string, std::less<>> names;
  return names;
}

std::string input_name(std::size_t i) { return "x" + text(i); }

// The op built once for one floating type, with its gradients with respect to the floating inputs.
class Subject {
 public:
  Subject(const OpCheck& check, DType floating) : check_(check), floating_(floating) {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < check.inputs.size(); ++i) {
      TensorType type{check.inputs[i].shape(), type_of(i)};
      inputs.push_back(input(graph_, input_name(i), type));
    }
    outputs_ = check.build(Scope(graph_) / "op", inputs);
    if (!check.gradient) return;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (is_floating(inputs[i].dtype()) && !is_constant(i)) wrt_.push_back(i);
    std::vector<Tensor> xs;
    for (std::size_t i : wrt_) xs.push_back(inputs[i]);
    loss_ = weighted_sum();
    if (loss_.defined()) gradients_ = gradients(loss_, xs);
  }

  const Graph& graph() const { return graph_; }
  const std::vector<Tensor>& outputs() const { return outputs_; }
  const std::vector<Tensor>& gradient_tensors() const { return gradients_; }
  const std::vector<std::size_t>& wrt() const { return wrt_; }

  Arrays values(const Arrays& inputs, bool fast, const std::string& device = "cpu",
                bool tf32 = false) const {
    return run(outputs_, inputs, fast, device, tf32);
  }
  Arrays gradient_values(const Arrays& inputs, bool fast, const std::string& device = "cpu",
                         bool tf32 = false) const {
    std::vector<Tensor> defined;
    for (const Tensor& t : gradients_)
      if (t.defined()) defined.push_back(t);
    return defined.empty() ? Arrays{} : run(defined, inputs, fast, device, tf32);
  }
  Evaluator loss_evaluator() const {
    return Evaluator({loss_}, {.fast = false, .seed = 3, .step = 5});
  }
  std::map<std::string, Array> feed(const Arrays& inputs) const {
    std::map<std::string, Array> out;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      out[input_name(i)] = is_floating(inputs[i].dtype()) ? inputs[i].cast(type_of(i)) : inputs[i];
    return out;
  }

 private:
  static bool contains(const std::vector<int>& list, std::size_t i) {
    return std::find(list.begin(), list.end(), static_cast<int>(i)) != list.end();
  }
  bool is_constant(std::size_t i) const { return contains(check_.constant, i); }
  DType type_of(std::size_t i) const {
    DType given = check_.inputs[i].dtype();
    if (!is_floating(given)) return given;
    return contains(check_.wide, i) ? wide() : floating_;
  }
  DType wide() const { return floating_ == DType::f64 ? DType::f64 : DType::f32; }

  // Different weights for the elements, so that errors in different places do not cancel.
  Tensor weighted_sum() {
    Tensor total;
    for (const Tensor& y : outputs_) {
      if (!is_floating(y.dtype())) continue;
      Array weights(y.shape(), DType::f64);
      PhiloxStream random(philox_key(7, y.shape().elements()));
      for (double& w : weights.span<double>()) w = random.uniform_double() + 0.5;
      Tensor term = cast(sum(mul(y, constant(graph_, weights.cast(y.dtype())))), wide());
      total = total.defined() ? add(total, term) : term;
    }
    return total;
  }

  Arrays run(const std::vector<Tensor>& what, const Arrays& inputs, bool fast,
             const std::string& device, bool tf32) const {
    return evaluate(what, feed(inputs),
                    {.fast = fast, .seed = 3, .step = 5, .device = device, .tf32 = tf32});
  }

  const OpCheck& check_;
  DType floating_;
  Graph graph_;
  std::vector<Tensor> outputs_, gradients_;
  std::vector<std::size_t> wrt_;
  Tensor loss_;
};

// The first device of each kind that is there.
const std::vector<std::string>& devices() {
  static const std::vector<std::string> present = [] {
    std::vector<std::string> names;
    for (const std::string& kind : device_kinds())
      if (devices_present(kind).count > 0) names.push_back(kind + ":0");
    return names;
  }();
  return present;
}

// The first element in which two arrays differ by more than rounding allows.
std::string difference(const std::string& what, const Array& got, const Array& wanted,
                       double allowed) {
  if (got.shape() != wanted.shape())
    return concat(what, ": shape ", got.shape(), ", expected ", wanted.shape(), "\n");
  double scale = 1e-30;
  for (std::int64_t i = 0; i < wanted.elements(); ++i)
    if (std::isfinite(wanted.at(i))) scale = std::max(scale, std::abs(wanted.at(i)));
  for (std::int64_t i = 0; i < wanted.elements(); ++i) {
    double a = got.at(i), b = wanted.at(i);
    bool same = a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= allowed * scale;
    if (!same)
      return concat(what, ": element ", i, " of ", wanted.shape(), " is ", a, ", expected ", b,
                    ", allowed difference ", allowed * scale, "\n");
  }
  return {};
}

std::string compare(const std::string& what, const Arrays& got, const Arrays& wanted,
                    double allowed) {
  std::string out;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    out += difference(concat(what, " ", i), got[i], wanted[i], allowed);
  return out;
}

std::string compare_bits(const std::string& what, const Arrays& a, const Arrays& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!identical(a[i], b[i])) return concat(what, " ", i, ": two runs give different bits\n");
  return {};
}

// Central differences in f64 of the weighted sum, for every element of every differentiable input.
std::string check_differences(const Subject& subject, const OpCheck& check, const Arrays& exact) {
  std::string out;
  std::size_t defined = 0;
  if (exact.empty()) return out;
  Evaluator loss = subject.loss_evaluator();
  for (std::size_t k = 0; k < subject.wrt().size(); ++k) {
    Arrays inputs;
    for (const Array& a : check.inputs)
      inputs.push_back(is_floating(a.dtype()) ? a.cast(DType::f64) : a);
    Array& x = inputs[subject.wrt()[k]];
    Array numeric(x.shape(), DType::f64);
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      double& element = x.span<double>()[i];
      double old = element;
      double h = check.step * std::max(1.0, std::abs(old));
      element = old + h;
      double above = loss(subject.feed(inputs))[0].item();
      element = old - h;
      double below = loss(subject.feed(inputs))[0].item();
      element = old;
      numeric.span<double>()[i] = (above - below) / (2 * h);
    }
    Array analytic = subject.gradient_tensors()[k].defined() ? exact[defined++]
                                                             : Array::zeros(x.shape(), DType::f64);
    // Error of central differences: truncation ~ h^2, rounding ~ eps / h.
    out += difference(concat("gradient of input ", subject.wrt()[k], " against differences"),
                      analytic, numeric, 1e-6);
  }
  return out;
}

// In units of the last place: two results that are rounded once differ by one, and ops of several
// nodes round more often.
double allowed_units(const OpCheck& check) { return std::max(4.0, check.rounding / 16); }

// Against the reference in the same type, which rounds where the fast kernels round.
std::string check_low_precision(const OpCheck& check, DType dtype) {
  Subject subject(check, dtype);
  double allowed = allowed_units(check) * (dtype == DType::bf16 ? 0x1p-7 : 0x1p-10);
  Arrays wanted = subject.values(check.inputs, false), gradient;
  if (check.gradient) gradient = subject.gradient_values(check.inputs, false);
  std::string out;
  for (const std::string& device : devices()) {
    std::string where = concat(" in ", dtype, " on ", device);
    out += compare("output" + where, subject.values(check.inputs, true, device), wanted, allowed);
    if (check.gradient)
      out += compare("gradient" + where, subject.gradient_values(check.inputs, true, device),
                     gradient, allowed);
  }
  return out;
}

std::string check_tf32(const Subject& single, const OpCheck& check, const Arrays& wanted,
                       const Arrays& gradient) {
  double allowed = check.rounding * f32_epsilon + allowed_units(check) * tf32_epsilon;
  std::string out;
  for (const std::string& device : devices()) {
    if (find_device(device)->host_accessible()) continue;  // CPUs have no TF32
    out += compare("output with TF32 on " + device, single.values(check.inputs, true, device, true),
                   wanted, allowed);
    if (check.gradient)
      out += compare("gradient with TF32 on " + device,
                     single.gradient_values(check.inputs, true, device, true), gradient, allowed);
  }
  return out;
}

}  // namespace

const std::set<std::string, std::less<>>& checked_ops() { return names_of_checked(); }

std::string check_op(const OpCheck& check) {
  Subject single(check, DType::f32), exact(check, DType::f64);
  for (const auto& node : single.graph()) names_of_checked().emplace(node->op().name);
  double allowed = check.rounding * f32_epsilon;
  std::string out;

  Arrays wanted = exact.values(check.inputs, false);
  out += compare("reference f32 output", single.values(check.inputs, false), wanted, allowed);
  for (const std::string& device : devices()) {
    Arrays fast = single.values(check.inputs, true, device);
    for (std::size_t i = 0; i < fast.size(); ++i)
      if (fast[i].shape() != single.outputs()[i].shape())
        out += concat("output ", i, " has shape ", fast[i].shape(), ", inferred ",
                      single.outputs()[i].shape(), "\n");
    out += compare("fast f32 output on " + device, fast, wanted, allowed);
    out += compare_bits("output on " + device, fast, single.values(check.inputs, true, device));
  }
  for (DType dtype : {DType::bf16, DType::f16}) out += check_low_precision(check, dtype);
  Arrays gradient;
  if (check.gradient) gradient = exact.gradient_values(check.inputs, false);
  out += check_tf32(single, check, wanted, gradient);
  if (!check.gradient) return out;

  out += check_differences(exact, check, gradient);
  out += compare("reference f32 gradient", single.gradient_values(check.inputs, false), gradient,
                 allowed);
  for (const std::string& device : devices()) {
    Arrays fast = single.gradient_values(check.inputs, true, device);
    out += compare("fast f32 gradient on " + device, fast, gradient, allowed);
    out += compare_bits("gradient on " + device, fast,
                        single.gradient_values(check.inputs, true, device));
  }
  return out;
}

}  // namespace belfry
