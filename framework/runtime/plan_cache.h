#pragma once
// A cache keeps what is ready to run for the next batch of its kind.

#include <algorithm>
#include <cstddef>
#include <list>
#include <memory>
#include <utility>

namespace belfry {

/// At most so many entries, of which the least recently used goes when another one comes. Who runs
/// an entry holds its pointer: it stays here as long, even where there are too many. Used by one
/// thread at a time.
template <class Entry>
class PlanCache {
 public:
  using Pointer = std::shared_ptr<Entry>;

  explicit PlanCache(int most) : most_(most) {}

  /// The first entry for which is_it(entry), or null.
  template <class IsIt>
  Pointer find(const IsIt& is_it) const {
    auto found = std::ranges::find_if(entries_, is_it, dereferenced);
    return found == entries_.end() ? nullptr : *found;
  }
  /// The same; it is the last one used now.
  template <class IsIt>
  Pointer use(const IsIt& is_it) {
    auto found = std::ranges::find_if(entries_, is_it, dereferenced);
    if (found == entries_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front();
  }
  /// Keeps `entry`, as the last one used, and makes room for it first.
  Pointer add(Entry entry) {
    make_room();
    entries_.push_front(std::make_shared<Entry>(std::move(entry)));
    return entries_.front();
  }
  /// Lets go of so many that one more may come.
  void make_room() {
    while (entries_.size() >= most_ && drop_one()) {
    }
  }
  /// Lets go of the least recently used entry that nobody holds. False: there is none.
  bool drop_one() {
    auto idle = std::find_if(entries_.rbegin(), entries_.rend(),
                             [](const Pointer& e) { return e.use_count() == 1; });
    if (idle == entries_.rend()) return false;
    entries_.erase(std::next(idle).base());
    return true;
  }
  /// Lets go of all for which is_it(entry).
  template <class IsIt>
  void drop(const IsIt& is_it) {
    std::erase_if(entries_, [&](const Pointer& e) { return is_it(*e); });
  }

 private:
  static const Entry& dereferenced(const Pointer& entry) { return *entry; }

  std::size_t most_;
  std::list<Pointer> entries_;  // the last one used first
};

}  // namespace belfry
