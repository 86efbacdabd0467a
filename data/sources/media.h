#pragma once
// Sources of images, volumes and sound: one file an element. They have random access, so that
// shuffle() permutes paths and a restored position decodes nothing that it skips. Files are read
// and decoded by several workers, in order; one that cannot be is an Error in its place, naming it.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "belfry/data/augment/resized_crop.h"
#include "belfry/data/dataset.h"
#include "belfry/data/formats/arrays/volume.h"
#include "belfry/data/formats/csv.h"
#include "belfry/data/formats/images/image.h"
#include "belfry/data/formats/images/image_grid.h"
#include "belfry/data/formats/spectrogram.h"
#include "belfry/data/sources/digits.h"
#include "belfry/data/transforms/transforms.h"

namespace belfry::data {

/// Options of image_folder() and image_table().
struct ImageFilesOptions {
  ImageOptions image = {};  ///< how files are decoded
  /// false: "image" is the file's bytes, u8 [length], for photograph_batches() or a map of your own
  /// to decode.
  bool decode = true;
  int workers = autotune;  ///< elements worked on at once, as in map
};

/// The names of the folders in `directory`, sorted: the classes of image_folder().
std::vector<std::string> class_names(const std::string& directory);

/// {"image" u8 [h, w, c], "label" i64 []} of each .jpg, .jpeg, .png, .bmp or .webp file (in any
/// case) in the folders of `directory`, one folder a class. Labels number class_names(); elements
/// are sorted by class, then by name, in which digits count as numbers: "2.png" comes before
/// "10.png". Error: no folder, or no image in one of them.
Dataset image_folder(const std::string& directory, ImageFilesOptions options = {});

/// {"image" u8 [h, w, c]} and a feature for each of `columns` (see CsvColumn), for each row of
/// metadata.csv in `directory`. Its field file_name is the image's path from there: the folders
/// that Hugging Face's datasets call an ImageFolder with metadata, of which `directory` is one
/// split, "pictures/train". Error: no metadata.csv, a row that cannot be read, a column named
/// "image", no row; for an element, an image that is not there.
Dataset image_table(const std::string& directory, std::vector<CsvColumn> columns,
                    ImageFilesOptions options = {});

/// Options of image_masks().
struct ImageMaskOptions {
  ImageOptions image = {};              ///< how images are decoded
  ImageOptions mask = {.channels = 1};  ///< how masks are decoded
  int workers = autotune;               ///< elements worked on at once, as in map
};

/// {"image" u8 [h, w, c], "mask" u8 [h, w, 1]}: images of one folder with the masks of the same
/// name (without extension) in another, sorted by name as image_folder() does. Error: an image
/// without mask or the other way round, two of the same name; for an element, sizes that differ.
Dataset image_masks(const std::string& images, const std::string& masks,
                    ImageMaskOptions options = {});

/// {"image" [d, h, w, c], "mask" [d, h, w, c]} of volumes, TIFF stacks or .npy files ([d, h, w] or
/// [d, h, w, c]), paired as by image_masks(). Without `masks` there is only "image".
Dataset volumes(const std::string& images, const std::optional<std::string>& masks = {},
                VolumeOptions options = {});

/// Options of wav().
struct WavFilesOptions {
  /// At most one of these, computed from the channels' mean; none: the samples.
  std::optional<SpectrogramOptions> spectrogram = {};
  std::optional<LogMelOptions> log_mel = {};  ///< see `spectrogram`
  int workers = autotune;                     ///< elements worked on at once, as in map
};

/// {"audio", "sample_rate" i64 [], "path" u8 [length]} of WAV files: f32 [frames, channels], or
/// [frames, bins] of a spectrogram, or [frames, mels]. Error: a sample rate other than log_mel's.
Dataset wav(std::vector<std::string> paths, WavFilesOptions options = {});

/// {"image" u8 [32, 32, 3], "label" i64 []} of CIFAR-10's binary files in `directory`
/// (data_batch_1.bin to data_batch_5.bin, test_batch.bin). In memory; random access.
Dataset cifar10(const std::string& directory, Split split);

/// {"image" u8 [32, 32, 3], "coarse_label" i64 [], "label" i64 []} of CIFAR-100's binary files in
/// `directory` (train.bin, test.bin): see read_cifar100(). In memory; random access.
Dataset cifar100(const std::string& directory, Split split);

/// Options of photograph_batches().
struct PhotographsOptions {
  std::int64_t size = 224;                               ///< of the square that comes out
  ResizedCropOptions crop = {};                          ///< how the part and the flip are drawn
  std::array<float, 3> mean = {0.485f, 0.456f, 0.406f};  ///< of red, green, blue in [0, 1]
  std::array<float, 3> deviation = {0.229f, 0.224f, 0.225f};  ///< by default those of ImageNet
  int workers = autotune;       ///< elements worked on at once, as in map
  std::uint64_t seed = 0;       ///< keys the parts and flips
  bool drop_remainder = false;  ///< as in batch
};

/// Batches for training on photographs, {"image" f32 [n, size, size, 3], "label" i64 [n]}, from
/// {"image" u8 [length], "label" i64 []} as image_folder() with .decode = false yields them: what
/// random_resized_crop, flip_horizontal and normalize would make of the decoded image, for less. Of
/// a JPEG only the part that is needed is decoded, no larger than needed (so that pixels differ
/// slightly), and the result is written where it belongs in the batch. Error: those
/// of map_and_batch(); at once, size outside [1, 32766], mean or deviation not finite, deviation
/// below 1e-6, and a crop that draw_resized_crop() refuses; for a batch, an image that cannot be
/// decoded or has been already.
Transform photograph_batches(std::int64_t batch_size, PhotographsOptions options = {});

}  // namespace belfry::data
