#include "dsl/schedule/primitives/swizzle.h"

#include "dsl/schedule/primitives/storage.h"

#include <fmt/format.h>

namespace nestsmith {

constinit const Primitive primitives::swizzle = primitive<&Schedule::swizzle>(
    "swizzle", {block("writer"), integer("bits", 1, 5), integer("base", 1, 5), integer("shift", 2, 7)});

void Schedule::swizzle(BlockRef handle, std::int64_t bits, std::int64_t base, std::int64_t shift,
                       Caller caller) {
  Edit edit(*this, caller, primitives::swizzle, handle, bits, base, shift);
  const Block &writer = edit.block(handle);
  const Buffer &buffer = require_temporary(edit, "swizzle.temporary", writer);
  require_shared(edit, "swizzle.shared", writer, "a swizzle");
  constexpr std::int64_t most = 24;
  if (bits < 1 || base < 0 || bits > most || base > most || shift < bits || shift > most ||
      bits + base + shift > most)
    edit.refuse("swizzle.numbers",
                fmt::format("got {} bits, base {} and shift {}, expected bits >= 1, base >= 0, shift >= bits "
                            "(else a bit would be XORed into itself) and their sum at most {}",
                            bits, base, shift, most),
                {writer.id->name});
  Layout layout = layout_of(buffer);
  if (layout.swizzle)
    edit.refuse("swizzle.once",
                fmt::format("{} is already swizzled ({}); use one swizzle", buffer->name, to_string(layout)),
                {writer.id->name});
  layout.swizzle = Swizzle{bits, base, shift};
  commit_layout(edit, buffer, std::move(layout));
}

} // namespace nestsmith
