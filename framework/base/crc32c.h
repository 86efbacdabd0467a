#pragma once
// CRC-32C, the checksum of safetensors files, TFRecord files and event files.

#include <cstddef>
#include <cstdint>
#include <span>

namespace belfry {

/// CRC-32C (Castagnoli polynomial 0x1EDC6F41, reflected; RFC 3720, appendix B.4) of `bytes`,
/// continued from `crc`: crc32c(b, crc32c(a)) is the checksum of a followed by b. Uses the SSE4.2
/// instruction where the CPU has it.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc = 0);

/// The masked form of the CRC-32C `crc`, which stands for it in files of records (TFRecord,
/// TensorBoard's event files).
constexpr std::uint32_t masked(std::uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; }

/// crc32c() with plain instructions only.
std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t crc = 0);

}  // namespace belfry
