// Images on their way from the one who finds them to those who read them, in bounded memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "audit/packed_image.h"

namespace jali::audit {

struct QueuedImage {
    PackedImage packed;
    int64_t order = 0;   // of what was found
    uint64_t bytes = 0;  // that it is counted with until it is released
};

// Bytes that an image takes from when it is found to when it is read.
inline uint64_t bytes_in_flight(const PackedImage& packed) {
    const uint64_t unpacked =
        packed.compression == Compression::kNone ? 0 : std::min(packed.unpacked_bytes, kMostImageBytes);
    return packed.image.bytes.size() + unpacked + packed.held_bytes;
}

class ImageQueue {
   public:
    ImageQueue(uint64_t most_bytes, size_t most_images) : most_bytes_(most_bytes), most_images_(most_images) {}

    // Waits until there is room; an image that is larger than all room goes alone. False once the queue is closed.
    bool push(QueuedImage image) {
        std::unique_lock lock(mutex_);
        const auto has_room = [&] {
            return closed_ || in_flight_ == 0 || (in_flight_ < most_images_ && bytes_ + image.bytes <= most_bytes_);
        };
        changed_.wait(lock, has_room);
        if (closed_) return false;
        bytes_ += image.bytes;
        ++in_flight_;
        images_.push_back(std::move(image));
        changed_.notify_all();
        return true;
    }
    // Waits for an image; nothing once the queue is closed and empty.
    std::optional<QueuedImage> pop() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return closed_ || !images_.empty(); });
        if (images_.empty()) return std::nullopt;
        std::optional<QueuedImage> image(std::move(images_.front()));
        images_.pop_front();
        return image;
    }
    // After the last use of what was popped.
    void release(uint64_t bytes) {
        const std::lock_guard lock(mutex_);
        bytes_ -= bytes;
        --in_flight_;
        changed_.notify_all();
    }
    // No more will be pushed; what is in the queue is still read.
    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        changed_.notify_all();
    }
    // Nothing more will be read either.
    void abandon() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        images_.clear();
        changed_.notify_all();
    }

   private:
    const uint64_t most_bytes_;
    const size_t most_images_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<QueuedImage> images_;
    uint64_t bytes_ = 0;
    size_t in_flight_ = 0;
    bool closed_ = false;
};

}  // namespace jali::audit
