#include "codegen/check_text.h"

#include "codegen/cuda.h"
#include "codegen/names.h"
#include "codegen/reference_text.h"
#include "codegen/spell.h"
#include "codegen/text.h"
#include "dsl/expr/error.h"
#include "dsl/expr/math_functions.h"
#include "dsl/expr/simplify.h"
#include "dsl/ir/printer.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

namespace {

/// With more iterations the reference runs on the GPU, since a host would take seconds.
constexpr double most_host_iterations = 134217728; // 2^27: 512 x 512 x 512

constexpr std::string_view support = R"(static void must(cudaError_t error, const char *what) {
  if (error != cudaSuccess) {
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    exit(4);
  }
}

template <class T> static T *device_array(const std::vector<T> &values) {
  T *array;
  must(cudaMalloc(&array, values.size() * sizeof(T)), "cudaMalloc");
  must(cudaMemcpy(array, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  return array;
}

template <class T> static void read_back(std::vector<T> &values, const T *array) {
  must(cudaMemcpy(values.data(), array, values.size() * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
}

static unsigned long long random_bits() { // xorshift64*
  static unsigned long long state = 88172645463325252ULL;
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (state * 2685821657736338717ULL) >> 32;
}
)";

/// Functions that set a value of each type to a random one.
struct RandomSource {
  DType dtype;
  std::string_view text;
};
constexpr RandomSource random_sources[] = {
    {DType::f32, "static void randomize(float &x) { // [-1, 1)\n"
                 "  x = (float)(random_bits() >> 8) / 8388608.0f - 1.0f;\n}\n"},
    {DType::f64, "static void randomize(double &x) { // [-1, 1)\n"
                 "  unsigned long long high = random_bits() >> 6;\n"
                 "  x = (double)(high << 27 | random_bits() >> 5) / 4503599627370496.0 - 1.0;\n}\n"},
    {DType::u32, "static void randomize(unsigned int &x) { x = (unsigned int)random_bits(); }\n"},
    {DType::f16, "static void randomize(__half &x) { // [-1, 1)\n"
                 "  x = __float2half_rn((float)(random_bits() >> 8) / 8388608.0f - 1.0f);\n}\n"},
    {DType::bf16, "static void randomize(__nv_bfloat16 &x) { // [-1, 1)\n"
                  "  x = __float2bfloat16_rn((float)(random_bits() >> 8) / 8388608.0f - 1.0f);\n}\n"},
    {DType::i8, "static void randomize(signed char &x) { x = (signed char)random_bits(); }\n"},
    {DType::i16, "static void randomize(short &x) { x = (short)random_bits(); }\n"},
    {DType::u8, "static void randomize(unsigned char &x) { x = (unsigned char)random_bits(); }\n"},
    {DType::u16, "static void randomize(unsigned short &x) { x = (unsigned short)random_bits(); }\n"},
    {DType::u64, "static void randomize(unsigned long long &x) { x = random_bits(); }\n"},
    {DType::i32, "static void randomize(int &x) { x = (int)(random_bits() % 17) - 8; }\n"},
    {DType::i64, "static void randomize(long long &x) { x = (long long)(random_bits() % 17) - 8; }\n"},
    {DType::boolean, "static void randomize(char &x) { x = (char)(random_bits() % 2); }\n"}};

constexpr std::string_view bound_of_real =
    R"(/// The bound on the error of any float evaluation.
static double bound_of(const Real &x) {
  double n_u = x.roundings * ldexp(1.0, -24);
  return n_u < 1 ? n_u / (1 - n_u) * x.magnitude : INFINITY;
}
)";
constexpr std::string_view begin_error_of_real =
    R"(/// The error of `got` over its bound; above 1 (or NaN) it is wrong.
static double error_of(float got, const Real &expected) {
)";
/// The same where a Real may have no bound, because a function has no finite value there.
constexpr std::string_view begin_error_of_functions =
    R"(/// The error of `got` over its bound; above 1 (or NaN) it is wrong. 0 if there is no bound.
static double error_of(float got, const Real &expected) {
  if (!(bound_of(expected) < INFINITY))
    return 0;
)";
constexpr std::string_view end_error_of_real =
    R"(  double error = fabs(got - expected.value);
  return error == 0 ? 0 : error / bound_of(expected);
}
static double value_of(const Real &x) { return x.value; }
)";
constexpr std::string_view check_wide = R"(/// The bound on the error of any evaluation in double.
static double bound_of(const Wide &x) {
  double n_u = x.roundings * ldexp(1.0, -53);
  return 2 * n_u < 1 ? n_u / (1 - 2 * n_u) * x.magnitude : INFINITY;
}
/// The error of `got` over its bound; above 1 (or NaN) it is wrong. 0 if there is no bound.
static double error_of(double got, const Wide &expected) {
  if (!(bound_of(expected) < INFINITY))
    return 0;
  double error = fabs(got - expected.high - expected.low);
  return error == 0 ? 0 : error / bound_of(expected);
}
static double value_of(const Wide &x) { return x.high; }
static double value_of(double x) { return x; }
)";
constexpr std::string_view check_exact = R"(template <class T> static double bound_of(T) { return 0; }
template <class T> static double error_of(T got, T expected) {
  return got == expected ? 0 : INFINITY;
}
template <class T> static double value_of(T x) { return (double)x; }
)";
constexpr std::string_view float_value = "static double value_of(float x) { return x; }\n";
constexpr std::string_view half_value = "static double value_of(__half x) { return __half2float(x); }\n";
constexpr std::string_view bfloat_value =
    "static double value_of(__nv_bfloat16 x) { return __bfloat162float(x); }\n";
