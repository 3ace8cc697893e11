/// Compiles the prelude of each intrinsic to PTX for each class of architectures that supports it. The PTX must
/// contain the instruction that the intrinsic declares, with its operands in order.
#include "dsl/hardware/intrinsics.h"
#include "runtime/cuda/nvrtc.h"

#include <algorithm>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace nestsmith {
namespace {

// ---- compilation to PTX

using NvrtcProgram = struct NvrtcProgramRecord *;

template <class Signature> Signature *nvrtc_function(const char *name) {
  return reinterpret_cast<Signature *>(cuda::Nvrtc::get().library().symbol(name));
}

std::string ptx_of(const std::string &source, Arch arch) {
  NvrtcProgram program = nullptr;
  nvrtc_function<int(NvrtcProgram *, const char *, const char *, int, const char *const *,
                     const char *const *)>("nvrtcCreateProgram")(&program, source.c_str(), "preludes.cu", 0,
                                                                 nullptr, nullptr);
  std::string target = "--gpu-architecture=compute_" + to_string(arch).substr(3), include;
  if (auto headers = cuda::find_headers(cuda::Nvrtc::get().library().path))
    include = "--include-path=" + headers->string();
  const char *options[] = {target.c_str(), include.c_str()};
  int failed = nvrtc_function<int(NvrtcProgram, int, const char *const *)>("nvrtcCompileProgram")(
      program, include.empty() ? 1 : 2, options);
  auto read = [&](const char *size_name, const char *name) {
    std::size_t size = 0;
    nvrtc_function<int(NvrtcProgram, std::size_t *)>(size_name)(program, &size);
    std::string text(size, '\0');
    nvrtc_function<int(NvrtcProgram, char *)>(name)(program, text.data());
    return text;
  };
  EXPECT_EQ(failed, 0) << read("nvrtcGetProgramLogSize", "nvrtcGetProgramLog");
  std::string ptx = failed ? "" : read("nvrtcGetPTXSize", "nvrtcGetPTX");
  nvrtc_function<int(NvrtcProgram *)>("nvrtcDestroyProgram")(&program);
  return ptx;
}

// ---- a kernel that calls an intrinsic once

const char *cuda_type(DType type) {
  switch (type) {
  case DType::i8:
    return "signed char";
  case DType::i16:
    return "short";
  case DType::u8:
    return "unsigned char";
  case DType::u16:
    return "unsigned short";
  case DType::u32:
    return "unsigned int";
  case DType::i32:
    return "int";
  case DType::i64:
    return "long long";
  case DType::u64:
    return "unsigned long long";
  case DType::f16:
    return "__half";
  case DType::bf16:
    return "__nv_bfloat16";
  case DType::f64:
    return "double";
  default:
    return "float";
  }
}

/// Returns a kernel that calls the intrinsic. It loads and stores the words of a lane's registers one at a
/// time.
std::string kernel_of_warp(const Intrinsic &intrinsic, const std::string &name) {
  std::string params, before, arguments, after;
  for (std::size_t n = 0; n < intrinsic.operands.size(); ++n) {
    const Operand &operand = intrinsic.operands[n];
    const char *type = cuda_type(operand.formal->dtype);
    params += fmt::format("{}volatile {} *p{}", n ? ", " : "",
                          operand.formal->dtype == DType::f32 ? "float" : "unsigned int", n);
    arguments += fmt::format("{}({} *)r{}", n ? ", " : "", type, n);
    if (operand.as<InTile>()) {
      before += fmt::format("  __shared__ __align__(1024) unsigned int s{0}[1024]; s{0}[threadIdx.x] = 0; "
                            "unsigned int *r{0} = s{0};\n",
                            n);
      continue;
    }
    if (operand.as<Rows>()) {
      before += fmt::format("  __shared__ __align__(16) unsigned int s{0}[128]; s{0}[threadIdx.x] = 0; "
                            "unsigned int *r{0} = s{0} + 4*threadIdx.x;\n",
                            n);
      continue;
    }
    std::int64_t words =
        std::max<std::int64_t>(elements_per_lane(operand) * byte_size(operand.formal->dtype) / 4, 1);
    before += fmt::format("  __align__(16) {} r{}[{}];\n",
                          operand.formal->dtype == DType::f32 ? "float" : "unsigned int", n, words);
    bool result = &operand == &intrinsic.result();
    for (std::int64_t e = 0; e < words; ++e) {
      before += fmt::format("  r{0}[{1}] = p{0}[{1}];\n", n, e);
      if (result)
        after += fmt::format("  p{0}[{1}] = r{0}[{1}];\n", n, e);
    }
  }
  return fmt::format("extern \"C\" __global__ void {}({}) {{\n{}  {}({});\n{}}}\n", name, params, before,
                     intrinsic.name, arguments, after);
}

std::string kernel_of_thread(const Intrinsic &intrinsic, const std::string &name) {
  const char *sum = cuda_type(intrinsic.result().formal->dtype);
  bool bytes = byte_size(intrinsic.operands[0].formal->dtype) == 1;
  std::string vector = bytes ? sum : intrinsic.result().formal->dtype == DType::f32 ? "float4" : "uint4";
  std::string qualifier = bytes ? "volatile " : "";
  return fmt::format("extern \"C\" __global__ void {0}({1}{2} *p0, {1}{2} *p1, volatile {3} *p2) {{\n"
                     "  {2} a = *p0, b = *p1; {3} c = *p2; *p2 = {4}(a, b, c);\n}}\n",
                     name, qualifier, vector, sum, intrinsic.name);
}

// ---- data flow in the PTX of a kernel

struct Instruction {
  std::string mnemonic;
  std::vector<std::vector<std::string>> operands; ///< each one a register, a list of registers, or an address
};

Instruction parsed(const std::string &line) {
  Instruction result;
  std::istringstream words(line.substr(0, line.find(';')));
  words >> result.mnemonic;
  std::string rest, operand;
  std::getline(words, rest);
  std::vector<std::string> list;
  int depth = 0;
  auto end_item = [&] {
    operand.erase(std::remove_if(operand.begin(), operand.end(), [](char c) { return c == ' ' || c == '\t'; }),
                  operand.end());
    if (!operand.empty())
      list.push_back(operand);
    operand.clear();
  };
  for (char c : rest) {
    if (c == '{' || c == '}') {
      depth += c == '{' ? 1 : -1;
    } else if (c == ',') {
      end_item();
      if (depth == 0) {
        result.operands.push_back(list);
        list.clear();
      }
    } else {
      operand += c;
    }
  }
  end_item();
  result.operands.push_back(list);
  return result;
}

/// Determines the source of each register: "p1+8" is a word of a parameter, and "=2" the third result of the
/// instruction `wanted`.
class Flow {
public:
  Flow(const std::string &ptx, const std::string &kernel, const std::string &wanted) : wanted_(wanted) {
    std::istringstream lines(ptx.substr(ptx.find(".entry " + kernel + "(")));
    for (std::string line; std::getline(lines, line) && line != "}";)
      if (line.find('%') != std::string::npos || line.find("ld.param") != std::string::npos)
        follow(parsed(line));
  }
  std::vector<std::vector<std::string>> operands; ///< the sources of the operands of `wanted`
  std::map<std::string, std::string> stored;      ///< "p0+4": "=1"
  std::vector<std::string> mnemonics;

private:
  std::string source(const std::string &name) const {
    auto known = sources_.find(name);
    return known == sources_.end() ? name : known->second;
  }
  /// Replaces the register in "[%rd4+8]" by its source: "p1+8".
  std::string address(std::string text) const {
    text = text.substr(1, text.size() - 2);
    auto plus = text.find('+');
    return source(text.substr(0, plus)) + "+" + (plus == std::string::npos ? "0" : text.substr(plus + 1));
  }
  void follow(const Instruction &i) {
    mnemonics.push_back(i.mnemonic);
    auto starts = [&](const char *text) { return i.mnemonic.starts_with(text); };
    if (i.mnemonic == wanted_) {
      for (std::size_t n = 1; n < i.operands.size(); ++n) {
        operands.emplace_back();
        for (const std::string &name : i.operands[n])
          operands.back().push_back(source(name));
      }
      for (std::size_t n = 0; n < i.operands[0].size(); ++n)
        sources_[i.operands[0][n]] = fmt::format("={}", n);
    } else if (starts("ld.param")) {
      std::string name = i.operands[1][0]; // "[kernel_param_1]"
      sources_[i.operands[0][0]] = "p" + name.substr(name.rfind('_') + 1, name.size() - name.rfind('_') - 2);
    } else if (starts("ld.") && i.mnemonic.find("global") != std::string::npos) {
      sources_[i.operands[0][0]] = address(i.operands[1][0]);
    } else if (starts("st.") && i.mnemonic.find("global") != std::string::npos) {
      stored[address(i.operands[0][0])] = source(i.operands[1][0]);
    } else if (starts("cvt.rna.tf32.f32")) {
      sources_[i.operands[0][0]] = "rna(" + source(i.operands[1][0]) + ")";
    } else if (starts("mov.") || starts("cvta.to.global")) {
      sources_[i.operands[0][0]] = source(i.operands[1][0]);
    } else if (!i.operands[0].empty()) {
      sources_.erase(i.operands[0][0]);
    }
  }

