#include "belfry/data/dataset.h"

#include <chrono>

#include "belfry/data/scheduler.h"
#include "belfry/framework/base/error.h"

namespace belfry {
namespace {

using data::IteratorPtr, data::Pass, data::Position;

class Stream final : public InputStream {
 public:
  explicit Stream(Dataset dataset) : dataset_(std::move(dataset)) { start(); }

  bool next(Features& batch) override {
    auto begin = std::chrono::steady_clock::now();
    std::swap(element_.features, batch);
    bool more = false;
    try {
      more = iterator_->next(element_);
    } catch (...) {
      finish(begin, batch, false);
      throw;
    }
    finish(begin, batch, more);
    return more;
  }

  std::string save() const override {
    Position at;
    iterator_->position(at);
    return at.text();
  }

  void restore(const std::string& state) override {
    start();
    if (state.empty()) return;
    Position at(state);
    iterator_->position(at);
    at.finish();
  }

  double wait_seconds() const override { return std::chrono::duration<double>(waited_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  void start() {
    iterator_.reset();
    Pass pass;
    pass.scheduler = std::make_shared<data::Scheduler>();
    iterator_ = dataset_.iterate(std::move(pass));
  }

  void finish(Clock::time_point begin, Features& batch, bool more) {
    if (!more) element_.features.clear();
    std::swap(element_.features, batch);
    waited_ += Clock::now() - begin;
  }

  Dataset dataset_;
  IteratorPtr iterator_;
  data::Element element_;
  Clock::duration waited_{};
};

}  // namespace

Dataset::Dataset(data::MakeIterator make, data::DatasetInfo info)
    : make_(std::move(make)), info_(info) {
  require(make_ != nullptr, "dataset: the function that starts a pass is empty");
  require(info_.cardinality >= data::unknown, "dataset: cardinality ", info_.cardinality,
          " is neither a count nor data::infinite nor data::unknown");
  require(!info_.random_access || info_.cardinality >= 0,
          "dataset: random access needs a known cardinality");
}

Dataset Dataset::then(data::MakeIterator make, data::DatasetInfo info) const {
  Dataset out(std::move(make), info);
  out.stage_ = stage_ + 1;
  return out;
}

data::IteratorPtr Dataset::iterate(data::Pass pass) const {
  ensure(!pass.order || info_.random_access, "dataset: an order without random access");
  ensure(pass.scheduler != nullptr, "dataset: a pass without a scheduler");
  pass.stage = stage_;
  data::IteratorPtr out = make_(pass);
  require(out != nullptr, "dataset: the function that starts a pass returned null");
  return out;
}

Dataset::operator InputStreamPtr() const { return std::make_unique<Stream>(*this); }

data::Transform data::wrap(std::function<IteratorPtr(IteratorPtr, const Pass&)> iterator,
                           std::function<DatasetInfo(const DatasetInfo&)> info) {
  return [iterator = std::move(iterator), info = std::move(info)](Dataset source) {
    DatasetInfo known = info ? info(source.info()) : DatasetInfo{};
    auto make = [iterator, source](const Pass& pass) {
      return iterator(source.iterate(pass), pass);
    };
    return source.then(std::move(make), known);
  };
}

}  // namespace belfry
