// Updates of tables by rows. Each variable's look-ups are put in lists, one for each row that
// occurs; then the rows of all variables are shared among the threads. A row is summed in the order
// of its look-ups by one thread: the bits do not depend on how many there are.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/parallel.h"
#include "belfry/framework/backend/cpu/simd_loops.h"
#include "belfry/framework/ops/movement/gather.h"
#include "belfry/framework/ops/update/rows_update.h"

namespace belfry::cpu {
namespace {

constexpr std::int32_t none = -1;

/// The rows that a step looked up in one table, each with its positions: places among all look-ups
/// of the table, in a list. In memory of the plan.
struct RowLists {
  std::int64_t* rows;          ///< in the order in which they first occur
  std::int32_t *first, *last;  ///< positions, of each row
  std::int32_t* next;          ///< the position after this one in its row's list
  std::int32_t* buckets;       ///< of rows, by hash
  std::int64_t count, bits;    ///< bits: of the number of places

  static std::int64_t bits_for(std::int64_t positions) {
    return std::bit_width(static_cast<std::uint64_t>(2 * positions));
  }
  static std::int64_t bytes(std::int64_t positions) {
    return positions * 20 + (std::int64_t{4} << bits_for(positions));
  }
  RowLists(void* memory, std::int64_t positions)
      : rows(static_cast<std::int64_t*>(memory)),
        first(reinterpret_cast<std::int32_t*>(rows + positions)),
        last(first + positions),
        next(last + positions),
        buckets(next + positions),
        count(0),
        bits(bits_for(positions)) {}

  void clear() {
    count = 0;
    std::fill_n(buckets, std::int64_t{1} << bits, none);
  }
  void add(std::int64_t row, std::int32_t position) {
    auto bucket = (row * 0x9E3779B97F4A7C15) >> (64 - bits);
    std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    while (buckets[bucket] != none && rows[buckets[bucket]] != row) bucket = (bucket + 1) & mask;
    std::int32_t& number = buckets[bucket];
    if (number == none) {
      number = count++;
      rows[number] = row;
      first[number] = position;
    } else {
      next[last[number]] = position;
    }
    last[number] = position;
    next[position] = none;
  }
};

/// One variable among all that a node updates.
struct Table {
  RowsGroup inputs;
  Shape shape;
  std::vector<ArrayView> indices;  ///< of each look-up; the data are the step's
  std::vector<std::int64_t> ends;  ///< of the positions of each look-up
  std::int64_t width = 0;          ///< elements of a row
  std::int64_t lists = 0;          ///< where they begin in the workspace, in bytes

  Table(const Node& node, const RowsGroup& group)
      : inputs(group), shape(node.input(group.variable).shape()) {
    width = shape.elements() / std::max<std::int64_t>(shape[0], 1);
    for (int l = 0; l < group.lookups; ++l) {
      indices.push_back({node.input(group.indices(l)).type(), nullptr});
      ends.push_back(positions() + indices.back().elements());
    }
  }
  std::int64_t positions() const { return ends.empty() ? 0 : ends.back(); }
};

template <template <class> class Rule>
class RowsUpdateKernel final : public Kernel {
 public:
  using O = RowsUpdateOptions<typename Rule<float>::Options>;

  RowsUpdateKernel(const Node& node, UpdateLoop<Rule<float>> loop, int threads)
      : name_(node.op().name),
        loop_(loop),
        threads_(threads),
        options_(node.as<O>().update),
        layout_(rows_layout<Rule>(node.as<O>(), node.inputs().size())) {
    for (const RowsGroup& group : layout_.groups) {
      Table& table = tables_.emplace_back(node, group);
      table.lists = workspace_;
      workspace_ += (RowLists::bytes(table.positions()) + 63) / 64 * 64;
      widest_ = std::max(widest_, (table.width + 15) / 16 * 16);
    }
    sums_ = workspace_;
    workspace_ += threads_ * 2 * widest_ * static_cast<std::int64_t>(sizeof(float));
    lists_.reserve(tables_.size());
  }
  std::string_view implementation() const override { return "simd"; }
  Bytes workspace() const override { return Bytes(workspace_); }

  void run(const KernelArguments& a, Stream&) override {
    if (layout_.condition && !*input<const bool>(a, layout_.scalars)) return;
    check_indices(a);
    list_rows(a);
    std::int64_t total = 0, elements = 0;
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      total += lists_[t].count;
      elements += lists_[t].count * tables_[t].width;
    }
    int pieces = std::clamp<std::int64_t>(elements / elements_worth_sharing, 1, threads_);
    parallel_for(pieces, 1, pieces, [&](std::int64_t piece, std::int64_t end) {
      for (; piece < end; ++piece)
        update(a, total * piece / pieces, total * (piece + 1) / pieces, sums(a, piece));
    });
  }

 private:
  // Fewer than of kernels that read memory in order.
  static constexpr std::int64_t elements_worth_sharing = 4096;
  static constexpr std::int64_t positions_worth_sharing = 1024;

  template <class T>
  static T* input(const KernelArguments& a, int i) {
    return static_cast<T*>(a.inputs[i]);
  }
  float* sums(const KernelArguments& a, std::int64_t piece) const {
    auto* all = reinterpret_cast<float*>(a.scratch<std::byte>() + sums_);
    return all + piece * 2 * widest_;
  }

  // Before threads are at work, which cannot throw.
  void check_indices(const KernelArguments& a) {
    for (Table& table : tables_)
      for (int l = 0; l < table.inputs.lookups; ++l) {
        ArrayView& indices = table.indices[l];
        indices.data = input<void>(a, table.inputs.indices(l));
        RowIndex(name_, indices, table.shape, 0);
      }
  }