constexpr std::string_view compare = R"(
template <class T, class R>
static bool same(const char *name, const std::vector<T> &got, const std::vector<R> &expected) {
  size_t wrong = 0, unknown = 0;
  double largest = 0, widest = 0; // a bound above the largest result compares nothing
  for (const R &x : expected) {
    widest = fmax(widest, fabs(value_of(x)));
  }
  for (size_t n = 0; n < got.size(); ++n) {
    unknown += !(bound_of(expected[n]) <= widest);
    double error = error_of(got[n], expected[n]);
    if (!(error <= largest) && largest == largest) { // keeps a NaN
      largest = error;
    }
    if (!(error <= 1) && ++wrong <= 5) {
      printf("wrong: %s[%zu] is %.10g, expected %.10g\n", name, n, value_of(got[n]), value_of(expected[n]));
    }
  }
  printf("check: %s %s, %zu of %zu elements wrong, largest error %.3g of its bound\n", name,
         wrong ? "FAILED" : unknown ? "UNKNOWN" : "passed", wrong, got.size(), largest);
  if (unknown) {
    printf("unknown: %zu elements of %s have no useful error bound, so that nothing is known of them\n", unknown, name);
  }
  return wrong + unknown == 0;
}
)";

constexpr std::string_view packed_rows = R"(/// The rows of an array, without the gaps between them.
template <class T> static std::vector<T> packed(const std::vector<T> &array, size_t length, size_t apart) {
  std::vector<T> rows;
  for (size_t begin = 0; begin + length <= array.size(); begin += apart)
    rows.insert(rows.end(), array.begin() + begin, array.begin() + begin + length);
  return rows;
}
)";

/// Elements from the first to the last in memory.
std::int64_t stored_elements(const Buffer &buffer) {
  auto elements = as_int(simplify(span_of(*buffer)));
  internal_check(elements.has_value(), "the parameters of a standalone file have constant shapes");
  return *elements;
}

bool calls_functions(const Program &source) {
  return std::ranges::any_of(blocks_of(source.body), [](const Block *block) {
    return any_node(block->body.value, [](const Expr &e) { return math_function(e) != nullptr; });
  });
}

class CheckWriter {
public:
  CheckWriter(const LauncherCalls &calls, const Program &source)
      : calls_(calls), source_(source), reference_(reference_text(source)),
        on_device_(reference_.iterations > most_host_iterations) {}
  CheckText write();

private:
  void reference_kernels();
  void comparisons();
  void inputs();
  void run_kernel();
  void run_reference();
  void compare_results();
  void time();
  std::string workspace_bytes() const;
  std::vector<std::string> arguments(bool scalars) const;
  std::string launch() const;
  std::string element_type(DType type) const { // std::vector<bool> is not contiguous
    return type == DType::boolean ? "char" : std::string(c_type(type));
  }
  bool written(const Buffer &buffer) const {
    return std::ranges::find(reference_.result_buffers, buffer) != reference_.result_buffers.end();
  }

