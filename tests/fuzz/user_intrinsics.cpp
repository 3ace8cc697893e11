/// Draws and registers intrinsics such as users register, with names that also occur in other places.

#include "tests/fuzz/user_intrinsics.h"

#include "codegen/spell.h"
#include "dsl/expr/math.h"
#include "dsl/expr/spelling.h"
#include "dsl/hardware/intrinsics.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace nestsmith::fuzz {

namespace {

/// Returns the name of an intrinsic: a word that computations, schedules or the emitted text may also use, and
/// the number.
std::string name_of(std::uint64_t number) {
  static const std::vector<std::string> words = {
      "mix", "sad", "fma", "dot",  "f",     "X",        "T",    "C", "k",     "i",    "s",  "ld", "sum",
      "acc", "max", "j",   "uint", "float", "A_shared", "lane", "r", "block", "Wide", "ns", "_v", "index"};
  Random random(number ^ 0x1f83d9abfb41bd6bU);
  return random.pick(words) + std::to_string(number);
}

/// Returns the number at the end of the name, or 0 if the name is not that of a user's intrinsic.
std::uint64_t number_of(const std::string &name) {
  std::uint64_t number = 0;
  std::size_t digits = name.find_last_not_of("0123456789") + 1;
  std::from_chars(name.data() + digits, name.data() + name.size(), number);
  bool ours = number > 0 && number <= thread_intrinsics + warp_intrinsics_of_users && name == name_of(number);
  return ours ? number : 0;
}

/// A part of a term, and its C++ text, in which "@" stands for the lane.
struct Part {
  Expr expr;
  std::string text;
  double magnitude;
  bool given; ///< no arithmetic has changed it, so the reference has its exact value
};

const char *suffix_of(DType type) {
  return type == DType::f32   ? ".0f"
         : type == DType::u32 ? "u"
         : type == DType::i64 ? "LL"
         : type == DType::u64 ? "ULL"
                              : "";
}

/// x op y in C++. The sum, difference or product of i32 and i64 wraps around, so it has unsigned operands.
std::string arithmetic(DType type, const std::string &x, char op, const std::string &y) {
  if (type != DType::i32 && type != DType::i64)
    return fmt::format("({} {} {})", x, op, y);
  std::string_view own = c_type(type);
  return fmt::format("({0})((unsigned {0}){1} {2} (unsigned {0}){3})", own, x, op, y);
}

/// Draws the declaration of an intrinsic of a thread.
class ThreadDrawer {
public:
  explicit ThreadDrawer(std::uint64_t number)
      : random_(number ^ 0x5be0cd19137e2179U), name_(name_of(number)),
        type_(random_.pick(std::vector{DType::u32, DType::u32, DType::u32, DType::f32, DType::f32, DType::f32,
                                       DType::i32, DType::i32, DType::i64, DType::u64})) {
    width_ = byte_size(type_) == 8 ? 2 : random_.pick({2, 4, 4, 4, 8});
    if (random_.chance(8))
      width_ = random_.pick({3, 5, 16});
  }

  std::pair<Intrinsic, ThreadIntrinsic> draw() {
    Intrinsic made;
    made.name = name_;
    std::vector<std::string> formals = {"a", "b", "x", "k", "total"};
    random_.shuffle(formals);
    Buffer total = formal_buffer(formals.back(), type_, {});
    formals.pop_back();
    std::size_t count = 1 + random_.below(3);
    for (std::size_t n = 0; n < count; ++n)
      add_operand(formals[n], n > 0 && random_.chance(15), made);
    Part term = combined();
    made.operands.push_back({total});
    std::swap(made.operands.back(), made.operands[random_.below(made.operands.size())]);
    made.meaning = {{{k_, width_}}, {total, {}, load(total, {}) + term.expr}};
    made.prelude = prelude_of(made, total, term);
    return {made, {nullptr, width_, term.expr, term.magnitude}};
  }

private:
  DType any_stored() {
    using enum DType;
    switch (type_) {
    case u32:
      return random_.pick(width_ > 4 ? std::vector{u8, u16} : std::vector{u32, u32, u16, u8});
    case f32:
      return random_.pick(width_ > 4 ? std::vector{f16, bf16} : std::vector{f32, f32, f16, bf16});
    case i32:
      return width_ > 4 ? random_.pick(std::vector{i8, i16}) : random_.pick(std::vector{i32, i8, i16});
    case i64:
      return random_.pick(std::vector{i64, i32});
    default:
      return random_.pick(std::vector{u64, u32});
    }
  }

