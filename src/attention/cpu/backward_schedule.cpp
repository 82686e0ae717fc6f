#include "attention/cpu/backward_schedule.h"

#include <utility>

namespace jali::cpu {

BackwardSchedule::BackwardSchedule(std::vector<int64_t> groups, std::vector<int64_t> tiles, int slots,
                                   int64_t dq_floats, int64_t turns)
    : groups_(std::move(groups)), tiles_(std::move(tiles)), slots_(static_cast<size_t>(slots)) {
    for (OpenGroup& slot : slots_) {
        slot.dq.resize(static_cast<size_t>(dq_floats));
        slot.turns = std::make_unique<std::atomic<int32_t>[]>(static_cast<size_t>(turns));
    }
}

std::optional<BackwardSchedule::Task> BackwardSchedule::next() {
    std::unique_lock lock(mutex_);
    for (;;) {
        OpenGroup *least = nullptr, *free = nullptr;
        bool opening = false;
        for (OpenGroup& slot : slots_) {
            if (slot.state == OpenGroup::State::kFree && free == nullptr) free = &slot;
            if (slot.state == OpenGroup::State::kOpening) opening = true;
            const bool has_work = slot.state == OpenGroup::State::kOpen && slot.next_tile < slot.tiles;
            if (has_work && (least == nullptr || slot.workers < least->workers)) least = &slot;
        }
        const bool group_left = free != nullptr && next_group_ < groups_.size();
        if (group_left && (least == nullptr || least->workers > 0)) {
            free->state = OpenGroup::State::kOpening;
            free->group = groups_[next_group_];
            free->tiles = tiles_[next_group_++];
            free->next_tile = free->finished_tiles = 0;
            return Task{Kind::kOpenGroup, free, 0};
        }
        if (least != nullptr) {
            ++least->workers;
            return Task{Kind::kKeyTile, least, least->next_tile++};
        }
        if (!opening) return std::nullopt;
        changed_.wait(lock);
    }
}

bool BackwardSchedule::opened(OpenGroup& group) {
    const std::lock_guard lock(mutex_);
    group.state = OpenGroup::State::kOpen;
    changed_.notify_all();
    return group.tiles == 0;
}

bool BackwardSchedule::finished(OpenGroup& group) {
    const std::lock_guard lock(mutex_);
    --group.workers;
    return ++group.finished_tiles == group.tiles;
}

void BackwardSchedule::closed(OpenGroup& group) {
    const std::lock_guard lock(mutex_);
    group.state = OpenGroup::State::kFree;
    changed_.notify_all();
}

}  // namespace jali::cpu
