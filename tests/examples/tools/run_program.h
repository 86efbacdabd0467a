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

/// Runs a program in a folder, with a line of arguments. What it prints goes to `out`, and is read
/// if that is a file of the folder.
inline Ran run_in(const std::string& folder, const std::string& program,
                  const std::string& arguments, const std::string& out = "out.txt") {
  std::string line =
      "cd '" + folder + "' && '" + program + "' " + arguments + " > " + out + " 2> err.txt";
  int status = std::system(line.c_str());
  return {WEXITSTATUS(status), out[0] == '/' ? "" : read_file(folder + "/" + out),
          read_file(folder + "/err.txt")};
}

}  // namespace belfry