  void add_operand(const std::string &name, bool scalar, Intrinsic &made) {
    DType stored = any_stored();
    Buffer formal = formal_buffer(name, stored, scalar ? std::vector<Expr>{} : std::vector<Expr>{Expr(width_)});
    made.operands.push_back({formal});
    Expr element = load(formal, scalar ? std::vector<Expr>{} : std::vector<Expr>{Expr(k_)});
    std::string parameter = fmt::format("p{}", parts_.size()), text = parameter;
    int lanes = static_cast<int>(width_);
    if (!scalar && is_packed_word(stored, width_))
      text = fmt::format("({})({} >> 8 * @)", c_type(stored), parameter);
    else if (!scalar && byte_size(stored) < 4)
      text = parameter + ".e[@]";
    else if (!scalar)
      text = parameter + ".@x";
    std::string_view function = conversion(stored, type_);
    text =
        function.empty() ? fmt::format("({})({})", c_type(type_), text) : fmt::format("{}({})", function, text);
    bool wraps = !is_float(stored) && byte_size(stored) < 8;
    parts_.push_back({cast(type_, element), text, wraps ? 0x1p32 : 8, true});
    parameters_[formal] =
        fmt::format("{} {}", scalar ? std::string(c_type(stored)) : vector_type(stored, lanes), parameter);
  }

  Part constant_part() {
    std::int64_t number = random_.pick({1, 2, 3, 5});
    return {constant(type_, static_cast<double>(number)), std::to_string(number) + suffix_of(type_),
            static_cast<double>(number), true};
  }

  Part joined(const Part &x, const Part &y) {
    using enum BinaryOp;
    static const std::vector<BinaryOp> choices = {add, sub, mul, mul, max, min};
    BinaryOp choice = random_.pick(choices);
    bool real = is_float(type_);
    // The reference has no error bound for a product of sums, and represents 64-bit integers as doubles.
    bool exact = real ? x.given || y.given : byte_size(type_) < 8 || x.magnitude * y.magnitude < 0x1p40;
    if (choice == mul && !exact)
      choice = add;
    double magnitude = choice == mul                    ? x.magnitude * y.magnitude
                       : choice == max || choice == min ? std::max(x.magnitude, y.magnitude)
                                                        : x.magnitude + y.magnitude;
    std::string text = choice == max   ? fmt::format("({0} < {1} ? {1} : {0})", x.text, y.text)
                       : choice == min ? fmt::format("({1} < {0} ? {1} : {0})", x.text, y.text)
                                       : arithmetic(type_, x.text, *spelling(choice).data(), y.text);
    return {binary(choice, x.expr, y.expr), text, magnitude, !real};
  }

  Part chosen(const Part &when, const Part &x) {
    Part limit = constant_part();
    Expr condition = when.expr < limit.expr;
    Part other = joined(x, limit);
    return {select(condition, x.expr, other.expr),
            fmt::format("({} < {} ? {} : {})", when.text, limit.text, x.text, other.text), other.magnitude,
            !is_float(type_)};
  }

  /// Combines all parts in one expression.
  Part combined() {
    std::vector<Part> parts = parts_;
    if (random_.chance(25))
      parts.push_back(constant_part());
    if (random_.chance(20))
      parts.push_back(parts_.front());
    random_.shuffle(parts);
    while (parts.size() > 1) {
      Part last = parts.back();
      parts.pop_back();
      parts.back() = joined(parts.back(), last);
    }
    return random_.chance(20) ? chosen(parts_.front(), parts.front()) : parts.front();
  }

