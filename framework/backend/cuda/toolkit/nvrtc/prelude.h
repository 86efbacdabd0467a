// The C++ library and the few types of the host that device code needs, for NVRTC, which has
// neither. Stands in front of what it compiles; the headers that it replaces are then empty.

namespace std {

using size_t = decltype(sizeof(0));
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long long;
using uint64_t = unsigned long long;

// CUDA's own, with an overload for float; nvcc takes the same behind <cmath>.
using ::erf;
using ::exp;
using ::expm1;
using ::floor;
using ::log;
using ::log1p;
using ::pow;
using ::sqrt;
using ::tanh;

template <class A, class B>
inline constexpr bool is_same_v = false;
template <class A>
inline constexpr bool is_same_v<A, A> = true;
template <class T>
inline constexpr bool is_floating_point_v = is_same_v<T, float> || is_same_v<T, double>;
template <class T>
inline constexpr bool is_integral_v =
    is_same_v<T, bool> || is_same_v<T, uint8_t> || is_same_v<T, int32_t> || is_same_v<T, int64_t>;
template <class T>
inline constexpr bool is_signed_v = T(-1) < T(0);

template <bool, class A, class>
struct conditional {
  using type = A;
};
template <class A, class B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool choice, class A, class B>
using conditional_t = typename conditional<choice, A, B>::type;

template <class T>
using make_unsigned_t =
    conditional_t<sizeof(T) == 8, uint64_t, conditional_t<sizeof(T) == 4, uint32_t, uint8_t>>;
template <class A, class B>
using common_type_t = decltype(true ? A() : B());

template <class...>
class tuple;

struct string_view {
  const char* text;
  constexpr string_view(const char* t) : text(t) {}
};

}  // namespace std

namespace belfry {

struct BFloat16 {
  std::uint16_t bits;
};
struct Float16 {
  std::uint16_t bits;
};
template <class T>
using compute_type =
    std::conditional_t<std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>, float, T>;

namespace cuda {

struct FaultSite {
  std::uint64_t* word;
  std::uint64_t kernel;
};

}  // namespace cuda
}  // namespace belfry
