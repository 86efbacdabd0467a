// A dataset as the stream that training reads.

#include <functional>
#include <optional>
#include <stop_token>

#include "belfry/data/dataset.h"
#include "belfry/data/profile.h"
#include "belfry/data/scheduler.h"
#include "belfry/framework/base/error.h"

namespace belfry {
namespace {

using data::IteratorPtr, data::Pass, data::Position;

class Stream final : public InputStream {
 public:
  Stream(Dataset dataset, const InputContext& context)
      : dataset_(std::move(dataset)), context_(context) {
    require(context.pipelines >= 1 && context.pipeline >= 0 && context.pipeline < context.pipelines,
            "input: there is no pipeline ", context.pipeline, " of ", context.pipelines);
    start();
  }
  ~Stream() override { stop_.request_stop(); }

  bool next(Features& batch) override {
    std::int64_t begin = data::nanoseconds_now();
    std::swap(element_.features, batch);
    bool more = false;
    try {
      more = !context_.stop.stop_requested() && iterator_->next(element_);
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

  double wait_seconds() const override { return static_cast<double>(waited_) * 1e-9; }
  std::vector<InputStage> stages() const override { return profile_->stages(); }

 private:
  void start() {
    stop_.request_stop();
    iterator_.reset();
    stop_ = std::stop_source();
    on_stop_.emplace(context_.stop, [stop = stop_]() mutable { stop.request_stop(); });
    Pass pass;
    pass.scheduler = std::make_shared<data::Scheduler>();
    pass.shard = {.count = context_.pipelines, .index = context_.pipeline};
    pass.stop = stop_.get_token();
    pass.profile = profile_;
    iterator_ = dataset_.iterate(std::move(pass));
  }

  void finish(std::int64_t begin, Features& batch, bool more) {
    if (!more) element_.features.clear();
    std::swap(element_.features, batch);
    waited_ += data::nanoseconds_now() - begin;
  }

  Dataset dataset_;
  InputContext context_;
  std::stop_source stop_;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;  // hands it on to stop_
  std::shared_ptr<data::Profile> profile_ = std::make_shared<data::Profile>();
  IteratorPtr iterator_;
  data::Element element_;
  std::int64_t waited_ = 0;  // nanoseconds
};

}  // namespace

InputStreamPtr Dataset::open(const InputContext& context) const {
  return std::make_unique<Stream>(*this, context);
}

}  // namespace belfry
