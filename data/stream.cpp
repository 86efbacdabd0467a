// A dataset as the stream that training reads.

#include <memory>

#include "belfry/data/dataset.h"
#include "belfry/data/profile.h"
#include "belfry/data/scheduler.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/linked_stop.h"

namespace belfry {
namespace {

using data::IteratorPtr, data::Pass, data::Position;

class Stream final : public InputStream {
 public:
  Stream(Dataset dataset, const InputContext& context)
      : dataset_(std::move(dataset)), context_(context) {
    require(context.pipelines >= 1 && context.pipeline >= 0 && context.pipeline < context.pipelines,
            "input: there is no pipeline ", context.pipeline, " of ", context.pipelines);
    iterator_ = begin(*stop_);
  }
  ~Stream() override { stop_->request(); }

  bool next(Features& batch) override {
    require_memory();
    std::int64_t begin = data::nanoseconds_now();
    std::swap(element_.features, batch);
    bool more = false;
    // The text, which takes longer, is needed only after a stop.
    if (context_.stop.stop_possible() && !cut_short_) before_ = here();
    try {
      // A stopped pipeline ends early, perhaps within a batch.
      auto stopped = [&] { return context_.stop.stop_requested(); };
      more = !stopped() && iterator_->next(element_) && !stopped();
      if (!more && !stopped()) require_shard();
      cut_short_ = !more && stopped();
      seen_ = seen_ || more;
    } catch (...) {
      seen_ = true;
      over_ = is_shortage();
      cut_short_ = over_ && context_.stop.stop_possible();
      finish(begin, batch, false);
      throw;
    }
    finish(begin, batch, more);
    return more;
  }

  std::string save() const override {
    // An element that was taken during a stop was handed to nobody.
    if (cut_short_) return before_.text();
    require_memory();
    return here().text();
  }

  void restore(const std::string& state) override {
    auto stop = std::make_unique<LinkedStop>(context_.stop);
    IteratorPtr fresh = begin(*stop);
    bool seen = false;
    if (!state.empty()) {
      Position at(state);
      position(*fresh, seen, at);
      at.finish();
    }
    // Only now, so that a position that does not fit costs nothing.
    stop_->request();
    iterator_ = std::move(fresh);
    stop_ = std::move(stop);
    seen_ = seen;
    cut_short_ = false;
    over_ = false;
  }

  bool endless() const override { return dataset_.cardinality() == data::infinite; }

  double wait_seconds() const override { return waited_ * 1e-9; }
  std::vector<InputStage> stages() const override { return profile_->stages(); }

 private:
  IteratorPtr begin(const LinkedStop& stop) const {
    Pass pass;
    pass.scheduler = std::make_shared<data::Scheduler>();
    pass.shard = {.count = context_.pipelines, .index = context_.pipeline};
    pass.stop = stop.token();
    pass.allocate_host = context_.allocate_host;
    pass.profile = profile_;
    return dataset_.iterate(std::move(pass));
  }

  void position(data::Iterator& iterator, bool& seen, Position& at) const {
    if (context_.pipelines > 1) {
      at.constant("stream.pipelines", context_.pipelines);
      at.constant("stream.pipeline", context_.pipeline);
      at.field("stream.seen", seen);
    }
    iterator.position(at);
  }

  Position here() const {
    Position at;
    bool seen = seen_;
    try {
      position(*iterator_, seen, at);
    } catch (...) {
      over_ = is_shortage();
      throw;
    }
    return at;
  }

  void require_memory() const {
    if (over_)
      throw OutOfMemory(
          "input: memory was short in this pass, so that nobody knows how far it came; restore() a "
          "position saved before, or open the data again");
  }

  // Several pipelines wait for each other: one without data is a mistake.
  void require_shard() {
    require(context_.pipelines == 1 || seen_, "input: nothing is left for pipeline ",
            context_.pipeline, " of ", context_.pipelines,
            "; use fewer pipelines, more data, or ShardPolicy::off");
  }

  void finish(std::int64_t begin, Features& batch, bool more) {
    if (!more) element_.features.clear();
    std::swap(element_.features, batch);
    waited_ += data::nanoseconds_now() - begin;
  }

  Dataset dataset_;
  InputContext context_;
  std::unique_ptr<LinkedStop> stop_ = std::make_unique<LinkedStop>(context_.stop);
  std::shared_ptr<data::Profile> profile_ = std::make_shared<data::Profile>();
  IteratorPtr iterator_;
  data::Element element_;
  bool seen_ = false;          // it has yielded something, or failed to
  bool cut_short_ = false;     // the last next() ended because of a stop, or memory was short
  mutable bool over_ = false;  // memory was short: until restore()
  Position before_;            // where that began, if there may be a stop
  std::int64_t waited_ = 0;    // nanoseconds
};

}  // namespace

InputStreamPtr Dataset::open(const InputContext& context) const {
  return std::make_unique<Stream>(*this, context);
}

}  // namespace belfry
