#include "dsl/expr/watch_answers.h"

namespace nestsmith {

thread_local AnswerWatcher *AnswerWatcher::current = nullptr;

AnswerWatcher::AnswerWatcher() : outer_(current) { current = this; }
AnswerWatcher::~AnswerWatcher() { current = outer_; }

} // namespace nestsmith
