#include <algorithm>
#include <filesystem>

#include "belfry/data/sources/file_records.h"
#include "belfry/data/sources/files.h"
#include "belfry/data/sources/folders.h"
#include "belfry/data/sources/media.h"
#include "belfry/data/sources/sources.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/folder_names.h"

namespace belfry::data {
namespace {

struct Labelled {
  std::string path;
  std::int64_t label;
};

Array decode(const std::string& content, const ImageOptions& options, const std::string& path) {
  return decode_image(std::as_bytes(std::span(content)), options, path);
}

// Elements are the numbers of `paths`; the files are read where the work is shared.
template <class Read>
Dataset numbered(std::vector<std::string> paths, int workers, std::string name, Read read) {
  auto number = [](std::int64_t i, Features& out) {
    prepare(out, {{"number", {{}, DType::i64}}});
    out.begin()->second.span<std::int64_t>()[0] = i;
  };
  auto load = [read](Features in) {
    return read(static_cast<std::size_t>(in.begin()->second.template span<std::int64_t>()[0]));
  };
  Dataset numbers = indexed(std::ssize(paths), number, std::move(name));
  return one_file_each(numbers, std::move(paths)) | map(load, {.workers = workers});
}

std::vector<std::string> first_of(const std::vector<PathPair>& pairs) {
  std::vector<std::string> out;
  for (const PathPair& pair : pairs) out.push_back(pair.first);
  return out;
}

}  // namespace

std::vector<std::string> class_names(const std::string& directory) {
  return entries_of(directory, [](const auto& path) { return is_folder(path.string()); });
}

Dataset image_folder(const std::string& directory, ImageFilesOptions options) {
  auto found = std::make_shared<std::vector<Labelled>>();
  std::vector<std::string> classes = class_names(directory);
  require(!classes.empty(), "image_folder: ", directory, " has no folders, which would be classes");
  for (std::size_t label = 0; label < classes.size(); ++label) {
    std::string folder = directory + "/" + classes[label];
    std::vector<std::string> names = files_with(folder, image_extensions);
    require(!names.empty(), "image_folder: the class ", folder,
            " has no images; folders in it are not searched");
    for (const std::string& name : names)
      found->push_back({folder + "/" + name, static_cast<std::int64_t>(label)});
  }
  auto read = [=](std::size_t i) {
    const Labelled& file = (*found)[i];
    std::string content = read_file(file.path);
    Array label = Array::scalar(file.label);
    return Features{
        {"image", options.decode ? decode(content, options.image, file.path) : array_of(content)},
        {"label", label}};
  };
  std::vector<std::string> paths;
  for (const Labelled& file : *found) paths.push_back(file.path);
  return numbered(std::move(paths), options.workers, "image_folder", read);
}

Dataset image_table(const std::string& directory, std::vector<CsvColumn> columns,
                    ImageFilesOptions options) {
  constexpr const char* name_field = "file_name";
  for (const CsvColumn& column : columns)
    require(column.name != "image",
            "image_table: `image` is the picture; name the column otherwise");
  bool names_wanted = std::ranges::any_of(
      columns, [](const CsvColumn& column) { return column.name == name_field; });
  if (!names_wanted) columns.push_back({.name = name_field});
  auto rows = std::make_shared<std::vector<Features>>();
  std::vector<std::string> paths;
  InputStreamPtr table = csv({directory + "/metadata.csv"}, std::move(columns)).open();
  for (Features row; table->next(row);) {
    paths.push_back(directory + "/" + text_of(row.at(name_field)));
    Features kept;
    for (const auto& [name, value] : row)
      if (name != name_field || names_wanted) kept.set(name, value.clone());
    rows->push_back(std::move(kept));
  }
  require(!paths.empty(), "image_table: ", directory, "/metadata.csv has no rows");
  auto read = [rows, options, paths](std::size_t i) {
    std::string content = read_file(paths[i]);
    Features out = (*rows)[i];
    out.set("image", options.decode ? decode(content, options.image, paths[i]) : array_of(content));
    return out;
  };
  return numbered(paths, options.workers, "image_table", read);
}

Dataset image_masks(const std::string& images, const std::string& masks, ImageMaskOptions options) {
  auto pairs =
      std::make_shared<const std::vector<PathPair>>(pair_files(images, masks, image_extensions));
  auto read = [=](std::size_t i) {
    const PathPair& pair = (*pairs)[i];
    Features out{{"image", decode(read_file(pair.first), options.image, pair.first)},
                 {"mask", decode(read_file(pair.second), options.mask, pair.second)}};
    const Shape &a = out.at("image").shape(), &b = out.at("mask").shape();
    require(a[0] == b[0] && a[1] == b[1], pair.second, ": the mask is ", b, ", the image ",
            pair.first, " is ", a);
    return out;
  };
  return numbered(first_of(*pairs), options.workers, "image_masks", read);
}

Dataset volumes(const std::string& images, const std::optional<std::string>& masks,
                VolumeOptions options) {
  std::vector<PathPair> pairs;
  if (masks) {
    pairs = pair_files(images, *masks, volume_extensions);
  } else {
    for (const std::string& name : files_with(images, volume_extensions))
      pairs.emplace_back(images + "/" + name, "");
    require(!pairs.empty(), "volumes: ", images, " has no .npy, .tif or .tiff files");
  }
  auto shared = std::make_shared<const std::vector<PathPair>>(std::move(pairs));
  auto read = [=](std::size_t i) {
    const auto& [image, mask] = (*shared)[i];
    Features out{{"image", read_any_volume(image, options)}};
    if (mask.empty()) return out;
    out.set("mask", read_any_volume(mask, options));
    const Shape &a = out.at("image").shape(), &b = out.at("mask").shape();
    require(a[0] == b[0] && a[1] == b[1] && a[2] == b[2], mask, ": the mask is ", b,
            ", the volume ", image, " is ", a);
    return out;
  };
  return numbered(first_of(*shared), autotune, "volumes", read);
}

}  // namespace belfry::data
