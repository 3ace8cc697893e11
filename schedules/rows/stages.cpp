#include "schedules/rows/stages.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::rows {

std::vector<Stage> stages_of(const Schedule &s) {
  std::vector<Stage> stages;
  for (const Block *block : blocks_of(s.program().body)) {
    bool reduces = block->reduces();
    stages.push_back({.block = s.block(block->id->name),
                      .reduces = reduces,
                      .elements = !reduces && block->iters.size() == 2,
                      .temporary = block->body.buffer->role == Role::temporary});
  }
  return stages;
}

Buffer input_of(const Program &program) {
  const Block &first = *blocks_of(program.body).front();
  for (const Load *load : loads_of(first))
    if (load->buffer != first.body.buffer)
      return load->buffer;
  throw UserError(ExitCode::usage,
                  fmt::format("the first stage of {}, {}, reads no buffer, expected a reduction of rows",
                              program.name, first.id->name));
}

std::vector<Stage> inlined_stages(Schedule &s) {
  for (const Stage &stage : stages_of(s))
    if (stage.elements && stage.temporary)
      s.compute_inline(stage.block);
  return stages_of(s);
}

std::int64_t vector_width(const Shape &shape, DType dtype, std::size_t n) {
  const std::int64_t bytes = byte_size(dtype);
  for (std::int64_t width = 16 / bytes; width > 1 && width * bytes >= 4; width /= 2)
    if (shape.is_multiple(n, width))
      return width;
  return 1;
}

std::vector<Buffer> inputs_of(const Schedule &s, BlockRef block) {
  std::vector<Buffer> inputs;
  const Block &reader = *find_block(s.program().body, block.id);
  for (const Load *load : loads_of(reader))
    if (load->buffer != reader.body.buffer && std::ranges::find(inputs, load->buffer) == inputs.end())
      inputs.push_back(load->buffer);
  return inputs;
}

void load_in_vectors(Schedule &s, BlockRef block, std::int64_t width) {
  if (width == 1)
    return;
  std::vector<Loop> loops = s.loops(block);
  for (const Buffer &input : inputs_of(s, block)) {
    BlockRef elements = s.cache_read(block, input->name, Scope::local);
    s.compute_at(elements, loops[loops.size() - 2]);
    s.vectorize(s.loops(elements).back());
  }
}

} // namespace nestsmith::rows
