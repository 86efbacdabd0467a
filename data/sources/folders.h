#pragma once
// Files in folders. Internal to data/.

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "belfry/data/formats/arrays/volume.h"

namespace belfry::data {

using PathPair = std::pair<std::string, std::string>;

inline const std::vector<std::string> image_extensions{".jpg", ".jpeg", ".png", ".bmp", ".webp"};
inline const std::vector<std::string> volume_extensions{".npy", ".tif", ".tiff"};

/// Names of the entries of `directory` that `keep` keeps, sorted. Error: it cannot be read.
std::vector<std::string> entries_of(const std::string& directory,
                                    const std::function<bool(const std::filesystem::path&)>& keep);

/// Names of the files in `directory` with one of these extensions, in any case, sorted in such a
/// way that digits count as numbers: "2.png" comes before "10.png".
std::vector<std::string> files_with(const std::string& directory,
                                    const std::vector<std::string>& extensions);

/// The files of `first` with those of `second` that have the same name without extension, in the
/// order of files_with(). Error: one without partner, or none at all.
std::vector<PathPair> pair_files(const std::string& first, const std::string& second,
                                 const std::vector<std::string>& extensions);

/// A TIFF stack or .npy file as [d, h, w, c].
Array read_any_volume(const std::string& path, const VolumeOptions& options);

}  // namespace belfry::data
