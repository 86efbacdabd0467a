#pragma once
// Elements named anew. Internal to data/.

#include "belfry/data/element.h"

namespace belfry::data {

/// The name of a transform that applies the user's function: "map(decode)", or "map" if the
/// function has no name.
inline std::string name_with(std::string kind, const std::string& given,
                             const std::string& of_function) {
  const std::string& name = given.empty() ? of_function : given;
  return name.empty() ? kind : concat(kind, "(", name, ")");
}

/// The stage of such a transform: errors tell a name that was given.
inline StageName stage_with(StageName stage, const std::string& given) {
  stage.told = stage.told || !given.empty();
  return stage;
}

/// Names `out` when it goes out of scope, also when the element could not be produced.
class Named {
 public:
  Named(Element& out, std::int64_t index, std::uint64_t epoch)
      : out_(out), index_(index), epoch_(epoch) {
    out.file = nullptr;  // unless the source says it
  }
  ~Named() {
    out_.index = index_;
    out_.epoch = epoch_;
  }
  Named(const Named&) = delete;
  Named& operator=(const Named&) = delete;

 private:
  Element& out_;
  std::int64_t index_;
  std::uint64_t epoch_;
};

}  // namespace belfry::data
