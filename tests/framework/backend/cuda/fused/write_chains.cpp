// write_chains FILE: writes the kernels of chain_cases() as one C++ file, with compiled_chains().

#include <exception>
#include <fstream>
#include <iostream>

#include "belfry/framework/backend/cuda/fused_source.h"
#include "belfry/framework/base/error.h"
#include "chains.h"

namespace belfry::cuda {
namespace {

void write(const char* file) {
  std::ofstream out(file);
  out << "#include \"belfry/framework/backend/cuda/kernels/elementwise/fused_chain.h\"\n"
         "#include \"compiled_chains.h\"\n\n";
  std::string list;
  for (std::size_t n = 0; n < chain_cases().size(); ++n) {
    const ChainCase& chain = chain_cases()[n];
    Graph graph;
    auto source = fused_source(build(graph, chain));
    require(source.has_value(), "no source for ", chain.name);
    // Each text has the same names.
    out << "// ---- " << chain.name << "\n#define Chain Chain_" << n
        << "\n#define fused_chain fused_chain_" << n << '\n'
        << source->text << "#undef Chain\n#undef fused_chain\n\n";
    list += concat(n == 0 ? "" : ", ", "fused_chain_", n);
  }
  out << "std::span<const belfry::cuda::CompiledChain> belfry::cuda::compiled_chains() {\n"
         "  static constexpr CompiledChain all[] = {"
      << list << "};\n  return all;\n}\n";
  out.close();
  require(out.good(), "cannot write ", file);
}

}  // namespace
}  // namespace belfry::cuda

int main(int, char** arguments) {
  try {
    belfry::cuda::write(arguments[1]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
