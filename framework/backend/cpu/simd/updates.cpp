#include "belfry/framework/backend/cpu/simd/loops.h"
#include "belfry/framework/backend/cpu/simd/math.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

template <int Slots, class Rule>
BELFRY_INLINE void update_lanes(const Rule& rule, float* variable, const float* gradient,
                                float* const* slots, std::int64_t n) {
  BELFRY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i) {
    float value = variable[i];
    float own[3] = {};
    for (int k = 0; k < Slots; ++k) own[k] = slots[k][i];
    rule.template apply<FastMath>(value, gradient[i], own);
    variable[i] = value;
    for (int k = 0; k < Slots; ++k) slots[k][i] = own[k];
  }
}

/// The last elements on the path of all others, in copies.
template <int Slots, class Body>
BELFRY_INLINE void with_padding(float* variable, const float* gradient, float* const* slots,
                                std::int64_t n, const Body& body) {
  std::int64_t whole = n / lanes * lanes, rest = n - whole;
  body(variable, gradient, slots, whole);
  if (rest == 0) return;
  alignas(64) float copies[5][lanes];
  for (auto& copy : copies)
    for (float& x : copy) x = 1;
  float* copied_slots[3] = {copies[2], copies[3], copies[4]};
  for (std::int64_t i = 0; i < rest; ++i) {
    copies[0][i] = variable[whole + i];
    copies[1][i] = gradient[whole + i];
    for (int k = 0; k < Slots; ++k) copies[2 + k][i] = slots[k][whole + i];
  }
  body(copies[0], copies[1], copied_slots, lanes);
  for (std::int64_t i = 0; i < rest; ++i) {
    variable[whole + i] = copies[0][i];
    for (int k = 0; k < Slots; ++k) slots[k][whole + i] = copies[2 + k][i];
  }
}

template <int Slots, class Rule>
BELFRY_INLINE void run(const Rule& given, float* variable, const float* gradient,
                       float* const* slots, std::int64_t n) {
  const Rule rule = given;  // a local: the compiler sees that the loop does not change it
  with_padding<Slots>(
      variable, gradient, slots, n,
      [&](float* v, const float* g, float* const* s, std::int64_t count) {
        count = count / lanes * lanes;
        float* const own[3] = {Slots > 0 ? s[0] : v, Slots > 1 ? s[1] : v, Slots > 2 ? s[2] : v};
        update_lanes<Slots>(rule, v, g, own, count);
      });
}

void sgd(const update::Sgd<float>& rule, float* variable, const float* gradient,
         float* const* slots, std::int64_t n) {
  run<0>(rule, variable, gradient, slots, n);
}

void momentum(const update::Momentum<float>& rule, float* variable, const float* gradient,
              float* const* slots, std::int64_t n) {
  run<1>(rule, variable, gradient, slots, n);
}

void adam(const update::Adam<float>& rule, float* variable, const float* gradient,
          float* const* slots, std::int64_t n) {
  run<2>(rule, variable, gradient, slots, n);
}

void adagrad(const update::Adagrad<float>& rule, float* variable, const float* gradient,
             float* const* slots, std::int64_t n) {
  run<1>(rule, variable, gradient, slots, n);
}

/// The rule with its slots known to the compiler: 0 for none.
template <int Velocity, int MeanGradient>
BELFRY_INLINE void run_rmsprop(update::Rmsprop<float> rule, float* variable, const float* gradient,
                               float* const* slots, std::int64_t n) {
  rule.velocity = Velocity;
  rule.mean_gradient = MeanGradient;
  run<1 + (Velocity > 0) + (MeanGradient > 0)>(rule, variable, gradient, slots, n);
}

void rmsprop(const update::Rmsprop<float>& rule, float* variable, const float* gradient,
             float* const* slots, std::int64_t n) {
  if (rule.velocity && rule.mean_gradient)
    run_rmsprop<1, 2>(rule, variable, gradient, slots, n);
  else if (rule.velocity)
    run_rmsprop<1, 0>(rule, variable, gradient, slots, n);
  else if (rule.mean_gradient)
    run_rmsprop<0, 1>(rule, variable, gradient, slots, n);
  else
    run_rmsprop<0, 0>(rule, variable, gradient, slots, n);
}

/// The rule with what its power is known to the compiler: sqrt in place of pow.
template <bool Root>
struct FtrlOfPower {
  update::Ftrl<float> rule;

  template <class M>
  BELFRY_INLINE void apply(float& variable, float gradient, float* slots) const {
    rule.template apply_power<M, Root>(variable, gradient, slots);
  }
};

void ftrl(const update::Ftrl<float>& rule, float* variable, const float* gradient,
          float* const* slots, std::int64_t n) {
  if (rule.rate == 0) return;  // changes nothing
  if (rule.power == 0.5f)
    run<2>(FtrlOfPower<true>{rule}, variable, gradient, slots, n);
  else
    run<2>(FtrlOfPower<false>{rule}, variable, gradient, slots, n);
}

void lamb_moments(const update::Lamb<float>& given, const float* variable, const float* gradient,
                  float* const* slots, std::int64_t n, double* variable_squares,
                  double* direction_squares) {
  const update::Lamb<float> rule = given;
  float *m = slots[0], *v = slots[1];
  constexpr std::int64_t tile = 512;
  for (std::int64_t first = 0; first < n; first += tile) {
    std::int64_t end = least(first + tile, n);
    alignas(64) float sums[2][lanes] = {};
    std::int64_t i = first;
    for (; i + lanes <= end; i += lanes) {
      BELFRY_VECTORIZE
      for (std::int64_t l = 0; l < lanes; ++l) {
        rule.moments(gradient[i + l], m[i + l], v[i + l]);
        float d = rule.template direction<FastMath>(variable[i + l], m[i + l], v[i + l]);
        sums[0][l] += variable[i + l] * variable[i + l];
        sums[1][l] += d * d;
      }
    }
    for (; i < end; ++i) {
      rule.moments(gradient[i], m[i], v[i]);
      float d = rule.template direction<FastMath>(variable[i], m[i], v[i]);
      sums[0][0] += variable[i] * variable[i];
      sums[1][0] += d * d;
    }
    for (std::int64_t l = 0; l < lanes; ++l) {
      *variable_squares += sums[0][l];
      *direction_squares += sums[1][l];
    }
  }
}

void lamb_step(const update::Lamb<float>& given, float step, float* variable, float* const* slots,
               std::int64_t n) {
  const update::Lamb<float> rule = given;
  const float *m = slots[0], *v = slots[1];
  BELFRY_VECTORIZE
  for (std::int64_t i = 0; i < n; ++i)
    variable[i] -= step * rule.template direction<FastMath>(variable[i], m[i], v[i]);
}

}  // namespace

const UpdateLoops update_loops{.sgd = sgd,
                               .momentum = momentum,
                               .adam = adam,
                               .rmsprop = rmsprop,
                               .adagrad = adagrad,
                               .ftrl = ftrl,
                               .lamb_moments = lamb_moments,
                               .lamb_step = lamb_step};

}  // namespace belfry::cpu::BELFRY_ISA
