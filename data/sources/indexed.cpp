#include <algorithm>

#include "belfry/data/sources/sources.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

struct Source {
  std::string name;
  ReadElement read;
};

class Indexed final : public Iterator {
 public:
  Indexed(std::int64_t count, std::shared_ptr<const Source> source, const Pass& pass)
      : count_(count),
        size_(pass.order ? pass.order->size : count),
        epoch_(pass.epoch),
        order_(pass.order),
        stop_(pass.stop),
        source_(std::move(source)) {}

  bool next(Element& out) override {
    if (next_ == size_ || stop_.stop_requested()) return false;
    std::int64_t i = next_++;
    out.index = order_ ? order_->at(i) : i;
    out.epoch = epoch_;
    out.file = nullptr;
    ensure(out.index >= 0 && out.index < count_, source_->name, ": the order asks for element ",
           out.index, " of ", count_);
    for_element(source_->name, out, [&] {
      source_->read(out.index, out.features);
      require_defined(out.features);
    });
    return true;
  }

  std::int64_t skip(std::int64_t count) override {
    count = std::min(count, size_ - next_);
    next_ += count;
    return count;
  }

  void position(Position& at) override {
    at.constant("indexed.size", size_);
    if (order_ && order_->seed) at.constant("shuffle.seed", *order_->seed);
    at.field("indexed.next", next_, 0, size_);
  }

 private:
  std::int64_t count_, size_, next_ = 0;
  std::uint64_t epoch_;
  std::shared_ptr<const Order> order_;
  std::stop_token stop_;
  std::shared_ptr<const Source> source_;
};

}  // namespace

Dataset indexed(std::int64_t count, ReadElement read, std::string name) {
  require(count >= 0, name, ": count must be at least 0, got ", count);
  require(read != nullptr, name, ": the function that reads an element is empty");
  auto source = std::make_shared<const Source>(Source{name, std::move(read)});
  return Dataset(std::move(name),
                 [=](const Pass& pass) { return std::make_unique<Indexed>(count, source, pass); },
                 {.cardinality = count, .random_access = true});
}

}  // namespace belfry::data
