#pragma once
// Input pipelines put together at random, from a seed.

#include <cstdint>
#include <string>
#include <vector>

#include "../../framework/base/temporary_folder.h"
#include "belfry/data/dataset.h"

namespace belfry::data {

/// The files that the sources of random pipelines read, gone with this object.
class PipelineFiles {
 public:
  PipelineFiles();
  std::string operator/(const std::string& name) const { return folder_ / name; }
  std::vector<std::string> lines;    ///< text files, one of them compressed
  std::vector<std::string> records;  ///< TFRecord files
  std::vector<std::string> tables;   ///< CSV files
  std::vector<std::string> tokens;   ///< of 16 bits each
  std::string arrays, pictures;      ///< an .npz file; a folder of images

 private:
  TemporaryFolder folder_;
};

/// How a random pipeline is made.
struct RandomPipelineOptions {
  std::uint64_t seed = 0;
  int workers = 1;     ///< each of its parallel stages has so many
  std::string folder;  ///< for the files of its caches; empty, or as the same pipeline left it
};

/// A pipeline that follows from its seed but for the number of its workers.
struct RandomPipeline {
  Dataset dataset;
  /// Its beginning, as far as the shares of several pipelines are the whole together.
  Dataset divisible;
  std::string text;  ///< its stages, "npz | shuffle(7) | batch(3)"
};

RandomPipeline random_pipeline(const PipelineFiles& files, const RandomPipelineOptions& options);

}  // namespace belfry::data