  std::string prelude_of(const Intrinsic &made, const Buffer &total, const Part &term) const {
    std::vector<std::string> parameters;
    for (const Operand &operand : made.operands)
      parameters.push_back(operand.formal == total ? fmt::format("{} total", c_type(type_))
                                                   : parameters_.at(operand.formal));
    std::string text = fmt::format("static __device__ __forceinline__ {} {}({}) {{\n", c_type(type_), name_,
                                   fmt::join(parameters, ", "));
    for (std::int64_t n = 0; n < width_; ++n) {
      std::string line;
      for (std::size_t at = 0; at < term.text.size(); ++at)
        if (term.text[at] != '@')
          line += term.text[at];
        else if (term.text.substr(at, 2) == "@x")
          line += "xyzw"[n % 4], ++at;
        else
          line += std::to_string(n);
      text += fmt::format("  total = {};\n", arithmetic(type_, "total", '+', line));
    }
    return text + "  return total;\n}\n";
  }

  Random random_;
  std::string name_;
  DType type_;
  std::int64_t width_;
  Var k_ = make_var("k");
  std::vector<Part> parts_;
  std::map<Buffer, std::string> parameters_;
};

// ---- products of a warp

std::int64_t bits_of(std::int64_t extent) { return std::countr_zero(static_cast<std::uint64_t>(extent)); }

BitLayout any_layout(std::int64_t first, std::int64_t second, Random &random) {
  std::vector<IndexBit> bits;
  for (std::size_t dimension : {std::size_t{0}, std::size_t{1}})
    for (std::int64_t bit = 0; bit < bits_of(dimension == 0 ? first : second); ++bit)
      bits.push_back({dimension, static_cast<std::size_t>(bit)});
  random.shuffle(bits);
  return {{bits.begin(), bits.begin() + 5}, {bits.begin() + 5, bits.end()}};
}

std::string text_of(const std::vector<IndexBit> &bits, const std::string &first, const std::string &second) {
  std::string text;
  for (std::size_t n = bits.size(); n-- > 0;) {
    const std::string &index = bits[n].dimension == 0 ? first : second;
    std::int64_t unit = std::int64_t{1} << bits[n].bit;
    text += fmt::format("{}{}%{}", text.empty() ? "" : " + ", index, 2 * unit);
    text += unit > 1 ? fmt::format("//{}", unit) : "";
    text += n > 0 ? fmt::format("*{}", std::int64_t{1} << n) : "";
  }
  return text.empty() ? "0" : text;
}

/// Converts an index expression to C++.
std::string cpp_of(std::string text) {
  for (std::size_t at = 0; (at = text.find("//", at)) != std::string::npos;)
    text.replace(at, 2, "/");
  return text;
}

constexpr std::array warp_dtypes = {DType::f16, DType::bf16, DType::i8, DType::u8, DType::f32, DType::u32};

void register_product(const WarpIntrinsic &unit, DType dtype, bool in_words) {
  DType sum = arithmetic_type(dtype);
  Buffer c = formal_buffer("c", sum, {unit.m, unit.n}), a = formal_buffer("a", dtype, {unit.m, unit.k}),
         b = formal_buffer("b", dtype, {unit.k, unit.n});
  Var i = make_var("i"), j = make_var("j"), k = make_var("k");
  auto in_registers = [](const BitLayout &layout, const char *first, const char *second) {
    auto [lane, at] = layout.texts(first, second);
    return InRegisters{IndexMap(fmt::format("{}, {} -> {}, {}", first, second, lane, at))};
  };
  auto words = [&](const BitLayout &layout) {
    bool whole = byte_size(dtype) << layout.registers.size() >= 4;
    return std::int64_t{in_words && whole ? 4 : 0};
  };
  auto element = [&](const char *array, const BitLayout &layout, const char *first, const char *second) {
    auto [lane, at] = layout.texts(first, second);
    std::string_view function = conversion(dtype, sum);
    return fmt::format("__shfl_sync(0xffffffffu, {}({}[{}]), {})",
                       function.empty() ? fmt::format("({})", c_type(sum)) : std::string(function), array,
                       cpp_of(at), cpp_of(lane));
  };
  auto [lane, at] = unit.c.texts("i", "j");
  std::string prelude =
      fmt::format("static __device__ __forceinline__ void {0}({1} *c, const {2} *a, const {2} *b) {{\n"
                  "  for (int i = 0; i < {3}; ++i)\n"
                  "    for (int j = 0; j < {4}; ++j)\n"
                  "      for (int k = 0; k < {5}; ++k) {{\n"
                  "        const {1} x = {6}, y = {7};\n"
                  "        if ((int)threadIdx.x % 32 == {8})\n"
                  "          c[{9}] += x * y;\n"
                  "      }}\n"
                  "}}\n",
                  unit.name, c_type(sum), c_type(dtype), unit.m, unit.n, unit.k, element("a", unit.a, "i", "k"),
                  element("b", unit.b, "k", "j"), cpp_of(lane), cpp_of(at));
  Expr product = cast(sum, load(a, {i, k})) * cast(sum, load(b, {k, j}));
  register_intrinsic(
      {.name = unit.name,
       .group = Group::warp,
       .operands = {{c, in_registers(unit.c, "i", "j")},
                    {a, in_registers(unit.a, "i", "k"), words(unit.a)},
                    {b, in_registers(unit.b, "k", "j"), words(unit.b)}},
       .meaning = {{{i, unit.m}, {j, unit.n}, {k, unit.k}}, {c, {i, j}, load(c, {i, j}) + product}},
       .prelude = prelude});
}

} // namespace

