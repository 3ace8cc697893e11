/// Rewrites emitted texts as C++, builds them into one program under sanitizers, and runs its jobs.

#include "tests/codegen/host_text.h"

#include "codegen/cuda.h"
#include "codegen/emit.h"
#include "tests/codegen/host_functions.h"
#include "tests/codegen/scratch.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <future>
#include <map>
#include <regex>
#include <stdexcept>

namespace nestsmith::host {
namespace {

namespace fs = std::filesystem;

/// Returns the position after the bracket that closes the one at `open`.
std::size_t after_bracket(const std::string &text, std::size_t open) {
  int depth = 0;
  for (std::size_t n = open; n < text.size(); ++n) {
    depth += (text[n] == '(') - (text[n] == ')');
    if (depth == 0)
      return n + 1;
  }
  throw std::runtime_error("a bracket is not closed in\n" + text);
}

std::string without_launches(const std::string &cuda) {
  std::string result;
  std::size_t from = 0;
  for (std::size_t at; (at = cuda.find("<<<", from)) != std::string::npos;) {
    std::size_t name = at;
    while (name > 0 && (std::isalnum(static_cast<unsigned char>(cuda[name - 1])) || cuda[name - 1] == '_'))
      --name;
    std::size_t end = cuda.find(">>>", at), close = after_bracket(cuda, end + 3);
    std::string kernel = cuda.substr(name, at - name);
    result += cuda.substr(from, name - from) + fmt::format("::host::launch({}, {}, [&] {{ {}{}; }})", kernel,
                                                           cuda.substr(at + 3, end - at - 3), kernel,
                                                           cuda.substr(end + 3, close - end - 3));
    from = close;
  }
  return result + cuda.substr(from);
}

/// A text as C++, its number in the program, and its plan.
struct Case {
  std::size_t number;
  std::string text;
  kernel::Plan plan;
};

/// Returns the names with C linkage. Several texts of one program may define the same name.
std::vector<std::string> linked_names(const kernel::Plan &plan) {
  std::vector<std::string> names = {launcher_name(plan), requirement_name(plan)};
  if (!plan.workspaces.empty())
    names.push_back(workspace_bytes_name(plan));
  for (const kernel::Kernel &kernel : plan.kernels)
    names.push_back(entry_name(kernel));
  return names;
}

/// Returns calls that register the shared arrays of the plan's kernels. Arrays that begin at the same offset
/// become one host array. Other arrays are separate.
std::string arenas(const kernel::Plan &plan) {
  std::string text;
  for (const kernel::Kernel &kernel : plan.kernels) {
    std::map<std::int64_t, std::int64_t> lengths; // in bytes, by the offset at which the arrays begin
    for (const kernel::Allocation &a : kernel.shared) {
      std::int64_t bytes = kernel::element_count(a.buffer) * byte_size(a.buffer->dtype);
      lengths[a.byte_offset] = std::max(lengths[a.byte_offset], bytes);
    }
    for (const kernel::Channel &channel : kernel.channels)
      lengths[channel.byte_offset] = channel.bytes();
    if (kernel.copies_to_cluster())
      text += fmt::format("  host::add_cluster((const void *){}, {});\n", entry_name(kernel), kernel.cluster);
    for (auto [begin, bytes] : lengths)
      if (kernel.dynamic_shared_bytes() != 0)
        text += fmt::format("  host::add_arena_array((const void *){}, {{{}, {}}});\n", entry_name(kernel),
                            begin, bytes);
  }
  return text;
}

std::string unit_text(const std::vector<const Case *> &cases) {
  std::string text = "#include \"jobs.h\"\n";
  for (const char *header : {"cuda_fp16.h", "cuda_bf16.h", "cuda.h"})
    if (std::ranges::any_of(
            cases, [&](const Case *test_case) { return test_case->text.find(header) != std::string::npos; }))
      text += fmt::format("#include \"{}\"\n", header);
  for (const Case *test_case : cases) {
    std::size_t n = test_case->number;
    std::string renames, restored;
    for (const std::string &name : linked_names(test_case->plan)) {
      renames += fmt::format("#define {0} {0}_of_case_{1}\n", name, n);
      restored += fmt::format("#undef {}\n", name);
    }
    // The arrays of each case have their own section, so that the harness finds and fills them.
    text += fmt::format(
        "\n#undef __shared__\n"
        "#define __shared__ static __attribute__((section(\"shared_{0}\")))\n"
        "extern \"C\" __attribute__((weak)) unsigned char __start_shared_{0}[], __stop_shared_{0}[];\n"
        "{1}namespace case_{0} {{\n#include \"case_{0}.cu\"\n"
        "const bool host_registered = [] {{\n"
        "  host::add_case({0}, {{&host::Call<&{2}>::with, __start_shared_{0}, __stop_shared_{0}}});\n"
        "{3}  return true;\n}}();\n}}\n{4}",
        n, renames, launcher_name(test_case->plan), arenas(test_case->plan), restored);
  }
  return text;
}

/// Returns the command of the compiler with these flags for optimisation and instrumentation.
std::string compiler(const std::string &flags) {
  return "'" NESTSMITH_HOST_COMPILER "' -std=c++20 -w -ffp-contract=off -I'" NESTSMITH_SOURCE_DIR
         "/tests/codegen/host' -I'" NESTSMITH_SOURCE_DIR "' " +
         flags;
}
std::string compiler() { return compiler(NESTSMITH_HOST_FLAGS); }

/// Builds one program of all cases in `folder`.
void build(const std::vector<Case> &cases, const Scratch &folder) {
  constexpr std::size_t most_units = 4;
  std::vector<const Case *> by_length;
  for (const Case &test_case : cases) {
    folder.write(fmt::format("case_{}.cu", test_case.number), test_case.text);
    by_length.push_back(&test_case);
  }
  std::ranges::stable_sort(by_length, std::greater<>(),
                           [](const Case *test_case) { return test_case->text.size(); });
  std::vector<std::vector<const Case *>> units(std::clamp<std::size_t>(cases.size() / 8, 1, most_units));
  for (std::size_t n = 0; n < by_length.size(); ++n)
    units[n % units.size()].push_back(by_length[n]);

  std::vector<std::future<Finished>> compilers;
  std::string objects;
  std::vector<std::string> sources;
  for (std::size_t n = 0; n < units.size(); ++n) {
    sources.push_back(fmt::format("unit_{}", n));
    folder.write(sources.back() + ".cpp", unit_text(units[n]));
  }
  for (const std::string &source : sources) {
    objects += " " + source + ".o";
    compilers.push_back(std::async(std::launch::async, [&folder, source] {
      return folder.run(fmt::format("{0} -c {1}.cpp -o {1}.o", compiler(), source), source);
    }));
  }
  for (auto &compiler : compilers)
    if (Finished done = compiler.get(); done.status != 0)
      throw std::runtime_error("an emitted text does not compile:\n" + done.output);
  if (Finished done = folder.run(
          compiler() + objects + " '" NESTSMITH_HOST_JOBS "' '" NESTSMITH_HOST_DEVICE "' -o program", "link");
      done.status != 0)
    throw std::runtime_error("emitted texts do not link:\n" + done.output);
}

/// Writes words and arrays in the format that tests/codegen/host/jobs.cpp reads.
class Bytes {
public:
  void word(std::uint64_t value) { append(&value, sizeof(value)); }
  void append(const void *data, std::size_t bytes) { text.append(static_cast<const char *>(data), bytes); }
  std::string text;
};

std::int64_t alignment(const kernel::Plan &plan, const Buffer &buffer) {
  std::int64_t bytes = byte_size(buffer->dtype);
  for (const kernel::Kernel &kernel : plan.kernels)
    if (auto found = kernel.aligned.find(buffer); found != kernel.aligned.end())
      bytes = std::max(bytes, found->second);
  return bytes;
}

void write_job(Bytes &out, std::size_t number, const Run &run) {
  out.word(number);
  out.word(run.backwards);
  out.word(run.arrays.size());
  for (std::size_t n = 0; n < run.arrays.size(); ++n) {
    out.word(static_cast<std::uint64_t>(alignment(run.plan, run.plan.params[n])));
    out.word(run.off.empty() ? 0 : static_cast<std::uint64_t>(run.off[n]));
    out.word(run.arrays[n].bytes());
    out.append(run.arrays[n].data(), run.arrays[n].bytes());
  }
  std::vector<NamedExtent> sizes = launcher_sizes({}, run.plan);
  out.word(sizes.size() + run.scalars.size());
  for (const NamedExtent &size : sizes)
    out.word(static_cast<std::uint64_t>(size.value));
  for (const Scalar &scalar : run.scalars)
    out.word(scalar.bits);
  out.word(static_cast<std::uint64_t>(kernel::workspace_bytes(run.plan)));
  out.word(static_cast<std::uint64_t>(as_int(kernel::specialise(run.plan).counter_bytes()).value()));
}

/// Extracts the report of a fault from the output of a program: it starts at the first line of the report and
/// omits the stacks.
std::string report(const std::string &output, int status) {
  static const std::regex first(
      "(^|\n)([^\n]*(runtime error:|ERROR: AddressSanitizer|host:)[^\n]*(\n[^\n]+){0,3})");
  static const std::regex thread("\nhost: (in block[^\n]*)");
  std::smatch found, where;
  if (!std::regex_search(output, found, first))
    return fmt::format("the program ended with status {}:\n{}", status, output);
  std::string text = found[2];
  if (std::regex_search(output, where, thread))
    text += "\n" + where[1].str();
  return text;
}

/// Returns the size of the job's results in the file, in bytes.
std::size_t result_bytes(const Run &run) {
  std::size_t bytes = sizeof(std::uint64_t);
  for (const Array &array : run.arrays)
    bytes += array.bytes();
  return bytes;
}

Outcome outcome(const Run &run, const std::string &results, std::size_t at) {
  std::uint64_t status = 0;
  std::memcpy(&status, results.data() + at, sizeof(status));
  if (status != 0)
    return {{}, fmt::format("the launcher returned error {}", status)};
  Outcome result{run.arrays, ""};
  at += sizeof(std::uint64_t);
  for (Array &array : result.arrays) {
    std::copy_n(results.data() + at, array.bytes(), reinterpret_cast<char *>(array.data()));
    at += array.bytes();
  }
  return result;
}

} // namespace

std::string as_host_cpp(const std::string &cuda, bool shuffles) {
  static const std::regex arena(R"(extern __shared__ __align__\(\d+\) unsigned char (\w+)\[\];)");
  // These instructions of asynchronous copies are assembly in the prelude.
  static const std::regex copy(
      R"re(asm volatile\("cp\.async\.c[ag]\.shared\.global \[%0\], \[%1\], (\d+);"[^;]*;)re"),
      masked(
          R"re(asm volatile\("cp\.async\.c[ag]\.shared\.global \[%0\], \[%1\], (\d+), %2;"[^;]*"r"\(exists[^;]*;)re"),
      partial(
          R"re(asm volatile\("cp\.async\.c[ag]\.shared\.global \[%0\], \[%1\], (\d+), %2;"[^;]*"r"\(count\)[^;]*;)re"),
      commit(R"re(asm volatile\("cp\.async\.commit_group;"[^;]*;)re"),
      wait(R"re(asm volatile\("cp\.async\.wait_group %0;"[^;]*;)re");
  // And these of the events of channels.
  static const std::regex start(R"re(asm volatile\("mbarrier\.init[^;]*;"[^;]*;)re"),
      await(R"re(unsigned int ended;[\s\S]*?while \(ended == 0\);)re"),
      arrive(R"re(asm volatile\("\{ \.reg \.b64 state;[^"]*"[^;]*;)re"),
      arrive_after(R"re(asm volatile\("cp\.async\.mbarrier\.arrive[^;]*;"[^;]*;)re"),
      address(R"re(\(unsigned int\)__cvta_generic_to_shared\(p\))re");
  // And these of bulk stores, of any rank.
  static const std::regex stored(
      R"re(asm volatile\("cp\.async\.bulk\.tensor\.(\d)d\.global[^;]*;"[\s\S]*?: "memory"\);)re"),
      commit_stores(R"re(asm volatile\("cp\.async\.bulk\.commit_group[^;]*;"[^;]*;)re"),
      wait_stores(R"re(asm volatile\("cp\.async\.bulk\.wait_group[^;]*;"[^;]*;)re");
  // And these of bulk copies, of any rank.
  static const std::regex box(
      R"re(asm volatile\("cp\.async\.bulk\.tensor\.(\d)d[^;]*;"([\s\S]*?): "memory"\);)re"),
      sync_role(R"re(asm volatile\("bar\.sync[^;]*;"[^;]*;)re"),
      await_kernel(R"re(asm volatile\("griddepcontrol[^;]*; [^;]*;"[^;]*;)re"),
      registers(R"re(asm volatile\("setmaxnreg[^;]*;"[^;]*;)re"),
      count(R"re(asm volatile\("atom\.acq_rel[\s\S]*?: "memory"\);)re"),
      any_of_role(R"re(asm volatile\("\{ \.reg \.pred one[\s\S]*?: "memory"\);)re"),
      box_to_cluster(
          R"re(asm volatile\("cp\.async\.bulk\.tensor\.(\d)d[^;]*\.multicast::cluster[^;]*;"[\s\S]*?: "memory"\);)re"),
      fence_events(R"re(asm volatile\("fence\.mbarrier_init[^;]*;"[^;]*;)re"),
      sync_cluster(R"re(asm volatile\("barrier\.cluster[^;]*;[^;]*;"[^;]*;)re"),
      arrive_in_cluster(R"re(asm volatile\("\{ \.reg \.b32 event; mapa[\s\S]*?: "memory"\);)re"),
      arrive_bulk(R"re(asm volatile\("\{ \.reg \.b64 state; mbarrier\.arrive\.expect_tx[^"]*"[^;]*;)re");
  std::string text = std::regex_replace(without_launches(with_host_functions(cuda, shuffles)), arena,
                                        "const ::host::Arena $1;");
  text = std::regex_replace(text, copy, "::host::copy_async(to, from, $1, $1);");
  text = std::regex_replace(text, masked, "::host::copy_async(to, from, $1, exists ? $1 : 0);");
  text = std::regex_replace(text, partial, "::host::copy_async(to, from, $1, count);");
  text = std::regex_replace(text, commit, "::host::commit_copies();");
  text = std::regex_replace(text, commit_stores, "::host::commit_stores();");
  text = std::regex_replace(text, wait_stores, "::host::wait_stores(pending);");
  auto replace_boxes = [&](const std::regex &of, const char *call) {
    for (std::smatch found; std::regex_search(text, found, of);) {
      std::string start;
      for (int n = 0; n < std::stoi(found[1]); ++n)
        start += fmt::format("{}x{}", n == 0 ? "" : ", ", n);
      text = found.prefix().str() + fmt::format(fmt::runtime(call), start) + found.suffix().str();
    }
  };
  replace_boxes(stored, "::host::store_box(map, from, {{{}}});");
  replace_boxes(box_to_cluster, "::host::copy_box_to_cluster(to, map, {{{}}}, filled + number % slots);");
  text = std::regex_replace(text, fence_events, "");
  text = std::regex_replace(text, sync_cluster, "::host::wait_for_cluster(__LINE__);");
  text =
      std::regex_replace(text, arrive_in_cluster, "::host::arrive_in_cluster(freed + number % slots, block);");
  replace_boxes(box, "::host::copy_box(to, map, {{{}}}, filled + number % slots);");
  text = std::regex_replace(text, arrive_bulk, "::host::arrive_bulk(filled + number % slots, bytes);");
  text = std::regex_replace(text, start, "::host::start_event(event, arrivals);");
  text = std::regex_replace(text, await, "::host::await_phase(event, parity, __LINE__);");
  text = std::regex_replace(text, arrive, "::host::arrive(event);");
  text = std::regex_replace(text, registers, "");
  text = std::regex_replace(text, await_kernel, "");
  text = std::regex_replace(text, sync_role, "::host::wait_for_role(barrier, threads, __LINE__);");
  text = std::regex_replace(text, any_of_role, "any = ::host::any_of_role(barrier, threads, value, __LINE__);");
  text = std::regex_replace(text, count, "before = atomicInc(counter, last);");
  text = std::regex_replace(text, arrive_after, "::host::arrive_after_copies(filled + number % slots);");
  text = std::regex_replace(text, address, "(unsigned int)(size_t)p");
  return std::regex_replace(text, wait, "::host::wait_copies(pending);");
}

const std::string &why_not() {
  static const std::string reason = [] {
    Scratch folder;
    folder.write("empty.cpp", "int main() {}\n");
    Finished done = folder.run(compiler() + " empty.cpp -o empty && ./empty", "empty");
    return done.status == 0 ? "" : "programs under sanitizers do not run here: " + done.output;
  }();
  return reason;
}

std::vector<Outcome> run(const std::vector<Run> &runs) {
  std::map<std::string, std::size_t> known;
  std::vector<Case> cases;
  Bytes jobs;
  jobs.word(runs.size());
  for (const Run &run : runs) {
    std::string text = as_host_cpp(run.text.empty() ? emit({}, run.plan) : run.text, run.shuffles);
    auto [it, is_new] = known.try_emplace(text, cases.size());
    if (is_new)
      cases.push_back({cases.size(), std::move(text), run.plan});
    write_job(jobs, it->second, run);
  }
  Scratch folder;
  build(cases, folder);
  folder.write("jobs", jobs.text);

  std::vector<Outcome> outcomes;
  while (outcomes.size() < runs.size()) {
    folder.write("results", "");
    // Only the harness leaks memory. The report omits the stacks, so they need no symbols.
    Finished done = folder.run(
        fmt::format(
            "ASAN_OPTIONS=detect_leaks=0:symbolize=0 UBSAN_OPTIONS=symbolize=0 ./program jobs results {}",
            outcomes.size()),
        "program");
    std::string results = folder.read("results");
    std::size_t at = 0;
    while (outcomes.size() < runs.size() && at + result_bytes(runs[outcomes.size()]) <= results.size()) {
      const Run &run = runs[outcomes.size()];
      outcomes.push_back(outcome(run, results, at));
      at += result_bytes(run);
    }
    if (done.status != 0 && outcomes.size() < runs.size())
      outcomes.push_back({{}, report(done.output, done.status)});
    else if (done.status == 0 && outcomes.size() < runs.size())
      throw std::runtime_error("the program of emitted texts left jobs out");
  }
  return outcomes;
}

} // namespace nestsmith::host

namespace nestsmith {

int run_on_host(const std::string &source, int launches, std::string *output) {
  Scratch folder;
  // After a few launches for the result, a standalone program launches the kernel many times to measure its
  // time. These launches do nothing.
  folder.write("program.cpp",
               host::as_host_cpp(source) +
                   fmt::format("\nstatic const bool limited = (host::limit_launches({}), true);\n", launches));
  if (folder.run(host::compiler("-O1 program.cpp '" NESTSMITH_HOST_DEVICE "' -o program"), "compile").status !=
      0)
    return -1;
  Finished done = folder.run("./program", "program");
  if (output)
    *output = done.output;
  return done.status;
}

} // namespace nestsmith
