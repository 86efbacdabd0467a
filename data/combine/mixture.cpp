#include "belfry/data/combine/mixture.h"

#include "belfry/data/transforms/named.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {

Mixture::Mixture(const std::vector<Dataset>& datasets, bool stop_on_empty, const Pass& pass)
    : stop_on_empty_(stop_on_empty), epoch_(pass.epoch) {
  for (std::size_t i = 0; i < datasets.size(); ++i)
    inputs_.push_back(datasets[i].iterate(pass.input(i)));
}

bool Mixture::next(Element& out) {
  Named named(out, index_, epoch_);
  return read(&out);
}

std::int64_t Mixture::skip(std::int64_t count) {
  std::int64_t i = 0;
  while (i < count && unasked([&] { return read(nullptr); })) ++i;
  return i;
}

// Null: the element is skipped.
bool Mixture::read(Element* out) {
  constexpr int patience = 1'000'000;
  for (int misses = 0; !ended_; ++misses) {
    if (misses == patience) {
      ended_ = true;
      fail("choose_from: the last ", patience, " choices were datasets that have ended");
    }
    std::int64_t choice = choose(step_++);
    ended_ = choice == none;
    if (ended_) break;
    IteratorPtr& input = inputs_[choice];
    if (input) {
      ++index_;  // also if the element fails
      if (out ? input->next(*out) : input->skip(1) == 1) return true;
      --index_;
      input.reset();
    }
    ended_ = stop_on_empty_;
  }
  return false;
}

void Mixture::position(Position& at) {
  at.field("mixture.step", step_);
  at.field("mixture.index", index_);
  at.field("mixture.ended", ended_);
  std::vector<std::int64_t> open;
  for (const IteratorPtr& input : inputs_) open.push_back(input != nullptr);
  at.list("mixture.open", open, 0, 1);
  require(open.size() == inputs_.size(), "input: the saved position is that of ", open.size(),
          " mixed datasets, this pipeline has ", inputs_.size());
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (open[i] == 0) inputs_[i].reset();
    if (inputs_[i]) inputs_[i]->position(at);
  }
}

}  // namespace belfry::data
