#include "belfry/data/iterator.h"

#include "belfry/framework/base/error.h"

namespace belfry::data {

void read_again(Iterator& fresh, std::int64_t count, std::string_view what) {
  Element ignored;
  for (std::int64_t i = 0; i < count; ++i) {
    bool more = true;
    try {
      more = fresh.next(ignored);
    } catch (...) {  // counts as read
    }
    require(more, "input: the saved position is element ", count, " of ", what,
            " that now ends after ", i);
  }
}

}  // namespace belfry::data