  const LauncherCalls &calls_;
  const Program &source_;
  ReferenceText reference_;
  bool on_device_;
  std::vector<std::string> arrays_, scalars_; ///< names in the function, in parameter order
  std::vector<std::string> devices_, got_; ///< names of each array's device copy, and of the result read back
  TextWriter out_;
};

void CheckWriter::comparisons() {
  bool real = false, wide = false, exact = false;
  for (const Buffer &buffer : source_.params)
    if (written(buffer))
      (buffer->dtype == DType::f64 ? wide : is_float(buffer->dtype) ? real : exact) = true;
  if (real) {
    out_.verbatim(bound_of_real);
    out_.verbatim(calls_functions(source_) ? begin_error_of_functions : begin_error_of_real);
    out_.verbatim(end_error_of_real);
  }
  if (wide)
    out_.verbatim(check_wide);
  if (exact)
    out_.verbatim(check_exact);
  auto outputs = [&](DType type) {
    return std::ranges::any_of(source_.params, [&](const Buffer &b) { return written(b) && b->dtype == type; });
  };
  if (outputs(DType::f32))
    out_.verbatim(float_value);
  if (outputs(DType::f16))
    out_.verbatim(half_value);
  if (outputs(DType::bf16))
    out_.verbatim(bfloat_value);
  if (std::ranges::any_of(source_.params, [&](const Buffer &b) { return written(b) && b->strides; }))
    out_.verbatim(packed_rows);
  out_.verbatim(compare);
}

/// On the device each stage is a kernel with one thread per element.
void CheckWriter::reference_kernels() {
  for (std::size_t n = 0; on_device_ && n < reference_.stages.size(); ++n) {
    const ReferenceStage &stage = reference_.stages[n];
    out_.open(fmt::format("__global__ void reference_stage_{}(Reference reference)", n));
    out_.line("long long n = blockIdx.x * 256LL + threadIdx.x;");
    out_.open(fmt::format("if (n < {})", stage.elements));
    out_.line(fmt::format("reference.{}[n] = reference.{}({});", stage.array, stage.function, stage.indices));
    out_.close();
    out_.close();
    out_.blank();
  }
}

void CheckWriter::inputs() {
  NameTable names;
  // Other names that the function declares or calls.
  for (const char *own :
       {"reference", "good", "milliseconds", "median", "begin", "end", "device", "run", "n", "workspace",
        "broken", "must", "randomize", "device_array", "read_back", "packed", "same", "printf"})
    names.claim(own);
  for (const std::string &function : {calls_.launcher, calls_.requirement, calls_.workspace_bytes})
    names.claim(function);
  for (const Parameter &result : reference_.results)
    names.claim(result.name);
  for (const Buffer &buffer : source_.params)
    arrays_.push_back(names.claim(buffer->name));
  for (const std::string &array : arrays_) {
    devices_.push_back(names.claim(array + "_device"));
    got_.push_back(names.claim(array + "_got"));
  }
  for (const Var &scalar : source_.scalars)
    scalars_.push_back(names.claim(scalar->name));
  for (std::size_t n = 0; n < arrays_.size(); ++n) {
    const Buffer &buffer = source_.params[n];
    std::string type = element_type(buffer->dtype);
    out_.line(fmt::format("std::vector<{}> {}({});", type, arrays_[n], stored_elements(buffer)));
    if (buffer->role == Role::output)
      continue;
    out_.open(fmt::format("for ({} &x : {})", type, arrays_[n]));
    out_.line("randomize(x);");
    out_.close();
  }
  for (std::size_t n = 0; n < scalars_.size(); ++n) {
    out_.line(fmt::format("{} {};", element_type(source_.scalars[n]->dtype), scalars_[n]));
    out_.line(fmt::format("randomize({});", scalars_[n]));
  }
}

std::string CheckWriter::workspace_bytes() const {
  return fmt::format("{}({})", calls_.workspace_bytes, fmt::join(calls_.of_workspace_bytes, ", "));
}