ThreadIntrinsic thread_intrinsic(std::uint64_t number) {
  static std::map<std::uint64_t, ThreadIntrinsic> registered;
  if (auto known = registered.find(number); known != registered.end())
    return known->second;
  auto [made, user] = ThreadDrawer(number).draw();
  user.intrinsic = &register_intrinsic(made);
  return registered.emplace(number, user).first->second;
}

std::uint64_t any_thread_intrinsic(Random &random) {
  return 1 + random.below(random.chance(40) ? 20 : thread_intrinsics);
}

std::pair<std::string, std::string> BitLayout::texts(const std::string &first,
                                                     const std::string &second) const {
  return {text_of(lane, first, second), text_of(registers, first, second)};
}

bool has_warp_intrinsics(DType dtype) { return std::ranges::find(warp_dtypes, dtype) != warp_dtypes.end(); }

WarpIntrinsic warp_intrinsic(std::uint64_t number) {
  Random random(number ^ 0x9b05688c2b3e6c1fU);
  WarpIntrinsic made;
  made.name = name_of(number);
  do {
    made.m = random.pick({4, 8, 8, 16, 16});
    made.n = random.pick({4, 8, 8, 16});
    made.k = random.pick({2, 4, 8, 8, 16});
  } while (made.m * made.n < 32 || made.m * made.k < 32 || made.k * made.n < 32 ||
           made.m * made.n * made.k > 1024);
  made.c = any_layout(made.m, made.n, random);
  made.a = any_layout(made.m, made.k, random);
  made.b = any_layout(made.k, made.n, random);
  bool in_words = random.chance(30);
  if (!is_intrinsic(made.name))
    for (DType dtype : warp_dtypes)
      register_product(made, dtype, in_words);
  return made;
}

bool is_of_user(const std::string &name) { return number_of(name) > 0; }

void provide_intrinsics(const std::vector<Directive> &directives) {
  for (const Directive &directive : directives)
    for (const Argument &argument : directive.arguments) {
      const auto *word = std::get_if<Word>(&argument);
      std::uint64_t number = word ? number_of(word->text) : 0;
      if (number > thread_intrinsics)
        warp_intrinsic(number);
      else if (number > 0)
        thread_intrinsic(number);
    }
}

} // namespace nestsmith::fuzz
