// Does not compile if nestsmith adds another name than `nestsmith` to a user's include path.

#if !__has_include(<nestsmith/nestsmith.h>) || !__has_include("nestsmith/dsl/ir/tensor.h")
#error "the public headers are not on the include path"
#endif

#if __has_include("dsl/ir/tensor.h") ||                                                                        \
                  __has_include(<dsl/schedule/schedule.h>) || __has_include(<lowering/lower.h>) ||             \
    __has_include(<codegen/emit.h>) || __has_include(<runtime/check/check.h>) || __has_include(<schedules/rung.h>) ||    \
    __has_include(<tools/cli.h>) || __has_include(<tests/golden.h>)
#error "a folder of the repository is on the include path"
#endif

#if __has_include(<nestsmith/tools/options/arguments.h>) || __has_include(<nestsmith/runtime/sim/machine.h>)
#error "an internal header is public"
#endif
