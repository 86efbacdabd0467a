#pragma once
// Which of the things that a training writes at some of its steps, checkpoints or exports, stay.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "belfry/framework/base/fields.h"
#include "belfry/framework/base/units.h"

namespace belfry {

/// The newest stay, and of the older ones each that `every` or `multiples_of` names. A checkpoint
/// that was kept by a rule stays for good; exports are judged anew each time.
struct KeepRules {
  int newest = 5;  ///< 0 keeps all, whatever the others say
  /// A time: the first stays, and each that was written at least so long after the last one that
  /// stayed. Steps(n): the last one of steps 1 to n stays, the last one of n + 1 to 2 n, and so on,
  /// and that of step 0. With Steps(100), of those of steps 0, 50, 90, 120 and 200 all but 50 and
  /// 120 stay. nullopt: none.
  std::optional<Every> every = {};
  Steps multiples_of = Steps(0);  ///< what was written at a multiple of this stays; 0: none

  /// Whether they ask when something was written, and of which step it is.
  bool ask_for_times() const {
    return every && std::holds_alternative<std::chrono::milliseconds>(*every);
  }
  bool ask_for_steps() const { return multiples_of.count > 0 || (every && !ask_for_times()); }

  static void fields(auto& o, auto&& field) {
    field("newest", o.newest, at_least(0));
    field("every", o.every);
    field("multiples_of", o.multiples_of, at_least(0));
  }
};

/// Error naming the field of `rules`, whose own name is `name`, that is out of its range.
void validate(const KeepRules& rules, std::string_view name);

/// The step and time at which something was written. One that the rules do not ask for may be left
/// out.
struct WrittenAt {
  std::int64_t step = 0;
  std::chrono::milliseconds time = {};  ///< since any one moment
};

/// Whether `older`, no longer among the newest, stays: `next` was written after it, and `last` is
/// the last before it that stayed, if there is one.
bool stays(const KeepRules& rules, const WrittenAt& older, const WrittenAt& next,
           const std::optional<WrittenAt>& last);

}  // namespace belfry
