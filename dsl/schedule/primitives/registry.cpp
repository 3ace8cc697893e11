#include "dsl/schedule/primitives/registry.h"

#include <algorithm>

namespace nestsmith {

namespace primitives {
#define PRIMITIVE(name) extern const Primitive name;
#include "dsl/schedule/primitives/list.inc"
#undef PRIMITIVE
} // namespace primitives

const std::vector<Primitive> &all_primitives() {
  static const std::vector<Primitive> list = {
#define PRIMITIVE(name) primitives::name,
#include "dsl/schedule/primitives/list.inc"
#undef PRIMITIVE
  };
  return list;
}

const Primitive *find_primitive(std::string_view name) {
  const std::vector<Primitive> &list = all_primitives();
  auto found = std::ranges::lower_bound(list, name, {}, &Primitive::name);
  return found != list.end() && found->name == name ? &*found : nullptr;
}

} // namespace nestsmith
