// Any bytes are a WAV file or an Error; what was read and written stays the same from then on.

#include <cstdlib>

#include "belfry/data/formats/wav.h"
#include "belfry/framework/base/error.h"
#include "memory_file.h"

using namespace belfry;
using namespace belfry::data;

namespace {

void check_round_trip(const Wav& wav, WavEncoding encoding) {
  const WavOptions options{.sample_rate = wav.sample_rate, .encoding = encoding};
  std::vector<std::byte> written;
  try {
    written = encode_wav(wav.samples, options);
  } catch (const Error&) {
    return;
  }
  if (encode_wav(parse_wav(written).samples, options) != written) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  Wav wav;
  try {
    wav = parse_wav(std::as_bytes(std::span(bytes, size)));
  } catch (const Error&) {
    return 0;
  }
  const Wav file = read_wav(MemoryFile(bytes, size).path());
  if (!identical(file.samples, wav.samples) || file.sample_rate != wav.sample_rate
      || file.channels != wav.channels || file.bits != wav.bits)
    std::abort();
  check_round_trip(wav, WavEncoding::float32);
  check_round_trip(wav, WavEncoding::pcm16);
  return 0;
}
