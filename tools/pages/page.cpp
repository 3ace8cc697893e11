#include "tools/pages/page.h"
#include "tools/advice/advice.h"
#include "tools/advice/causes.h"
#include "tools/output/failure.h"
#include "tools/output/text_diff.h"
#include "tools/pages/sections.h"
#include "tools/pages/source_machine.h"
#include "tools/tables/run_notes.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith::cli::report {

namespace {

/// The tutorial whose rungs these are, all in their order; none if they are others.
std::optional<Tutorial> tutorial_of(const Context &context, const std::vector<ChosenRung> &choices) {
  for (const Tutorial &tutorial : context.tutorials) {
    std::vector<std::string> names, chosen;
    for (const Rung &rung : context.rungs)
      if (rung.tutorial == tutorial.name)
        names.push_back(rung.full_name());
    for (const ChosenRung &choice : choices)
      chosen.push_back(choice.name);
    if (names == chosen)
      return tutorial;
  }
  return std::nullopt;
}

/// The machine of the source from which all these rungs come, or null.
const SourceMachine *source_of(const Context &context, const std::vector<ChosenRung> &choices) {
  if (context.rungs.data() != builtin_rungs().data() || choices.empty())
    return nullptr;
  auto tutorial = [](const ChosenRung &choice) {
    return choice.fixed_shape ? "" : choice.name.substr(0, choice.name.find('/'));
  };
  bool one = std::ranges::all_of(
      choices, [&](const ChosenRung &choice) { return tutorial(choice) == tutorial(choices.front()); });
  return one ? source_machine(tutorial(choices.front())) : nullptr;
}

/// Rungs of one source take the shape of its measurements.
void take_shape(const SourceMachine *source, std::vector<ChosenRung> &choices) {
  for (ChosenRung &choice : choices)
    if (source && source->shape && source->shape->size() == choice.gpu_shape.size())
      choice.gpu_shape = *source->shape;
}

/// The GPU of all predictions of a page: by --gpu or --arch, else the GPU that is measured, else that of the
/// source, else that of this machine, else one on which all rungs of the page were measured. So a page has one
/// GPU.
ChosenGpu gpu_of_page(const Context &context, const Machine &machine, const SourceMachine *source,
                      const std::vector<ChosenRung> &choices) {
  bool given = context.arguments.has("gpu") || context.arguments.has("arch");
  if (!given && machine.simulated() && source && !source->gpu.empty())
    return {find_gpu(source->gpu), "the GPU of the source; select another with --gpu"};
  ChosenGpu chosen = choose_gpu(context);
  if (const Gpu *measured = chosen.assumed ? measured_gpu(context, choices) : nullptr)
    return {*measured, "the GPU of the measured times; select another with --gpu"};
  return chosen;
}

template <typename Make> Texts in_each(const Make &make) { return {make(Language::en), make(Language::ko)}; }

void explain_rung(const Context &context, const Gpu &gpu, PageRung &rung, ResultCache *results) {
  Failure failure =
      failure_of([&] { rung.model = analyse(prepare(context, rung.planned.choice, gpu), gpu, results); });
  rung.model_note = rung.model ? rung.model->note : failure.message;
  if (rung.model)
    rung.words = in_each([&](Language language) { return in_words(rung.model->analysis, language); });
}

Against against(const std::string &name, const Analysed &before, const Analysed &after,
                std::optional<std::size_t> number) {
  const PlanAnalysis &b = before.analysis, &a = after.analysis;
  Texts words = in_each(
      [&](Language language) { return in_words(b, name, a, language) + causes(before, after, language); });
  return {name, verdict_of(b, a), std::move(words), compared_figures(b, a), number};
}

/// The number of the rung of the page with which rung number `n` is compared: the one on which it builds,
/// otherwise the last one before it. Only rungs that were analysed count. None: there is none.
std::optional<std::size_t> compared_with(const Context &context, const Page &page, std::size_t n,
                                         const PageRung &rung) {
  const Rung *own = rung_of(context.rungs, rung.model->scheduled.choice);
  std::optional<std::size_t> last;
  for (std::size_t at = 0; at < n; ++at)
    if (page.rungs[at].model) {
      last = at;
      if (own && !page.compares && page.rungs[at].name == own->against)
        return at;
    }
  return last;
}

/// Compares with the rung of the page on which it builds. Compares the first one with the previous rung of the
/// tutorial.
void compare(const Context &context, const Page &page, std::size_t n, PageRung &rung, ResultCache *results) {
  if (!rung.model)
    return;
  if (std::optional<std::size_t> at = compared_with(context, page, n, rung)) {
    const PageRung &before = page.rungs[*at];
    if (page.compares || comparable(context.rungs, before.model->scheduled, rung.model->scheduled))
      rung.against = against(before.name, *before.model, *rung.model, *at);
  } else if (!page.compares) {
    std::optional<Prepared> baseline =
        prepare_baseline(context, rung.model->scheduled, page.gpu.gpu, rung.model_note);
    if (baseline) {
      Analysed analysed = analyse(std::move(*baseline), page.gpu.gpu, results);
      rung.against = against(analysed.scheduled.choice.name, analysed, *rung.model, {});
    }
  }
}

/// The row of `run`. Without a measurement, its figures are those of the analysis, which has the shape of the
/// page.
Climbed row_of(const Page &page, const PageRung &rung) {
  Climbed row = rung.climbed;
  if (page.measured || !rung.model)
    return row;
  row.analysis = rung.model->analysis;
  row.shared_bytes = rung.model->scheduled.plan().shared_bytes();
  row.compiled.clear();
  for (const KernelAnalysis &kernel : rung.model->analysis.kernels)
    if (kernel.compiled)
      static_cast<KernelResources &>(row.compiled.emplace_back()) = *kernel.compiled;
  return row;
}

PageTable table_of(const Context &context, const Machine &machine, const Climb &climb, const Page &page) {
  std::vector<Planned> planned;
  for (const PageRung &rung : page.rungs)
    planned.push_back(rung.planned);
  constexpr std::size_t all_columns = 10'000;
  RunTableFacts facts = facts_of(context, planned, machine);
  for (std::size_t n = 0; n < page.rungs.size(); ++n)
    facts.problems[n] = problem_of(page, page.rungs[n]);
  RunTable run_table(facts, all_columns, Style(Colour::never));
  PageTable table{run_table.titles(), {}};
  for (std::size_t n = 0; n < page.rungs.size(); ++n)
    table.rows.push_back(run_table.cells(n, row_of(page, page.rungs[n])));
  auto compared =
      std::ranges::find_if(page.rungs, [](const PageRung &rung) { return rung.climbed.cublas_ms.has_value(); });
  bool one = std::ranges::count(facts.problems, facts.problems.front()) == std::ssize(facts.problems);
  if (compared != page.rungs.end() && one)
    table.rows.push_back(run_table.cublas_cells(climb.cublas_name(), compared->climbed));
  return table;
}

std::vector<std::string> notes_of(const Context &context, const Climb &climb, const Page &page) {
  std::vector<Climbed> rows;
  for (const PageRung &rung : page.rungs)
    rows.push_back(rung.climbed);
  std::vector<std::string> notes;
  for (const std::string &text : {variant_notes(rows), table_notes(rows), skipped_notes(rows),
                                  published_notes(context, rows, page.measured)})
    for (const std::string &line : split_lines(text))
      notes.push_back(line);
  std::ranges::copy(climb.notes(), std::back_inserter(notes));
  for (const PageRung &rung : page.rungs)
    if (std::string note = checked_note(page, rung); std::ranges::find(notes, note) == notes.end())
      notes.push_back(note);
  notes.push_back(page.gpu.why);
  for (const PageRung &rung : page.rungs)
    if (rung.climbed.failure.message.empty() && std::ranges::find(notes, rung.model_note) == notes.end())
      notes.push_back(rung.model_note);
  std::erase(notes, "");
  return notes;
}

/// The machine of `run`. The simulator has the limits of the GPU of the page.
Machine machine_of(const Context &context, const SourceMachine *source, const std::vector<ChosenRung> &choices,
                   ChosenGpu &gpu) {
  Machine machine = choose_machine(context);
  gpu = gpu_of_page(context, machine, source, choices);
  if (machine.simulated() && !context.arguments.has("arch")) {
    machine.assumed = gpu.gpu;
    machine.target = target_of(gpu.gpu);
  }
  return machine;
}

} // namespace

