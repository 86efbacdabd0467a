// Writes files to begin fuzzing from: write_seeds FOLDER puts a folder for each fuzz target into
// it. Without them, ten seconds do not suffice to find even the magic number of most formats.

#include <cstdio>

#include "belfry/framework/base/error.h"
#include "seeds.h"

using namespace belfry;

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: write_seeds FOLDER\n");
    return 2;
  }
  const std::string folder = arguments[1];
  try {
    for (const auto& write : {write_image_seeds, write_array_seeds, write_option_seeds,
                              write_record_seeds, write_state_seeds, write_text_seeds})
      write(folder);
  } catch (const Error& error) {
    std::fprintf(stderr, "write_seeds: %s\n", error.what());
    return 1;
  }
  return 0;
}
