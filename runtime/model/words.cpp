#include "runtime/model/words.h"

#include "dsl/expr/error.h"

namespace nestsmith {

std::string_view name(Resource resource, Language language) {
  if (language == Language::en)
    return name(resource);
  switch (resource) {
  case Resource::issue:
    return "명령어 발행 슬롯";
  case Resource::fp32:
    return "FP32 파이프";
  case Resource::fp64:
    return "FP64 파이프";
  case Resource::matrix:
    return "행렬 유닛";
  case Resource::shared:
    return "공유 메모리";
  case Resource::l1:
  case Resource::l2:
  case Resource::dram:
    return name(resource);
  }
  internal_error("unknown resource");
}

std::string_view name(Loss loss, Language language) {
  if (language == Language::en)
    return name(loss);
  switch (loss) {
  case Loss::imbalance:
    return "불균형";
  case Loss::latency:
    return "지연 시간";
  case Loss::barriers:
    return "배리어";
  case Loss::fetch:
    return "명령어 인출";
  case Loss::banks:
    return "레지스터 뱅크";
  }
  internal_error("unknown loss");
}

std::string_view name(OccupancyLimit limit, Language language) {
  if (language == Language::en)
    return name(limit);
  switch (limit) {
  case OccupancyLimit::warps:
    return "워프";
  case OccupancyLimit::registers:
    return "레지스터";
  case OccupancyLimit::shared_memory:
    return "공유 메모리";
  case OccupancyLimit::blocks:
    return "블록";
  }
  internal_error("unknown limit of the occupancy");
}

} // namespace nestsmith
