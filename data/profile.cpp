#include "belfry/data/profile.h"

#include <algorithm>

namespace belfry::data {
namespace {

// Takes the time of every call; where calls are short, of one in 32 or in 128, since looking at the
// clock twice would cost more than they do.
class Metered final : public Iterator {
 public:
  Metered(IteratorPtr iterator, Meter& meter, std::shared_ptr<Profile> profile)
      : iterator_(std::move(iterator)), meter_(meter), profile_(std::move(profile)) {}

  ~Metered() override { add_elements(); }

  bool next(Element& out) override {
    if (--until_sample_ > 0) {
      if (!iterator_->next(out)) {
        add_elements();
        return false;
      }
      ++elements_;
      return true;
    }
    std::int64_t begin = nanoseconds_now();
    struct Finally {
      Metered& self;
      std::int64_t begin;
      ~Finally() { self.sampled(nanoseconds_now() - begin); }
    } finally{*this, begin};
    if (!iterator_->next(out)) return false;
    ++elements_;
    meter_.bytes.add(bytes_of(out.features));
    meter_.weighed.add(1);
    return true;
  }

  std::int64_t skip(std::int64_t count) override { return iterator_->skip(count); }
  void position(Position& at) override { iterator_->position(at); }

 private:
  void sampled(std::int64_t nanoseconds) {
    constexpr std::int64_t short_call = 2000, shortest = 200, warm_up = 16;
    add_elements();
    meter_.nanoseconds.add(nanoseconds * every_);
    if (++samples_ >= warm_up)
      every_ = nanoseconds < shortest ? 128 : nanoseconds < short_call ? 32 : 1;
    until_sample_ = every_;
  }

  void add_elements() { meter_.elements.add(std::exchange(elements_, 0)); }

  IteratorPtr iterator_;
  Meter& meter_;
  std::shared_ptr<Profile> profile_;  // owns the meter
  std::int64_t elements_ = 0;         // not yet added to the meter
  std::int64_t until_sample_ = 1, every_ = 1, samples_ = 0;
};

}  // namespace

std::int64_t bytes_of(const Features& features) {
  std::int64_t total = 0;
  for (const auto& [name, array] : features) total += array.bytes();
  return total;
}

Meter& Profile::meter(const void* stage, const std::string& name, const Meter* consumer) {
  MutexLock lock(mutex_);
  auto known = std::find_if(meters_.begin(), meters_.end(), [&](const Meter& m) {
    return m.stage == stage && m.consumer == consumer && m.name == name;
  });
  if (known != meters_.end()) return *known;
  Meter& fresh = meters_.emplace_back();
  fresh.name = name;
  fresh.stage = stage;
  fresh.consumer = consumer;
  fresh.depth = consumer ? consumer->depth + 1 : 0;
  return fresh;
}

std::vector<InputStage> Profile::stages() const {
  MutexLock lock(mutex_);
  auto seconds = [](std::int64_t nanoseconds) { return nanoseconds * 1e-9; };
  std::vector<InputStage> out;
  for (const Meter& m : meters_) {
    std::int64_t upstream = 0;
    for (const Meter& source : meters_)
      if (source.consumer == &m) upstream += source.nanoseconds.get();
    std::int64_t own = m.asynchronous ? 0 : m.nanoseconds.get() - upstream;
    std::int64_t looks = m.looks.get(), weighed = m.weighed.get();
    out.push_back({.name = m.name,
                   .depth = m.depth,
                   .elements = m.elements.get(),
                   .bytes = weighed ? m.bytes.get() / weighed * m.elements.get()
                                          + m.bytes.get() % weighed * m.elements.get() / weighed
                                    : 0,
                   .busy = seconds(m.busy + std::max<std::int64_t>(own, 0)),
                   .upstream = seconds(upstream),
                   .downstream = seconds(m.downstream),
                   .queue = looks ? static_cast<double>(m.queued.get()) / looks : 0.0,
                   .buffer = m.buffer,
                   .workers = m.workers});
  }
  return out;
}

IteratorPtr metered(IteratorPtr iterator, Meter& meter, std::shared_ptr<Profile> profile) {
  return std::make_unique<Metered>(std::move(iterator), meter, std::move(profile));
}

}  // namespace belfry::data
