#pragma once
// The OpDefs that rewriting passes, fast kernels and other ops name. Elementwise ones belong to
// their functors, functor::Add::op; those of neural networks are in defs_nn.h. For those who write
// ops and passes: <belfry/ops.h> has them.

#include "belfry/framework/graph/op_def.h"
#include "belfry/framework/ops/elementwise/functors.h"
#include "belfry/framework/ops/nn.h"

namespace belfry {

// Other ops on elements.
extern const OpDef cast_op;           ///< CastOptions
extern const OpDef stop_gradient_op;  ///< the identity

struct CastOptions {
  DType dtype = DType::f32;
  BELFRY_FIELDS(dtype)
};

// Reductions. Options: ReduceOptions with sorted axes from 0, all of them listed.
extern const OpDef sum_op, max_op, min_op, prod_op;
extern const OpDef argmax_op, argmin_op;  ///< AxisOptions

/// The options of ops that work along one axis, counted from 0.
struct AxisOptions {
  int axis = 0;
  BELFRY_FIELDS(axis)
};

// Movements.
extern const OpDef reshape_op, broadcast_to_op;  ///< ShapeOptions
extern const OpDef transpose_op;                 ///< TransposeOptions
extern const OpDef concat_op;                    ///< AxisOptions
extern const OpDef slice_op;                     ///< SliceOptions, all of them set, sizes resolved
extern const OpDef pad_op;                       ///< PadOptions
extern const OpDef gather_op;                    ///< AxisOptions; also embedding_lookup, axis 0
extern const OpDef gather_grad_op;               ///< GatherGradOptions
extern const OpDef embedding_lookup_op;          ///< AxisOptions with axis 0
extern const OpDef one_hot_op;                   ///< OneHotOptions

struct ShapeOptions {
  Shape shape = {};
  BELFRY_FIELDS(shape)
};

struct TransposeOptions {
  std::vector<int> permutation = {};  ///< axis i of the result is axis permutation[i] of x
  BELFRY_FIELDS(permutation)
};

/// Inputs (dy, indices): the sum of the rows of dy at the places where gather read them.
struct GatherGradOptions {
  Shape shape = {};  ///< of the gathered tensor
  int axis = 0;
  BELFRY_FIELDS(shape, axis)
};

/// (a, b, [bias]) -> y. Bias and activation are set by the fusing pass alone.
struct MatmulNodeOptions {
  MatmulOptions product = {};
  bool bias = false;  ///< input 2, [n], is added
  Activation activation = Activation::none;
  static void fields(auto& o, auto&& field) {
    MatmulOptions::fields(o.product, field);
    field("bias", o.bias);
    field("activation", o.activation);
  }
};
extern const OpDef matmul_op;

// Random numbers: inputs (random_state), RandomOptions; dropout: (x, random_state), DropoutMask.
extern const OpDef random_uniform_op, random_normal_op, random_truncated_normal_op;
extern const OpDef dropout_op;

struct DropoutMask {
  float rate = 0.5f;
  std::uint64_t stream = 0;
  BELFRY_FIELDS(rate, stream)
};

}  // namespace belfry
