// Uses nestsmith as a library, without cli_main: from a computation to its checked CUDA text.

#include <nestsmith/nestsmith.h>

#include <cstdio>

using namespace nestsmith;

int main() {
  Workload w("twice");
  Tensor X = w.placeholder("X", {Expr(1000)}, DType::f32);
  Tensor Y = w.compute("Y", {Expr(1000)}, {"i"}, [&](Expr i) { return X(i) + X(i); });
  Schedule s(w.output({Y}), make_target("sm_90"));
  auto [block, thread] = s.split(s.loop("i"), {infer, 128});
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);

  kernel::Plan plan = lower(s);
  SimExecutor simulator;
  if (!check(s, plan, simulator).passed)
    return 1;
  std::printf("%s%s%s", print(s.program()).c_str(), trace_to_cpp(s).c_str(),
              emit({.title = "twice", .target = "sm_90"}, plan).c_str());
  TraceFile trace = parse_trace(to_json(trace_file(s, {1000}, DType::f32)), "the trace");
  if (print(replay(trace, s.source(), make_target("sm_90"), "the trace").program()) != print(s.program()))
    return 1;
  if (emit_standalone({.title = "twice", .target = "sm_90"}, plan, s.source()).find("int main(") ==
      std::string::npos)
    return 1;
  try {
    s.bind(thread, Axis::thread_x);
  } catch (const ScheduleError &error) {
    std::printf("refused: %s\n", error.what());
    return 0;
  }
  return 1;
}
