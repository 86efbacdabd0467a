#include <set>

#include "../training_testing.h"
#include "belfry/framework/train/step/worker_sync.h"

namespace belfry {
namespace {

TEST(BatchDigest, TellsBatchesApart) {
  std::vector<Features> batches{
      points({1, 2}, {3, 4}),
      points({1, 2}, {3, 5}),
      points({2, 1}, {3, 4}),
      {{"y", Array::of<float>({1, 2}, {2, 1})}, {"x", Array::of<float>({3, 4}, {2, 1})}},
      {{"x", Array::of<float>({1, 2}, {2, 1})}},
      {{"x", Array::of<float>({1, 2}, {1, 2})}},
      {{"x", Array::of<float>({1, 2}, {2})}},
      {{"x", Array::of<std::int32_t>({0x3f800000, 0x40000000}, {2})}},  // the same bits
      {{"x", Array::of<float>({}, {0})}},
      {}};
  std::set<std::uint64_t> seen;
  for (const Features& batch : batches) seen.insert(digest(batch));
  EXPECT_EQ(seen.size(), batches.size());
  EXPECT_EQ(digest(batches[0]), digest(points({1, 2}, {3, 4})));
}

// 1 MiB is looked at in pieces, the first and the last bytes among them.
TEST(BatchDigest, LooksIntoLargeArrays) {
  Array large = Array::zeros({1 << 18});
  std::uint64_t zeros = digest({{"x", large}});
  for (std::int64_t at : {0, (1 << 18) - 1}) {
    Array other = large.clone();
    other.span<float>()[static_cast<std::size_t>(at)] = 1;
    EXPECT_NE(digest({{"x", other}}), zeros);
  }
  Array noise = large.clone();
  noise.span<float>()[100'000] = 1;
  std::ranges::fill(noise.span<float>().subspan(1000, 300), 1.f);  // more than between two pieces
  EXPECT_NE(digest({{"x", noise}}), zeros);
}

}  // namespace
}  // namespace belfry
