#pragma once
// NPZ, NumPy's file format of several arrays: a ZIP archive of NPY files.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "belfry/framework/tensor/features.h"

namespace belfry::data {

/// Reads what numpy.savez or numpy.savez_compressed wrote: the entry `<name>.npy` becomes the array
/// `name`, in the order of the archive's directory. Entries are stored or deflated, in archives of
/// any size (ZIP64); checksums are checked. The arrays are read as by read_npy(). A file gives at
/// most the thousandfold of its bytes, the limit of deflate, and at most 65,536 arrays.
///
/// Error naming the file, and the entry or the offset: no such file; no ZIP archive, a damaged or
/// truncated one, or one in several parts; entries that are encrypted, compressed otherwise, not
/// `.npy`, there twice or overlapping.
///
/// `names`: only these arrays are read; the others may be of any type. None: all. Error: a name
/// that is not there, listing those that are.
Features read_npz(const std::string& path, const std::vector<std::string>& names = {});

/// As read_npz(), from the bytes of such a file; `name` stands for the path in messages.
Features parse_npz(std::span<const std::byte> bytes, const std::string& name = "NPZ bytes",
                   const std::vector<std::string>& names = {});

struct NpzOptions {
  bool compress = false;  ///< deflate the arrays, as numpy.savez_compressed does
};

/// Writes `arrays` for NumPy, whole or not at all and durably, as write_file_atomically() does.
/// Equal arrays give equal files. Error: those of write_npy(); an entry or a file of 4 GiB or more,
/// more than 65,534 arrays, a name longer than 65,531 bytes.
void write_npz(const std::string& path, const Features& arrays, NpzOptions options = {});

}  // namespace belfry::data
