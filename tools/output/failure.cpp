#include "tools/output/failure.h"

#include <new>

namespace nestsmith::cli {

Failure failure_of(const std::function<void()> &f) {
  try {
    f();
  } catch (const ScheduleError &error) {
    return {error.directive() + ": " + error.message(),
            error.marked(),
            error.requirement(),
            error.code(),
            error.directive(),
            error.schedule()};
  } catch (const UserError &error) {
    return {error.what(), "", "", error.code(), "", error.schedule()};
  } catch (const std::bad_alloc &) {
    return {"not enough memory for this shape; use a smaller shape", "", "", ExitCode::usage};
  }
  return {};
}

} // namespace nestsmith::cli