const Scheduled *PageRung::shown() const {
  return model ? &model->scheduled : planned.scheduled ? &*planned.scheduled : nullptr;
}

std::string checked_note(const Page &page, const PageRung &rung) {
  std::string checked = rung.planned.problem(), shown = problem_of(page, rung);
  return page.measured || checked == shown || !rung.climbed.failure.message.empty()
             ? ""
             : fmt::format("checked on the simulator for {}; all other figures are for {}", checked, shown);
}

void check_plans(const Context &context, const std::vector<std::vector<ChosenRung>> &pages) {
  for (std::vector<ChosenRung> choices : pages) {
    const SourceMachine *source = source_of(context, choices);
    take_shape(source, choices);
    ChosenGpu gpu;
    Machine machine = machine_of(context, source, choices, gpu);
    Climb(context, machine).plan_all(choices);
  }
}

Page gather(const Context &context, std::vector<ChosenRung> choices, ResultCache *results) {
  Page page;
  page.tutorial = tutorial_of(context, choices);
  std::vector<std::string> names;
  for (const ChosenRung &choice : choices)
    names.push_back(choice.name);
  page.title = page.tutorial ? page.tutorial->title : fmt::format("{}", fmt::join(names, ", "));
  std::string spared = spare_other_ranks(context, choices);
  for (const ChosenRung &choice : choices) // report command line mistakes before the first result
    chosen_shape(context, choice);
  page.compares = context.arguments.has("against");
  const SourceMachine *source = source_of(context, choices);
  take_shape(source, choices);
  Machine machine = machine_of(context, source, choices, page.gpu);
  page.measured = !machine.simulated();
  page.same_gpu = page.measured && machine.device->info().name == page.gpu.gpu.product;
  auto reused = [&] { return results ? results->reused() : Reused(); };
  const Reused at_first = reused();
  Climb climb(context, machine, results);
  for (Planned &planned : climb.plan_all(choices)) {
    PageRung &rung = page.rungs.emplace_back();
    rung.name = planned.choice.name;
    rung.summary = planned.choice.summary;
    rung.published = published_row(context, rung.name);
    rung.planned = std::move(planned);
  }
  page.where = where_text(machine, climb.analysed_gpu());

  Progress progress;
  for (std::size_t n = 0; n < page.rungs.size(); ++n) {
    PageRung &rung = page.rungs[n];
    std::string stages;
    auto show = [&](const char *stage) {
      progress.show(fmt::format("{} of {}: {}: {}{} …", n + 1, page.rungs.size(), rung.name, stages, stage));
    };
    show("run");
    std::size_t before = reused().checks;
    rung.climbed = climb.run(rung.planned);
    if (reused().checks > before)
      stages = "run reused, ";
    if (const PublishedTable *table = published_table(context, rung.name);
        rung.published && std::ranges::find(page.published, table) == page.published.end())
      page.published.push_back(table);
    if (!rung.planned.scheduled) {
      rung.steps = steps_of(rung.planned.failure);
      continue;
    }
    show("explain");
    explain_rung(context, page.gpu.gpu, rung, results);
    compare(context, page, n, rung, results);
    if (rung.model && !context.arguments.has("no-advice")) {
      show("advice");
      const Advice advice = advise(*rung.model, results);
      rung.advice = in_each([&](Language language) { return to_text(advice, language); });
    }
    show("steps");
    rung.steps = steps_of(rung.shown()->schedule);
  }
  progress.clear();
  page.reused = {reused().checks - at_first.checks, reused().analyses - at_first.analyses};
  page.cublas_name = climb.cublas_name();
  page.table = table_of(context, machine, climb, page);
  page.notes = notes_of(context, climb, page);
  if (!spared.empty())
    page.notes.push_back(spared);
  return page;
}

} // namespace nestsmith::cli::report
