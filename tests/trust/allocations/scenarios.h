#pragma once
// Work that is tried with faults, and how one sees that none has done harm.

#include <memory>
#include <string>
#include <vector>

namespace belfry {

class Scenario {
 public:
  virtual ~Scenario() = default;
  /// Before each run: nothing fails.
  virtual void prepare() {}
  /// The work; may fail.
  virtual void run() = 0;
  /// After a failure: expects that what was there before is whole, and does the work again without
  /// one. `where` names the run, as in check().
  virtual void recover(const std::string& where) {
    (void)where;
    run();
  }
  /// Expects (by gtest) that all is as the work leaves it; `where` names the run.
  virtual void check(const std::string& where) = 0;
};

std::vector<std::string> scenario_names();
std::unique_ptr<Scenario> make_scenario(const std::string& name);

}  // namespace belfry
