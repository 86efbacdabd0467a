#include "belfry/version.h"

namespace belfry {

std::string_view version() { return BELFRY_VERSION; }

std::string_view build_info() {
  constexpr bool plain = std::string_view(BELFRY_COMPONENTS).empty();
  return plain ? BELFRY_VERSION " (" BELFRY_COMPILER ")"
               : BELFRY_VERSION " (" BELFRY_COMPILER "; " BELFRY_COMPONENTS ")";
}

}  // namespace belfry
