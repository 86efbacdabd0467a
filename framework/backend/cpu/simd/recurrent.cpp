#include "belfry/framework/backend/cpu/simd/loops.h"
#include "belfry/framework/backend/cpu/simd/math.h"
#include "belfry/framework/ops/recurrent/cells.h"

namespace belfry::cpu::BELFRY_ISA {
namespace {

template <class Cell>
void forward(const float* z, const float* q, const float* bias, std::int64_t n, float* h, float* c,
             float* kept) {
  BELFRY_VECTORIZE
  for (std::int64_t u = 0; u < n; ++u) {
    float of_z[Cell::gates], of_q[Cell::gates], of_kept[Cell::room];
    for (int g = 0; g < Cell::gates; ++g) {
      of_z[g] = z[g * n + u];
      of_q[g] = q[g * n + u] + bias[g * n + u];
    }
    cell::UnitState<float> before{h[u]};
    if constexpr (Cell::has_c) before.c = c[u];
    cell::UnitState<float> after = Cell::template forward<FastMath>(of_z, of_q, before, of_kept);
    for (int k = 0; k < Cell::kept; ++k) kept[k * n + u] = of_kept[k];
    h[u] = after.h;
    if constexpr (Cell::has_c) c[u] = after.c;
  }
}

template <class Cell>
void backward(const float* kept, const float* y, const float* h_before, const float* c_before,
              const float* dy, std::int64_t n, float* dh, float* dc, float* dz, float* dq) {
  BELFRY_VECTORIZE
  for (std::int64_t u = 0; u < n; ++u) {
    float of_kept[Cell::room], of_dz[Cell::gates], of_dq[Cell::gates];
    for (int k = 0; k < Cell::kept; ++k) of_kept[k] = kept[k * n + u];
    cell::UnitState<float> before{h_before[u]}, after{dh[u] + dy[u]};
    if constexpr (Cell::has_c) {
      before.c = c_before[u];
      after.c = dc[u];
    }
    cell::UnitState<float> gradient =
        Cell::template backward<FastMath>(of_kept, y[u], before, after, of_dz, of_dq);
    for (int g = 0; g < Cell::gates; ++g) {
      dz[g * n + u] = of_dz[g];
      dq[g * n + u] = of_dq[g];
    }
    dh[u] = gradient.h;
    if constexpr (Cell::has_c) dc[u] = gradient.c;
  }
}

template <class Cell>
constexpr RecurrentLoops loops_of = {.forward = forward<Cell>, .backward = backward<Cell>};

}  // namespace

const RecurrentLoops recurrent_loops[4] = {loops_of<cell::Lstm>, loops_of<cell::Gru>,
                                           loops_of<cell::Tanh>, loops_of<cell::Relu>};

}  // namespace belfry::cpu::BELFRY_ISA
