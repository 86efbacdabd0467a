#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "belfry/data/combine/combine.h"
#include "belfry/data/transforms/named.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

// One after the other. The second pass begins when the first has ended.
class InTurn final : public Iterator {
 public:
  InTurn(Dataset first, Dataset second, const Pass& pass)
      : second_(std::move(second)),
        epoch_(pass.epoch),
        second_pass_(pass.input(1)),
        current_(first.iterate(pass.input(0))) {}

  bool next(Element& out) override {
    if (current_ && read(out)) return true;
    if (in_second_) return false;
    begin_second();
    return read(out);
  }

  std::int64_t skip(std::int64_t count) override {
    std::int64_t skipped = current_ ? current_->skip(count) : 0;
    index_ += skipped;
    if (skipped == count || in_second_) return skipped;
    begin_second();
    std::int64_t rest = current_->skip(count - skipped);
    index_ += rest;
    return skipped + rest;
  }

  void position(Position& at) override {
    bool in_second = in_second_;
    at.field("concatenate.index", index_);
    at.field("concatenate.second", in_second);
    if (in_second && !in_second_) begin_second();
    if (current_) current_->position(at);
  }

 private:
  bool read(Element& out) {
    std::int64_t index = index_++;  // also of an element that fails
    Named named(out, index, epoch_);
    if (current_->next(out)) return true;
    index_ = index;
    return false;
  }

  void begin_second() {
    in_second_ = true;
    current_ = nullptr;  // for good, if it cannot begin
    current_ = second_.iterate(second_pass_);
  }

  Dataset second_;
  std::uint64_t epoch_;
  Pass second_pass_;
  IteratorPtr current_;
  bool in_second_ = false;
  std::int64_t index_ = 0;
};

// In an order that goes to and fro between the two: each is read in the order of its own elements.
class InOrder final : public Iterator {
 public:
  InOrder(const Dataset& first, const Dataset& second, const Pass& pass)
      : border_(first.cardinality()), epoch_(pass.epoch), order_(pass.order), stop_(pass.stop) {
    std::array<std::vector<std::int64_t>, 2> indices;
    for (std::int64_t i = 0; i < order_->size; ++i) {
      std::int64_t index = order_->at(i);
      bool in_second = index >= border_;
      indices[in_second].push_back(in_second ? index - border_ : index);
    }
    sources_[0] = begin(first, pass.input(0), std::move(indices[0]));
    sources_[1] = begin(second, pass.input(1), std::move(indices[1]));
  }

  bool next(Element& out) override {
    if (next_ == order_->size) return false;
    std::int64_t index = order_->at(next_++);
    Named named(out, index, epoch_);
    bool more = sources_[index >= border_]->next(out);
    require(more || stop_.stop_requested(), "concatenate: an input ended before element ", index,
            " of the ", order_->size, " that the two said they have");
    return more;
  }

  std::int64_t skip(std::int64_t count) override {
    count = std::min(count, order_->size - next_);
    std::array<std::int64_t, 2> counts{};
    for (std::int64_t i = 0; i < count; ++i) ++counts[order_->at(next_ + i) >= border_];
    for (std::size_t s : {0u, 1u}) sources_[s]->skip(counts[s]);
    next_ += count;
    return count;
  }

  void position(Position& at) override {
    at.field("concatenate.next", next_, 0, order_->size);
    for (IteratorPtr& source : sources_) source->position(at);
  }

 private:
  IteratorPtr begin(const Dataset& dataset, Pass pass, std::vector<std::int64_t> indices) const {
    auto table = std::make_shared<const std::vector<std::int64_t>>(std::move(indices));
    pass.order =
        std::make_shared<Order>(Order{.size = std::ssize(*table),
                                      .at = [table](std::int64_t i) { return (*table)[i]; },
                                      .seed = order_->seed});
    return dataset.iterate(std::move(pass));
  }

  std::int64_t border_, next_ = 0;
  std::uint64_t epoch_;
  std::shared_ptr<const Order> order_;
  std::stop_token stop_;
  std::array<IteratorPtr, 2> sources_;
};

std::int64_t sum(std::int64_t a, std::int64_t b) {
  if (a == infinite || b == infinite) return infinite;
  if (a == unknown || b == unknown) return unknown;
  return a > std::numeric_limits<std::int64_t>::max() - b ? infinite : a + b;
}

}  // namespace

Dataset concatenate(Dataset first, Dataset second) {
  DatasetInfo info{.cardinality = sum(first.cardinality(), second.cardinality())};
  info.random_access =
      first.info().random_access && second.info().random_access && info.cardinality >= 0;
  auto make = [=](const Pass& pass) -> IteratorPtr {
    if (pass.order) return std::make_unique<InOrder>(first, second, pass);
    return std::make_unique<InTurn>(first, second, pass);
  };
  info.whole = info.random_access;
  return Dataset("concatenate", {first, second}, make, info);
}

Transform concatenate(Dataset second) {
  return
      [second = std::move(second)](Dataset first) { return concatenate(std::move(first), second); };
}

}  // namespace belfry::data
