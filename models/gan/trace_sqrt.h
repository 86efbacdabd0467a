#pragma once
// Square roots of matrices, for the Frechet distance. Used by models/gan alone.

#include <cstdint>
#include <vector>

namespace belfry::gan {

/// The trace of (A B)^(1/2) for symmetric matrices [size, size] without negative eigenvalues, row
/// by row; eigenvalues that rounding has made negative count as 0. NaN if an element is not finite.
double trace_of_sqrt_of_product(std::vector<double> a, std::vector<double> b, std::int64_t size);

}  // namespace belfry::gan
