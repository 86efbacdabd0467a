#include <belfry/framework/base/error.h>
#include <belfry/framework/train/run_config.h>
#include <belfry/version.h>

#include <iostream>

int main() {
  std::cout << "Belfry " << belfry::build_info() << " on";
  for (const std::string& device : belfry::all_gpus_or_cpu()) std::cout << ' ' << device;
  std::cout << '\n';
  belfry::require(belfry::version() == BELFRY_VERSION, "headers of ", BELFRY_VERSION,
                  " and library ", belfry::version());
}
