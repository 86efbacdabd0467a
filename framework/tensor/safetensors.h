#pragma once
// The safetensors file format: `u64le N | N bytes of JSON | data`. Checkpoints and weights are
// files of this kind; the stock Python package reads them.

#include <functional>
#include <map>
#include <string>

#include "belfry/framework/tensor/array.h"

namespace belfry {

using NamedArrays = std::map<std::string, Array, std::less<>>;     ///< arrays by name
using Metadata = std::map<std::string, std::string, std::less<>>;  ///< texts by key

/// The contents of a file.
struct Safetensors {
  NamedArrays tensors;  ///< all of the file
  Metadata metadata;    ///< without Belfry's checksums
};

/// The contents of a file without the elements.
struct SafetensorsHeader {
  std::map<std::string, TensorType, std::less<>> tensors;  ///< types by name
  Metadata metadata;                                       ///< without Belfry's checksums
};

/// Writes `tensors` and `metadata` to `path`, whole or not at all and durably, as
/// write_file_atomically() does; the elements are not copied. Equal contents give equal bytes.
///
/// The metadata is given an entry `"format": "pt"` unless it has one, as other loaders expect.
/// Where a key starts with "belfry.", two entries are added: checksums of the data
/// (belfry.crc32c) and of names, types and metadata (belfry.header_crc32c).
///
/// Error: an undefined array; one of these two keys in `metadata`; a name that is no UTF-8, has
/// control characters, is longer than 4096 bytes or is "__metadata__"; more than 1,000,000 tensors;
/// names and metadata beyond 100 MB; the file cannot be written. The file that was at `path` is
/// then as it was.
void save_safetensors(const std::string& path, const NamedArrays& tensors,
                      const Metadata& metadata = {});

/// Reads a file written by save_safetensors() or by any other program. Everything in it is checked
/// before memory is taken for it: the tensors must tile the data exactly, each with the size that
/// its type and shape ask for, in at most 8 axes; nothing may appear twice, nothing may be unknown;
/// bytes of a BOOL are 0 or 1; and where Belfry wrote a checksum, names, types, metadata and data
/// must agree with it. Any bytes at all give either their content or an Error, never a crash.
/// Types other than Belfry's own (F64, F32, BF16, F16, I64, I32, U8, BOOL) are an Error.
///
/// Error: names the file, and the byte offset or the tensor, what was expected, and what is there.
Safetensors load_safetensors(const std::string& path);

/// As load_safetensors(), but reads no data and so does not verify their checksum: the time depends
/// on the number of tensors, not on their size.
SafetensorsHeader read_safetensors_header(const std::string& path);

}  // namespace belfry
