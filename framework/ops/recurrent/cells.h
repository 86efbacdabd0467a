#pragma once
// The work of one unit of a recurrent layer in one step, for kernels of all devices. Operands are
// the unit's part of x W + b and of h U + b, gate by gate, and its state. nvcc reads this file too.

#include "belfry/framework/base/host_device.h"
#include "belfry/framework/ops/elementwise/functors.h"

namespace belfry::cell {

/// The state of one unit: what it gives to all in the next step, and what it alone remembers.
template <class T>
struct UnitState {
  T h, c = 0;
};

/// A cell has `gates`; `kept` values a unit that its gradient reads; `has_c`, whether the state has
/// a c; and the two functions
///
///     forward<M>(z, q, before, kept) -> after
///     backward<M>(kept, h, before, after, dz, dq) -> before
///
/// z and q being the parts of input and state. backward() has h of after, and takes and returns
/// gradients: of the state after the step, and of the state before it as far as it does not come
/// through q.
template <int Gates, int Kept, bool HasC = false>
struct Cell {
  static constexpr int gates = Gates, kept = Kept;
  static constexpr int room = Kept > 0 ? Kept : 1;  ///< of an array for what is kept
  static constexpr bool has_c = HasC;
};

/// Gates input, forget, cell, output (Hochreiter & Schmidhuber 1997; Gers, Schmidhuber, Cummins
/// 2000). Kept: the gates and c.
struct Lstm : Cell<4, 5, true> {
  template <class M, class T>
  BELFRY_HOST_DEVICE static UnitState<T> forward(const T (&z)[4], const T (&q)[4],
                                                 UnitState<T> before, T (&kept)[5]) {
    kept[0] = functor::Sigmoid::apply<M>(z[0] + q[0]);
    kept[1] = functor::Sigmoid::apply<M>(z[1] + q[1]);
    kept[2] = M::tanh(z[2] + q[2]);
    kept[3] = functor::Sigmoid::apply<M>(z[3] + q[3]);
    kept[4] = kept[1] * before.c + kept[0] * kept[2];
    return {kept[3] * M::tanh(kept[4]), kept[4]};
  }
  template <class M, class T>
  BELFRY_HOST_DEVICE static UnitState<T> backward(const T (&kept)[5], T, UnitState<T> before,
                                                  UnitState<T> after, T (&dz)[4], T (&dq)[4]) {
    T i = kept[0], f = kept[1], g = kept[2], o = kept[3], tanh_c = M::tanh(kept[4]);
    T dc = after.c + after.h * o * (1 - tanh_c * tanh_c);
    dz[0] = dc * g * i * (1 - i);
    dz[1] = dc * before.c * f * (1 - f);
    dz[2] = dc * i * (1 - g * g);
    dz[3] = after.h * tanh_c * o * (1 - o);
    for (int k = 0; k < 4; ++k) dq[k] = dz[k];
    return {0, dc * f};
  }
};

/// Gates update, reset, new, where reset comes behind the product with the state (Cho et al. 2014,
/// version 1 of the paper): h = (1 - update) new + update h. Kept: the gates and q of new.
struct Gru : Cell<3, 4> {
  template <class M, class T>
  BELFRY_HOST_DEVICE static UnitState<T> forward(const T (&z)[3], const T (&q)[3],
                                                 UnitState<T> before, T (&kept)[4]) {
    kept[0] = functor::Sigmoid::apply<M>(z[0] + q[0]);
    kept[1] = functor::Sigmoid::apply<M>(z[1] + q[1]);
    kept[2] = M::tanh(z[2] + kept[1] * q[2]);
    kept[3] = q[2];
    return {(1 - kept[0]) * kept[2] + kept[0] * before.h};
  }
  template <class M, class T>
  BELFRY_HOST_DEVICE static UnitState<T> backward(const T (&kept)[4], T, UnitState<T> before,
                                                  UnitState<T> after, T (&dz)[3], T (&dq)[3]) {
    T update = kept[0], reset = kept[1], fresh = kept[2];
    dz[0] = after.h * (before.h - fresh) * update * (1 - update);
    dz[2] = after.h * (1 - update) * (1 - fresh * fresh);
    dz[1] = dz[2] * kept[3] * reset * (1 - reset);
    dq[0] = dz[0];
    dq[1] = dz[1];
    dq[2] = dz[2] * reset;
    return {after.h * update};
  }
};

/// h = tanh(z + q) (Elman 1990).
struct Tanh : Cell<1, 0> {
  template <class M, class T>
  BELFRY_HOST_DEVICE static UnitState<T> forward(const T (&z)[1], const T (&q)[1], UnitState<T>,
                                                 T (&)[1]) {
    return {M::tanh(z[0] + q[0])};
  }
  template <class M, class T>
  BELFRY_HOST_DEVICE static UnitState<T> backward(const T (&)[1], T h, UnitState<T>,
                                                  UnitState<T> after, T (&dz)[1], T (&dq)[1]) {
    dz[0] = dq[0] = after.h * (1 - h * h);
    return {0};
  }
};

/// h = max(z + q, 0).
struct Relu : Cell<1, 0> {
  template <class M, class T>
  BELFRY_HOST_DEVICE static UnitState<T> forward(const T (&z)[1], const T (&q)[1], UnitState<T>,
                                                 T (&)[1]) {
    return {functor::Relu::apply<M>(z[0] + q[0])};
  }
  template <class M, class T>
  BELFRY_HOST_DEVICE static UnitState<T> backward(const T (&)[1], T h, UnitState<T>,
                                                  UnitState<T> after, T (&dz)[1], T (&dq)[1]) {
    dz[0] = dq[0] = functor::ReluGrad::apply<M>(after.h, h);
    return {0};
  }
};

}  // namespace belfry::cell
