#pragma once
/// All primitives.

#include "dsl/primitives/bind.h"
#include "dsl/primitives/cache_read.h"
#include "dsl/primitives/cache_write.h"
#include "dsl/primitives/compute_at.h"
#include "dsl/primitives/decompose_reduction.h"
#include "dsl/primitives/fuse.h"
#include "dsl/primitives/launch_bounds.h"
#include "dsl/primitives/reorder.h"
#include "dsl/primitives/reverse_compute_at.h"
#include "dsl/primitives/set_scope.h"
#include "dsl/primitives/split.h"
#include "dsl/primitives/storage_align.h"
#include "dsl/primitives/swizzle.h"
#include "dsl/primitives/transform_layout.h"
#include "dsl/primitives/unroll.h"
