// Who works on what in a backward call, so that every gradient is summed in the same order at any number of threads.
//
// The unit of work is one key tile of a group (the query heads of one key head): it owns its dk and dv, and adds to
// the dq of every query tile it visits. A group hands out its key tiles in ascending order, and the tiles add to a
// query tile's dq in that order: each waits for its turn, the rank of the block mask. A waiting tile only ever waits
// for tiles handed out before it, so none waits for ever. Threads spread over groups first, and several share a group
// where there are fewer groups than threads. The dq sums need memory for the open groups alone.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace jali::cpu {

// A group being worked on: its dq sums, [head of the group][query][column], and the turn of each of its query tiles.
struct OpenGroup {
    int64_t group = -1;  // b * kv_heads + kv_head
    std::vector<float> dq;
    std::unique_ptr<std::atomic<int32_t>[]> turns;  // [head of the group][query tile]: key tiles added so far

    // Of the schedule, under its lock.
    enum class State : uint8_t { kFree, kOpening, kOpen };
    State state = State::kFree;
    int64_t tiles = 0, next_tile = 0, finished_tiles = 0;
    int workers = 0;
};

class BackwardSchedule {
   public:
    // Groups in the order to open them, with the number of key tiles of each; `slots` are open at once.
    BackwardSchedule(std::vector<int64_t> groups, std::vector<int64_t> tiles, int slots, int64_t dq_floats,
                     int64_t turns);

    enum class Kind : uint8_t { kOpenGroup, kKeyTile };
    struct Task {
        Kind kind;
        OpenGroup* group;
        int64_t tile;  // of kKeyTile
    };
    // What to do next; none when all is handed out. kOpenGroup: clear dq and turns, then call opened(). kKeyTile: do
    // the tile, then call finished(). Blocks while the only work left is in a group that is being opened.
    std::optional<Task> next();
    // Both return true where no tile of the group is left: the caller then writes dq and calls closed().
    bool opened(OpenGroup& group);
    bool finished(OpenGroup& group);
    void closed(OpenGroup& group);

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<int64_t> groups_, tiles_;
    size_t next_group_ = 0;
    std::vector<OpenGroup> slots_;
};

}  // namespace jali::cpu
