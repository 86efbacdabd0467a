#pragma once
// All that differs between oneDNN 2 and 3: how a primitive is described, how a layout is read. No
// other file asks for the version.

#include <dnnl.hpp>

#include "belfry/framework/backend/cpu/onednn/onednn_primitive.h"

namespace belfry::cpu {

/// The implementation at place `n` in oneDNN's list for the primitive P with `parameters`, which
/// are those of P::primitive_desc in oneDNN 3 between engine and attributes, and of P::desc in 2.
/// An empty description past the end of the list; dnnl::error when the list is empty.
template <class P, class... Parameters>
typename P::primitive_desc nth_implementation(int n, const dnnl::primitive_attr& attributes,
                                              const Parameters&... parameters) {
#if DNNL_VERSION_MAJOR >= 3
  typename P::primitive_desc description(onednn_engine(), parameters..., attributes);
#else
  // next_impl() reads the operation: oneDNN 2 keeps a pointer to it.
  typename P::desc operation(parameters...);
  typename P::primitive_desc description(operation, attributes, onednn_engine());
#endif
  for (; n > 0; --n) {
    if (!description.next_impl()) return {};
  }
  return description;
}

/// The implementation that oneDNN offers first.
template <class P, class... Parameters>
typename P::primitive_desc describe(const dnnl::primitive_attr& attributes,
                                    const Parameters&... parameters) {
  return nth_implementation<P>(0, attributes, parameters...);
}

/// The same for a gradient of the primitive described by `forward`.
template <class P, class Forward, class... Parameters>
typename P::primitive_desc describe_gradient(const Forward& forward,
                                             const dnnl::primitive_attr& attributes,
                                             const Parameters&... parameters) {
#if DNNL_VERSION_MAJOR >= 3
  return {onednn_engine(), parameters..., forward, attributes};
#else
  return {typename P::desc(parameters...), attributes, onednn_engine(), forward};
#endif
}

/// A layout of strides and, within them, dense blocks.
struct BlockedLayout {
  dnnl::memory::data_type type;
  dnnl::memory::dims sizes, padded, strides;
  dnnl::memory::dims blocks, blocked_axes;  ///< from the outermost block to the innermost
};

inline BlockedLayout blocked_layout(const dnnl::memory::desc& layout) {
#if DNNL_VERSION_MAJOR >= 3
  bool blocked = layout.get_format_kind() == dnnl::memory::format_kind::blocked;
#else
  bool blocked = layout.data.format_kind == dnnl_blocked;
#endif
  ensure(blocked, "onednn: a layout is not a blocked one");
#if DNNL_VERSION_MAJOR >= 3
  return {layout.get_data_type(), layout.get_dims(),       layout.get_padded_dims(),
          layout.get_strides(),   layout.get_inner_blks(), layout.get_inner_idxs()};
#else
  const dnnl_memory_desc_t& d = layout.data;
  const dnnl_blocking_desc_t& b = d.format_desc.blocking;
  auto list = [](const dnnl_dim_t* values, int count) {
    return dnnl::memory::dims(values, values + count);
  };
  return {layout.data_type(),
          list(d.dims, d.ndims),
          list(d.padded_dims, d.ndims),
          list(b.strides, d.ndims),
          list(b.inner_blks, b.inner_nblks),
          list(b.inner_idxs, b.inner_nblks)};
#endif
}

}  // namespace belfry::cpu
