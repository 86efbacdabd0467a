#include "belfry/framework/backend/cuda/toolkit/loaded_library.h"

#include <dlfcn.h>

#include "belfry/framework/base/error.h"

namespace belfry::cuda {

void* LoadedLibrary::address_of(const char* function) const {
  void* library = dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL);
  require(library, dlerror(), "; ", remedy_);
  void* address = dlsym(library, function);
  require(address, dlerror(), "; ", remedy_);
  return address;
}

}  // namespace belfry::cuda