/// The launcher's arguments without the stream; without scalars, those of NAME_requirement.
std::vector<std::string> CheckWriter::arguments(bool scalars) const {
  std::vector<std::string> arguments;
  for (std::size_t n = 0; n < arrays_.size(); ++n)
    arguments.push_back(source_.params[n]->dtype == DType::boolean ? fmt::format("(bool *){}", devices_[n])
                                                                   : devices_[n]);
  for (std::int64_t size : calls_.sizes)
    arguments.push_back(std::to_string(size));
  if (scalars)
    arguments.insert(arguments.end(), scalars_.begin(), scalars_.end());
  if (calls_.workspace)
    arguments.insert(arguments.end(), {"workspace", workspace_bytes()});
  return arguments;
}

std::string CheckWriter::launch() const {
  return fmt::format("{}({}, nullptr)", calls_.launcher, fmt::join(arguments(true), ", "));
}

void CheckWriter::run_kernel() {
  for (std::size_t n = 0; n < arrays_.size(); ++n) {
    const Buffer &buffer = source_.params[n];
    out_.line(fmt::format("{} *{} = device_array({});", element_type(buffer->dtype), devices_[n], arrays_[n]));
    if (buffer->role == Role::output) // every bit set: NaN in elements that are not written
      out_.line(fmt::format("must(cudaMemset({}, 0xff, {}.size() * sizeof({}[0])), \"cudaMemset\");",
                            devices_[n], arrays_[n], arrays_[n]));
  }
  if (calls_.workspace) {
    std::string bytes = workspace_bytes();
    out_.line("void *workspace;");
    out_.line(fmt::format("must(cudaMalloc(&workspace, {}), \"cudaMalloc\");", bytes));
    out_.line(fmt::format("must(cudaMemset(workspace, {}, {}), \"cudaMemset\");",
                          calls_.counters ? "0" : "0xff", bytes));
  }
  out_.line(fmt::format("const char *broken = {}({});", calls_.requirement, fmt::join(arguments(false), ", ")));
  out_.open("if (broken)");
  out_.line(fmt::format(R"(fprintf(stderr, "{}: %s\n", broken);)", calls_.launcher));
  out_.line("return 2;");
  out_.close();
  out_.line(fmt::format("must({}, \"{}\");", launch(), calls_.launcher));
  out_.line(fmt::format("must(cudaDeviceSynchronize(), \"{}\");", calls_.name));
  for (std::size_t n = 0; n < arrays_.size(); ++n)
    if (written(source_.params[n])) {
      std::string type = element_type(source_.params[n]->dtype);
      out_.line(fmt::format("std::vector<{}> {}({}.size());", type, got_[n], arrays_[n]));
      out_.line(fmt::format("read_back({}, {});", got_[n], devices_[n]));
      const Buffer &buffer = source_.params[n];
      if (buffer->strides)
        out_.line(fmt::format("{0} = packed({0}, {1}, {2});", got_[n], to_string(buffer->shape.back()),
                              to_string((*buffer->strides)[buffer->shape.size() - 2])));
    }
}

void CheckWriter::run_reference() {
  std::vector<std::string> members;
  // Inputs are unchanged on the device; overwritten arrays are copied again.
  for (std::size_t n = 0; n < arrays_.size(); ++n) {
    const Buffer &buffer = source_.params[n];
    if (buffer->role == Role::output)
      continue;
    std::string array = on_device_
                            ? (written(buffer) ? fmt::format("device_array({})", arrays_[n]) : devices_[n])
                            : arrays_[n] + ".data()";
    members.push_back(fmt::format("{}{}", buffer->dtype == DType::boolean ? "(const bool *)" : "", array));
  }
  for (std::size_t n = 0; n < reference_.results.size(); ++n) {
    const Parameter &result = reference_.results[n];
    DType dtype = reference_.result_buffers[n]->dtype;
    std::string type = result.type.substr(0, result.type.size() - 2);
    std::string stored = type == "bool" ? "char" : type;
    out_.line(fmt::format("std::vector<{}> {}({}{});", stored, result.name,
                          kernel::element_count(reference_.result_buffers[n]),
                          is_float(dtype) ? ", " + zero_of(dtype) : ""));
    std::string array = on_device_ ? fmt::format("device_array({})", result.name) : result.name + ".data()";
    members.push_back(type == "bool" ? "(bool *)" + array : array);
  }
  members.insert(members.end(), scalars_.begin(), scalars_.end());
  out_.line(fmt::format("Reference reference = {{{}}};", fmt::join(members, ", ")));
  for (std::size_t n = 0; n < reference_.stages.size(); ++n) {
    const ReferenceStage &stage = reference_.stages[n];
    if (on_device_) {
      out_.line(fmt::format("reference_stage_{}<<<{}, 256>>>(reference);", n, (stage.elements + 255) / 256));
      out_.line("must(cudaGetLastError(), \"reference\");");
      continue;
    }
    out_.open(fmt::format("for (long long n = 0; n < {}; ++n)", stage.elements));
    out_.line(fmt::format("reference.{}[n] = reference.{}({});", stage.array, stage.function, stage.indices));
    out_.close();
  }
  if (!on_device_)
    return;
  out_.line("must(cudaDeviceSynchronize(), \"reference\");");
  for (std::size_t n = 0; n < reference_.results.size(); ++n)
    if (reference_.result_buffers[n]->role != Role::temporary) {
      const std::string &name = reference_.results[n].name;
      out_.line(fmt::format("read_back({}, reference.{});", name, name));
    }
}