  void list_rows(const KernelArguments& a) {
    lists_.clear();
    std::int64_t positions = 0;
    for (const Table& table : tables_) {
      lists_.emplace_back(a.scratch<std::byte>() + table.lists, table.positions());
      positions += table.positions();
    }
    int threads = positions < positions_worth_sharing ? 1 : threads_;
    parallel_for(std::ssize(tables_), 1, threads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) list_rows(tables_[t], lists_[t]);
    });
  }
  static void list_rows(const Table& table, RowLists& lists) {
    lists.clear();
    std::int32_t position = 0;
    for (const ArrayView& indices : table.indices)
      for (std::int64_t i = 0; i < indices.elements(); ++i)
        lists.add(indices.dtype() == DType::i32 ? indices.as<const std::int32_t>()[i]
                                                : indices.as<const std::int64_t>()[i],
                  position++);
  }

  // Rows `begin` to `end` - 1 among those of all tables.
  void update(const KernelArguments& a, std::int64_t begin, std::int64_t end, float* sums) const {
    for (std::size_t t = 0; t < tables_.size() && end > 0; ++t) {
      update(a, tables_[t], lists_[t], std::max<std::int64_t>(begin, 0),
             std::min(end, lists_[t].count), sums);
      begin -= lists_[t].count;
      end -= lists_[t].count;
    }
  }

  void update(const KernelArguments& a, const Table& table, const RowLists& lists,
              std::int64_t begin, std::int64_t end, float* sums) const {
    if (begin >= end) return;
    int rank = table.shape.rank();
    UpdateScalars scalars{.learning_rate = double{*input<const float>(a, 0)},
                          .step = layout_.scalars > 1 ? *input<const std::int64_t>(a, 1) : 0};
    auto rule = Rule<float>::template make<StdMath>(options_, scalars, rank);
    bool lazy = is_lazy(options_, rank);
    for (std::int64_t i = begin; i < end; ++i) {
      if (i + ahead < end) prefetch(a, table, lists.rows[i + ahead]);
      sum_row(a, table, lists, lists.first[i], sums);
      if (lazy && is_idle(sums, table.width)) continue;
      std::int64_t at = lists.rows[i] * table.width;
      std::array<float*, 3> slots{};
      for (int k = 0; k < table.inputs.slots; ++k)
        slots[k] = input<float>(a, table.inputs.slot(k)) + at;
      loop_(rule, input<float>(a, table.inputs.variable) + at, sums, slots.data(), table.width);
    }
  }

  // Rows lie anywhere in memory: those to come are fetched while others are computed.
  static constexpr std::int64_t ahead = 8;
  static void prefetch(const KernelArguments& a, const Table& table, std::int64_t row) {
    constexpr std::int64_t line = 64 / sizeof(float), most = 8 * line;
    for (int k = 0; k <= table.inputs.slots; ++k) {
      const float* at = input<float>(a, table.inputs.variable + k) + row * table.width;
      for (std::int64_t i = 0; i < std::min(table.width, most); i += line)
        __builtin_prefetch(at + i, 1);
    }
  }

  // Into the first `widest_` of `sums`. The positions of a look-up are added up as gather_grad
  // does, and then the look-ups as add does.
  void sum_row(const KernelArguments& a, const Table& table, const RowLists& lists,
               std::int32_t position, float* sums) const {
    float* part = sums + widest_;
    std::fill_n(sums, table.width, 0.0f);
    for (int l = 0; position != none; ++l) {
      std::int64_t from = l > 0 ? table.ends[l - 1] : 0;
      std::int64_t to = table.ends[l];
      if (position >= to) continue;
      const float* dy = input<float>(a, table.inputs.rows(l));
      std::fill_n(part, table.width, 0.0f);
      for (; position != none && position < to; position = lists.next[position])
        add(part, dy + (position - from) * table.width, table.width);
      add(sums, part, table.width);
    }
  }
  static void add(float* to, const float* x, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) to[i] += x[i];
  }

  std::string_view name_;
  UpdateLoop<Rule<float>> loop_;
  int threads_;
  typename Rule<float>::Options options_;
  RowsLayout layout_;
  std::vector<Table> tables_;
  std::vector<RowLists> lists_;  // of the step; reserved
  std::int64_t widest_ = 0;      // row, in whole vectors
  std::int64_t sums_ = 0;        // where they begin in the workspace
  std::int64_t workspace_ = 0;
};

template <template <class> class Rule>
auto factory(UpdateLoop<Rule<float>> UpdateLoops::*loop) {
  return [loop](const Node& node, int threads) -> std::unique_ptr<Kernel> {
    using O = RowsUpdateOptions<typename Rule<float>::Options>;
    RowsLayout layout = rows_layout<Rule>(node.as<O>(), node.inputs().size());
    for (const RowsGroup& group : layout.groups) {
      if (node.input(group.variable).dtype() != DType::f32) return nullptr;
      if (Table(node, group).positions() > INT32_MAX / 2) return nullptr;
    }
    return std::make_unique<RowsUpdateKernel<Rule>>(node, simd().updates.*loop, threads);
  };
}

const KernelRegistration sgd(sgd_rows_update_op, factory<update::Sgd>(&UpdateLoops::sgd));
const KernelRegistration momentum(momentum_rows_update_op,
                                  factory<update::Momentum>(&UpdateLoops::momentum));
const KernelRegistration adam(adam_rows_update_op, factory<update::Adam>(&UpdateLoops::adam));
const KernelRegistration adagrad(adagrad_rows_update_op,
                                 factory<update::Adagrad>(&UpdateLoops::adagrad));
const KernelRegistration ftrl(ftrl_rows_update_op, factory<update::Ftrl>(&UpdateLoops::ftrl));

}  // namespace
}  // namespace belfry::cpu