  std::string wanted_;
  std::map<std::string, std::string> sources_;
};

std::vector<std::string> words_of(int parameter, std::size_t count, const char *format = "p{}+{}") {
  std::vector<std::string> words;
  for (std::size_t n = 0; n < count; ++n)
    words.push_back(fmt::format(fmt::runtime(format), parameter, 4 * n));
  return words;
}

void expect_stored(const Flow &flow, int parameter, std::size_t count) {
  for (std::size_t n = 0; n < count; ++n) {
    auto at = flow.stored.find(fmt::format("p{}+{}", parameter, 4 * n));
    ASSERT_NE(at, flow.stored.end());
    EXPECT_EQ(at->second, fmt::format("={}", n));
  }
}

// ---- the declarations of the intrinsics

std::string ptx_type(const Intrinsic &intrinsic) {
  switch (intrinsic.operands[1].formal->dtype) {
  case DType::f16:
    return "f16";
  case DType::bf16:
    return "bf16";
  case DType::f32:
    return "tf32";
  case DType::i8:
    return "s8";
  default:
    return "u8";
  }
}

void expect_mma(const Intrinsic &intrinsic, const std::string &ptx, const std::string &kernel) {
  bool real = is_float(intrinsic.result().formal->dtype);
  std::string sum = real ? "f32" : "s32", factor = ptx_type(intrinsic);
  std::int64_t k = *as_int(intrinsic.operands[1].formal->shape[1]);
  std::string wanted =
      fmt::format("mma.sync.aligned.m16n8k{}.row.col.{}.{}.{}.{}", k, sum, factor, factor, sum);
  Flow flow(ptx, kernel, wanted);
  const char *format = factor == "tf32" ? "rna(p{}+{})" : "p{}+{}";
  EXPECT_THAT(flow.operands,
              testing::ElementsAre(words_of(1, 4, format), words_of(2, 2, format), words_of(0, 4)))
      << wanted;
  expect_stored(flow, 0, 4);
}

/// Without `.trans`, a register receives two consecutive 16-bit words of a row.
void expect_ldmatrix(const Intrinsic &intrinsic, const std::string &ptx, const std::string &kernel) {
  const Operand &tile = intrinsic.operands[0];
  const Rows &rows = *intrinsic.operands[1].as<Rows>();
  int bytes = byte_size(tile.formal->dtype);
  std::int64_t registers = elements_per_lane(tile) * bytes / 4, columns = *as_int(tile.formal->shape[1]);
  std::vector<std::vector<Spot>> spots = spots_of(tile);
  std::size_t step = rows.along == 1 ? 1 : static_cast<std::size_t>(columns);
  bool together = spots[0][0].lane == spots[step][0].lane;
  EXPECT_TRUE(together || bytes == 2 || bytes == 4);
  std::string trans = bytes == 2 && !together ? ".trans" : "";
  Flow flow(ptx, kernel, fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16", registers, trans));
  ASSERT_EQ(flow.operands.size(), 1U) << kernel << trans;
  expect_stored(flow, 0, static_cast<std::size_t>(registers));
}

/// A register holds two consecutive 16-bit words of a row, or of a column with `.trans`.
void expect_stmatrix(const Intrinsic &intrinsic, const std::string &ptx, const std::string &kernel) {
  const std::string trans = intrinsic.operands[0].as<Rows>()->along == 0 ? ".trans" : "";
  Flow flow(ptx, kernel, fmt::format("stmatrix.sync.aligned.m8n8.x4{}.shared.b16", trans));
  EXPECT_THAT(flow.operands, testing::ElementsAre(words_of(1, 4))) << kernel << trans;
}

std::int64_t count(const std::vector<std::string> &mnemonics, const std::string &wanted) {
  return std::ranges::count_if(mnemonics, [&](const std::string &m) { return m.starts_with(wanted); });
}

/// One call of the units, whose operands across k are transposed; without the units, products of loaded
/// elements.
void expect_wgmma(const Intrinsic &intrinsic, const std::string &ptx, const std::string &kernel) {
  const std::size_t begin = ptx.find(".entry " + kernel + "(");
  ASSERT_NE(begin, std::string::npos);
  const std::string body = ptx.substr(begin, ptx.find(".entry", begin + 1) - begin);
  auto times = [&](const std::string &text) {
    int found = 0;
    for (std::size_t at = body.find(text); at != std::string::npos; at = body.find(text, at + 1))
      ++found;
    return found;
  };
  const std::string factor(name(intrinsic.operands[1].formal->dtype));
  const std::string multiplies = fmt::format("wgmma.mma_async.sync.aligned.m64n{0}k16.f32.{1}.{1}",
                                             *as_int(intrinsic.result().formal->shape[1]), factor);
  EXPECT_EQ(times(multiplies), intrinsic.feature ? 1 : 0) << multiplies;
  const std::string transposed =
      fmt::format(", 1, 1, 1, {}, {};", int{intrinsic.operands[1].as<InTile>()->across},
                  int{intrinsic.operands[2].as<InTile>()->across});
  EXPECT_EQ(times(transposed), intrinsic.feature ? 1 : 0) << transposed;
  EXPECT_EQ(intrinsic.asynchronous, intrinsic.feature.has_value());
  EXPECT_TRUE(intrinsic.feature || times("mad.") + times("mul.") > 0);
}

void expect_declared(const Intrinsic &intrinsic, const std::string &ptx, const std::string &kernel) {
  SCOPED_TRACE(signature(intrinsic));
  if (intrinsic.name.starts_with("ldmatrix"))
    return expect_ldmatrix(intrinsic, ptx, kernel);
  if (intrinsic.name.starts_with("stmatrix"))
    return expect_stmatrix(intrinsic, ptx, kernel);
  if (intrinsic.name.starts_with("mma") && intrinsic.feature)
    return expect_mma(intrinsic, ptx, kernel);
  if (intrinsic.name.starts_with("wgmma"))
    return expect_wgmma(intrinsic, ptx, kernel);
  DType sum = intrinsic.result().formal->dtype;
  std::string type = sum == DType::u32 ? "u32" : "s32";
  if (intrinsic.name == "dp4a") {
    Flow flow(ptx, kernel, fmt::format("dp4a.{0}.{0}", type));
    EXPECT_THAT(flow.operands, testing::ElementsAre(words_of(0, 1), words_of(1, 1), words_of(2, 1)));
    return expect_stored(flow, 2, 1);
  }
  Flow flow(ptx, kernel, "");
  if (intrinsic.name == "dot4") {
    bool real = sum == DType::f32;
    EXPECT_EQ(count(flow.mnemonics, real ? "fma.rn.f32" : "mad.lo.") +
                  (real ? 0 : count(flow.mnemonics, "mul.lo.")),
              4);
  } else if (intrinsic.name.starts_with("warp_")) {
    bool wide = byte_size(sum) == 8; // two words
    if (wide)
      type = sum == DType::u64 ? "u64" : sum == DType::f64 ? "f64" : "s64";
    std::string of = sum == DType::f32 ? "f32" : type, reducer = intrinsic.name.substr(5);
    std::string op = reducer == "sum" ? "add." : reducer == "product" ? "mul." : reducer + "." + of;
    EXPECT_EQ(count(flow.mnemonics, "shfl.sync.bfly.b32"), wide ? 10 : 5);
    if (wide) // the compiler may join two words by an addition
      EXPECT_GE(count(flow.mnemonics, op), 6);
    else
      EXPECT_EQ(count(flow.mnemonics, op), 6);
  } else { // a product by shuffles
    std::int64_t k = *as_int(intrinsic.operands[1].formal->shape[1]);
    EXPECT_EQ(count(flow.mnemonics, "shfl.sync.idx.b32"), 8 * k);
  }
}

/// Returns the first architecture of each set of features.
std::vector<Arch> classes(const std::vector<Arch> &arches) {
  std::vector<Arch> first;
  std::set<std::vector<bool>> seen;
  for (Arch arch : arches) {
    std::vector<bool> has;
    for (const Intrinsic *intrinsic : all_intrinsics())
      has.push_back(!intrinsic->feature || arch.has(*intrinsic->feature));
    if (seen.insert(has).second)
      first.push_back(arch);
  }
  first.push_back(arches.back());
  return first;
}

/// Returns the reason why nothing can be compiled, or "".
std::string without_compiler() {
  try {
    cuda::Nvrtc::get();
  } catch (const UserError &error) {
    return std::string("needs NVRTC: ") + error.what();
  }
  return cuda::find_headers(cuda::Nvrtc::get().library().path) ? "" : "needs cuda_fp16.h";
}

/// The test exchanges two registers of a prelude. The comparison must then fail.
TEST(Preludes, AreReadInTheOrderOfTheirOperands) {
  if (std::string why = without_compiler(); !why.empty())
    GTEST_SKIP() << why;
  const Intrinsic &mma = *find_intrinsics("mma_m16n8k32", DType::i32).front();
  std::string wanted = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", prelude = mma.prelude;
  std::size_t at = prelude.find("(x[1]), \"r\"(x[2])");
  ASSERT_NE(at, std::string::npos);
  std::string exchanged = prelude.replace(at, 17, "(x[2]), \"r\"(x[1])");
  Flow right(ptx_of(mma.prelude + kernel_of_warp(mma, "kernel"), {80}), "kernel", wanted);
  Flow wrong(ptx_of(exchanged + kernel_of_warp(mma, "kernel"), {80}), "kernel", wanted);
  ASSERT_EQ(right.operands.size(), 3U);
  EXPECT_EQ(right.operands[0], words_of(1, 4));
  EXPECT_THAT(wrong.operands[0], testing::ElementsAre("p1+0", "p1+8", "p1+4", "p1+12"));
}

TEST(Preludes, AreTheInstructionsThatTheIntrinsicsDeclare) {
  if (std::string why = without_compiler(); !why.empty())
    GTEST_SKIP() << why;
  std::vector<Arch> arches = cuda::Nvrtc::get().arches();
  const Arch hopper = {90, 'a'};
  const bool has_hopper = std::ranges::find(arches, hopper) != arches.end();
  std::erase_if(arches, [](Arch arch) { return arch.suffix != 0; });
  std::vector<Arch> compiled = classes(arches);
  if (has_hopper)
    compiled.push_back(hopper);
  for (Arch arch : compiled) {
    SCOPED_TRACE(to_string(arch));
    std::string source = "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n";
    std::vector<std::pair<const Intrinsic *, std::string>> kernels;
    for (const Intrinsic *intrinsic : all_intrinsics()) {
      if (intrinsic->prelude.empty() || (intrinsic->feature && !arch.has(*intrinsic->feature)))
        continue;
      // The loads of wider results are the same, and take long to compile.
      if (intrinsic->name.starts_with("wgmma") && !intrinsic->feature &&
          !intrinsic->name.starts_with("wgmma_m64n64"))
        continue;
      std::string name = fmt::format("kernel{}", kernels.size());
      source += intrinsic->prelude + (intrinsic->group == Group::warp ? kernel_of_warp(*intrinsic, name)
                                                                      : kernel_of_thread(*intrinsic, name));
      kernels.emplace_back(intrinsic, name);
    }
    std::string ptx = ptx_of(source, arch);
    ASSERT_FALSE(ptx.empty()) << source;
    for (const auto &[intrinsic, name] : kernels)
      expect_declared(*intrinsic, ptx, name);
  }
}

} // namespace
} // namespace nestsmith
