// Predicts with an export, without the code of its model: serve EXPORTS NUMBER...
#include <belfry/framework.h>

#include <cstdio>
#include <cstdlib>

using namespace belfry;

int main(int argc, char** argv) {
  if (argc < 3) return std::fputs("usage: serve EXPORTS NUMBER...\n", stderr), 2;
  try {
    auto line = Predictor::load(argv[1], {.threads = 1});
    for (int i = 2; i < argc; ++i) {
      float x = std::strtof(argv[i], nullptr);
      Features out = line.single({{"x", Array::of({x})}});
      std::printf("y(%g) = %.2f\n", x, out.at("y").item());
    }
  } catch (const Error& error) {
    return std::fprintf(stderr, "error: %s\n", error.what()), 1;
  }
}
