#include "schedules/grids.h"
#include "tools/advice/changes.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

using Stages = std::vector<StageName>;

/// The serial loops below which a nest fills a shared tile.
std::vector<std::string> loops_over_tiles(const Program &program) {
  std::vector<std::string> names;
  walk(program.body, [&](const Stmt &stmt) {
    const For *loop = as<For>(stmt);
    if (!loop || !loop->is<Serial>() || !loop->pipeline().empty())
      return true;
    auto blocks = blocks_of(loop->body);
    if (std::ranges::any_of(blocks, [](const Block *b) { return b->body.buffer->scope == Scope::shared; }))
      names.push_back(loop->var->name);
    return true;
  });
  return names;
}

/// The pipelines of a trace with one more or one less iteration between the first stage and the last.
Schedule with_stages(const Schedule &from, std::int64_t more) {
  return replayed(from, [&](Schedule &s, const Directive &directive) {
    const auto *stages = directive.op == "pipeline" ? std::get_if<Stages>(&directive.arguments.at(1)) : nullptr;
    if (!stages)
      return false;
    std::int64_t last = std::ranges::max(*stages, {}, &StageName::stage).stage;
    std::vector<Stage> changed;
    for (const StageName &each : *stages)
      changed.push_back({s.block(each.block), each.stage == last ? last + more : each.stage, each.order});
    s.pipeline(s.loop(*loop_argument(directive)), changed);
    return true;
  });
}

const Directive *bind_of(const Schedule &schedule, Axis axis) {
  auto found = std::ranges::find_if(schedule.trace(),
                                    [&](const Directive &directive) { return is_bind(directive, axis); });
  return found == schedule.trace().end() ? nullptr : &*found;
}

} // namespace

std::vector<Change> overlap_copies(const Subject &subject) {
  const Schedule &from = subject.scheduled.schedule;
  std::vector<Change> changes;
  if (std::ranges::any_of(from.trace(), [](const Directive &each) { return each.op == "pipeline"; })) {
    changes.push_back({{"copy one more tile ahead", "타일을 하나 더 앞서 복사하기"},
                       [&from] { return with_stages(from, 1); }});
    changes.push_back({{"copy one tile less ahead", "타일을 하나 덜 앞서 복사하기"},
                       [&from] { return with_stages(from, -1); }});
  }
  for (const std::string &loop : loops_over_tiles(from.program()))
    changes.push_back({texts("double_buffer({}), which fetches the next tiles while these are used",
                             "현재 타일을 쓰는 동안 다음 타일을 가져오도록 double_buffer({}) 쓰기", loop),
                       [&from, loop] {
                         Schedule s = from;
                         s.double_buffer(s.loop(loop));
                         return s;
                       }});
  return changes;
}

std::vector<Change> reorder_blocks(const Subject &subject) {
  const Schedule &from = subject.scheduled.schedule;
  const Directive *x = bind_of(from, Axis::block_x), *y = bind_of(from, Axis::block_y);
  if (!x || !y)
    return {};
  std::vector<Change> changes;
  changes.push_back({{"bind the loop of blockIdx.y to blockIdx.x, and the other way round",
                      "blockIdx.x와 blockIdx.y의 루프를 서로 바꾸어 bind하기"},
                     [&from, x, y] {
                       return replayed(from, [&](Schedule &s, const Directive &directive) {
                         if (!(directive == *x) && !(directive == *y))
                           return false;
                         s.bind(s.loop(*loop_argument(directive)),
                                directive == *x ? Axis::block_y : Axis::block_x);
                         return true;
                       });
                     }});
  constexpr std::int64_t group = 8;
  changes.push_back(
      {texts("let consecutive blocks compute a column of {} tiles, which share operands in L2",
             "이어지는 블록들이 L2의 피연산자를 함께 쓰도록 타일 {}개의 열을 계산하게 하기", group),
       [&from, x, y] {
         const Directive *later = x < y ? y : x;
         return replayed(from, [&](Schedule &s, const Directive &directive) {
           if (directive == *later)
             bind_tiles(s, s.loop(*loop_argument(*y)), s.loop(*loop_argument(*x)), group);
           return directive == *x || directive == *y;
         });
       }});
  return changes;
}

std::vector<Change> limit_registers(const Subject &subject) {
  const Occupancy &occupancy = subject.analysis.slowest().occupancy;
  if (std::ranges::find(occupancy.limits, OccupancyLimit::registers) == occupancy.limits.end())
    return {};
  const Schedule &from = subject.scheduled.schedule;
  std::int64_t blocks = occupancy.blocks + 1;
  return {{texts("launch_bounds({0}), so that the registers of {0} blocks fit on an SM",
                 "블록 {0}개의 레지스터가 SM 하나에 들어가도록 launch_bounds({0}) 쓰기", blocks),
           [&from, blocks] {
             Schedule s = replayed(
                 from, [](Schedule &, const Directive &directive) { return directive.op == "launch_bounds"; });
             s.launch_bounds(blocks);
             return s;
           }}};
}

std::vector<Change> turn_knobs(const Subject &subject) {
  const Scheduled &scheduled = subject.scheduled;
  if (scheduled.knobs.empty())
    return {};
  Knobs asked(scheduled.knobs);
  auto build = [&scheduled](Knobs &knobs) {
    return scheduled.choice.build(scheduled.shape, scheduled.dtype, scheduled.schedule.target(), knobs);
  };
  build(asked);
  std::vector<Change> changes;
  for (const Knob &knob : asked.asked())
    for (std::size_t n : {knob.chosen + 1, knob.chosen - 1}) {
      if (n >= knob.candidates.size() ||
          (scheduled.choice.given_knobs && scheduled.choice.knobs.contains(knob.name)))
        continue;
      KnobValues values = scheduled.knobs;
      values[knob.name] = knob.candidates[n];
      changes.push_back({texts("--set {}={} instead of {}", "--set {}={} 쓰기(현재 값: {})", knob.name,
                               knob.candidates[n], knob.candidates[knob.chosen]),
                         [build, values] {
                           Knobs knobs(values);
                           return build(knobs);
                         }});
    }
  return changes;
}

} // namespace nestsmith::cli