void CheckWriter::compare_results() {
  out_.line("bool good = true;");
  for (std::size_t n = 0; n < reference_.results.size(); ++n)
    for (std::size_t p = 0; p < arrays_.size(); ++p)
      if (source_.params[p] == reference_.result_buffers[n])
        out_.line(fmt::format("good = same(\"{}\", {}, {}) && good;", source_.params[p]->name, got_[p],
                              reference_.results[n].name));
}

void CheckWriter::time() {
  out_.line("cudaEvent_t begin, end;");
  out_.line("must(cudaEventCreate(&begin), \"cudaEventCreate\");");
  out_.line("must(cudaEventCreate(&end), \"cudaEventCreate\");");
  out_.line("std::vector<float> milliseconds(20);");
  out_.open("for (int run = -10; run < 20; ++run)", "10 to warm up");
  out_.line("must(cudaEventRecord(begin), \"cudaEventRecord\");");
  out_.line(fmt::format("must({}, \"{}\");", launch(), calls_.launcher));
  out_.line("must(cudaEventRecord(end), \"cudaEventRecord\");");
  out_.line("must(cudaEventSynchronize(end), \"cudaEventSynchronize\");");
  out_.open("if (run >= 0)");
  out_.line("must(cudaEventElapsedTime(&milliseconds[run], begin, end), \"cudaEventElapsedTime\");");
  out_.close();
  out_.close();
  out_.line("std::sort(milliseconds.begin(), milliseconds.end());");
  out_.line("double median = (milliseconds[9] + milliseconds[10]) / 2;");
  out_.line(
      R"c(printf("time: %.4f ms (median of 20; %.4f to %.4f)", median, milliseconds[0], milliseconds[19]);)c");
  if (calls_.operations > 0)
    out_.line(fmt::format(R"(printf(", %.1f GFLOP/s", {:.0f} / median * 1e-6);)", calls_.operations));
  out_.line(R"(printf("\n");)");
}

CheckText CheckWriter::write() {
  CheckText text;
  reference_kernels();
  text.reference = reference_.definitions + "\n" + out_.take();
  comparisons();
  text.comparisons = out_.take();
  out_.indent();
  inputs();
  out_.blank();
  run_kernel();
  out_.blank();
  run_reference();
  out_.blank();
  compare_results();
  out_.blank();
  time();
  out_.line("return good ? 0 : 1;");
  text.body = out_.take();
  return text;
}

} // namespace

std::string check_support(const Program &source) {
  std::string text(support);
  for (const RandomSource &random : random_sources) {
    bool used = std::ranges::any_of(source.scalars, [&](const Var &v) { return v->dtype == random.dtype; }) ||
                std::ranges::any_of(source.params, [&](const Buffer &b) {
                  return b->dtype == random.dtype && b->role != Role::output;
                });
    if (used)
      text += random.text;
  }
  return text;
}

CheckText check_text(const LauncherCalls &calls, const Program &source) {
  return CheckWriter(calls, source).write();
}

} // namespace nestsmith
