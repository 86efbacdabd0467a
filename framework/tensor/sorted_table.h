#pragma once
// LevelDB's file of sorted entries, as far as the index of a TensorFlow checkpoint uses it:
// https://github.com/google/leveldb/blob/main/doc/table_format.md. Internal to tensor/.

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry::sorted_table {

/// Told about each entry. The texts live as long as the call.
using Visit = std::function<void(std::string_view key, std::string_view value)>;

/// Visits the entries of a file in the order of their keys, which rise. All that the file says of
/// sizes is checked against what is there, and every checksum, before it is acted upon; blocks that
/// Snappy compressed take at most 22 times their size, keys 64 times the file's. Error, naming the
/// offset: the bytes are no such file; they have a block compressed by Snappy, and this build has
/// not got it.
void read(std::span<const std::byte> file, const Visit& visit);

/// The bytes of a file with these entries, whose keys must rise: one block, not compressed, as
/// TensorFlow writes it. Error: they do not.
std::string write(const std::vector<std::pair<std::string, std::string>>& entries);

}  // namespace belfry::sorted_table
