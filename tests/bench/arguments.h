#pragma once
// Options of the programs of this folder: "--name value", and "--name" alone where it is a bool.

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "belfry/framework/base/error.h"

namespace belfry::bench {

/// Where an option's value goes.
using Target = std::variant<bool*, int*, std::int64_t*, double*, std::string*,
                            std::function<void(const std::string&)>>;
using Targets = std::map<std::string, Target>;  // by name, dashes included

inline void set(const Target& target, const std::string& name, const std::string& value) {
  auto take = [&](auto to) {
    using To = decltype(to);
    if constexpr (!std::is_pointer_v<To>) {
      to(value);
    } else if constexpr (std::is_same_v<To, std::string*>) {
      *to = value;
    } else if constexpr (!std::is_same_v<To, bool*>) {
      auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), *to);
      require(error == std::errc() && end == value.data() + value.size(), name,
              " must be a number, got ", value);
    }
  };
  std::visit(take, target);
}

/// Error, listing the options, for one that is unknown or lacks its value.
inline void read_options(int argc, char** argv, const Targets& targets) {
  std::vector<std::string> names;
  for (const auto& [name, target] : targets) names.push_back(name);
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    auto found = targets.find(name);
    require(found != targets.end(), "unknown option ", name, "; there are ", join(names, ", "));
    if (auto* flag = std::get_if<bool*>(&found->second)) {
      **flag = true;
      continue;
    }
    require(++i < argc, name, " lacks its value");
    set(found->second, name, argv[i]);
  }
}

/// main() of a program: tells what it throws.
template <class Program>
int run_program(Program program) {
  try {
    program();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

}  // namespace belfry::bench
