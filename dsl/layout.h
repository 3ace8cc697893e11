#pragma once
/// How a temporary lies in its memory. Code indexes a buffer logically, whatever its layout is; sequential
/// meaning ignores it. The layout is applied once, where an access of the kernel becomes an element offset.
///
///   logical indices in the box that is placed   (i, k)
///     -> index map: physical indices            (k, i)
///     -> row-major, each stride as aligned      k*33 + i
///     -> swizzle of the flat offset             x ^ (x >> shift & mask)

#include "dsl/expr.h"
#include "dsl/simplify.h"

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

/// Physical indices as sums of digits of logical ones: permutations, splits such as "i, j -> i//4, j, i%4",
/// and sums. Written as text, which is how a trace saves it, or as a lambda over Exprs:
///     [](Expr i, Expr k) { return std::vector<Expr>{k, i}; }
/// Throws UserError (illegal_schedule) for what is no such map. That it is invertible is for those to ask
/// who know the extents: see `not_invertible`.
class IndexMap {
public:
  IndexMap(const char *text) : IndexMap(std::string(text)) {}
  IndexMap(const std::string &text);
  template <class F>
  requires std::invocable<F, Expr> || std::invocable<F, Expr, Expr> || std::invocable<F, Expr, Expr, Expr> ||
      std::invocable<F, Expr, Expr, Expr, Expr>
      IndexMap(const F &f) {
    if constexpr (std::invocable<F, Expr>)
      set(1, [&](auto &x) { return f(x[0]); });
    else if constexpr (std::invocable<F, Expr, Expr>)
      set(2, [&](auto &x) { return f(x[0], x[1]); });
    else if constexpr (std::invocable<F, Expr, Expr, Expr>)
      set(3, [&](auto &x) { return f(x[0], x[1], x[2]); });
    else
      set(4, [&](auto &x) { return f(x[0], x[1], x[2], x[3]); });
  }

  const std::vector<Var> &logical() const { return logical_; }
  const std::vector<Expr> &physical() const { return physical_; }
  std::vector<Expr> operator()(const std::vector<Expr> &indices) const;

private:
  void set(std::size_t rank, const std::function<std::vector<Expr>(const std::vector<Expr> &)> &f);
  void check() const;
  friend IndexMap compose(const IndexMap &first, const IndexMap &second);

  std::vector<Var> logical_;
  std::vector<Expr> physical_;
};

std::string to_string(const IndexMap &map); ///< "i, k -> k, i"; the constructor reads it back
/// `second` applied to what `first` gives.
IndexMap compose(const IndexMap &first, const IndexMap &second);
/// Two logical indices in [0, extents) that the map puts at one place, in words: "(0, 4) and (4, 0) both lie
/// at (0)"; or that it cannot be shown to be invertible there. None where it is.
std::optional<std::string> not_invertible(const IndexMap &map, const std::vector<std::int64_t> &extents);

/// The stride of physical dimension `dim`, in elements, is `offset` modulo `factor`.
struct StrideAlignment {
  std::size_t dim;
  std::int64_t factor, offset;
};

/// `bits` bits of the flat element offset from bit base + shift on are XORed into those from bit `base` on:
/// CuTe's Swizzle<bits, base, shift>. 2^base neighbours stay neighbours.
struct Swizzle {
  std::int64_t bits, base, shift;
};

struct Layout {
  std::optional<IndexMap> map = std::nullopt; ///< none: physical indices are the logical ones
  std::vector<StrideAlignment> strides = {};  ///< at most one for a dimension
  std::optional<Swizzle> swizzle = std::nullopt;
};

/// As the IR shows it: "stored i, k -> k, i, stride 0 padded to 1 mod 32, swizzled 3, 2, 3".
std::string to_string(const Layout &layout);
/// For a reader of the CUDA text: "transposed, rows padded". Empty for a null layout.
std::string describe(const std::shared_ptr<const Layout> &layout);

/// A buffer's layout over the box of it that is placed in a kernel.
class PlacedLayout {
public:
  /// `box` has the logical extents; indices are counted from its start. The map must be invertible there.
  PlacedLayout(const BufferNode &buffer, const std::vector<std::int64_t> &box);

  std::int64_t elements() const { return elements_; } ///< with all padding
  /// The physical extents with their padding, whose product is `elements()`; else that alone.
  std::vector<std::int64_t> extents() const;
  /// The element offset of logical indices, in canonical form. Swizzled, it is a sum
  ///     high*2^(base + bits) + (middle ^ source)*2^base + x % 2^base
  /// so that neighbours whose first is a multiple of 2^base differ in the last term only.
  Expr offset(const std::vector<Expr> &indices, const Bounds &bounds) const;

private:
  Layout layout_;
  std::vector<std::int64_t> lows_, extents_, strides_;
  std::int64_t elements_ = 1;
};

} // namespace nestsmith
