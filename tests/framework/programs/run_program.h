#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "belfry/framework/base/file.h"

namespace belfry {

struct Ran {
  int status;
  std::string out, err;
};

/// Runs a program in a folder, with a line of arguments.
inline Ran run_in(const std::string& folder, const std::string& program,
                  const std::string& arguments) {
  std::string line =
      "cd '" + folder + "' && '" + program + "' " + arguments + " > out.txt 2> err.txt";
  int status = std::system(line.c_str());
  return {WEXITSTATUS(status), read_file(folder + "/out.txt"), read_file(folder + "/err.txt")};
}

}  // namespace belfry
