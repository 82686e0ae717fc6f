#include "audit/parallel_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "audit/arch.h"
#include "audit/image_queue.h"
#include "audit/walk.h"
#include "jali/error.h"

namespace jali::audit {
namespace {

// Of images found and not yet read, unpacked. What a reader makes of them comes on top, a few times an image a thread.
constexpr uint64_t kMostBytesInFlight = uint64_t{192} << 20;
constexpr size_t kMostImagesInFlight = 1024;
// A hostile file has a problem every few bytes.
constexpr size_t kMostProblems = 10000;

template <typename Thing>
struct Ordered {
    int64_t order = 0;
    Thing thing;
};

template <typename Thing>
std::vector<Thing> in_order(std::vector<Ordered<Thing>> all) {
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.order < b.order; });
    std::vector<Thing> things;
    things.reserve(all.size());
    for (auto& one : all) things.push_back(std::move(one.thing));
    return things;
}

class Reading {
   public:
    Reading(const ReadOptions& options, const CubinReader& reader) : options_(options), reader_(reader) {
        // What architecture a kernel is for is told by its carrier too, so it is judged here.
        reader_options_.arch.clear();
        reader_options_.progress = nullptr;
    }

    Audit read(const std::filesystem::path& path) {
        std::vector<std::thread> threads;
        const int64_t wanted = options_.threads > 0 ? options_.threads : std::thread::hardware_concurrency();
        try {
            for (int64_t i = 0; i < std::max<int64_t>(wanted, 1); ++i) threads.emplace_back([this] { work(); });
        } catch (const std::system_error&) {
            // The machine has no more threads to give: those that started share the work.
            if (threads.empty()) throw;
        }
        try {
            walk(path, {.on_image = [this](PackedImage packed) { found(std::move(packed)); },
                        .on_problem = [this](Problem problem) { keep(order_++, std::move(problem)); },
                        .on_other = [this] { ++audit_.other_images; }});
            queue_.close();
        } catch (...) {
            stop(std::current_exception());
        }
        for (std::thread& thread : threads) thread.join();
        if (failure_ != nullptr) std::rethrow_exception(failure_);
        return result();
    }

   private:
    // --- On the thread that walks ---

    void found(PackedImage packed) {
        const int number = arch_number(packed.image.arch);
        if (number != 0 && !options_.arch.empty() && number != arch_number(options_.arch)) return;
        if (packed.image.kind == ImageKind::kPtx) {
            ++audit_.ptx_images;
            return;
        }
        if (number != 0 && number < kFirstArchRead) {
            ++audit_.old_images;
            return;
        }
        {
            const std::lock_guard lock(mutex_);
            ++images_found_;
        }
        const uint64_t bytes = bytes_in_flight(packed);
        queue_.push({std::move(packed), order_++, bytes});
    }

    // --- On the threads that read ---

    void work() {
        while (std::optional<QueuedImage> image = queue_.pop()) {
            read_one(image->packed, image->order);
            const uint64_t bytes = image->bytes;
            image.reset();
            queue_.release(bytes);
        }
    }

    void read_one(const PackedImage& packed, int64_t order) {
        std::string where;
        try {
            const Image image = unpack(packed);
            // Offsets in a cubin are its own; where it lies in its carrier must be said beside.
            if (packed.carrier_offset > 0) where = fmt::format("cubin at offset {}: ", packed.carrier_offset);
            CubinKernels found = reader_(image, reader_options_);
            keep(order, of_wanted_arch(image, std::move(found.kernels)));
            for (const std::string& problem : found.problems)
                keep(order, Problem{packed.image.origin, where + problem});
        } catch (const std::bad_alloc&) {
            keep(order, Problem{packed.image.origin, where + "reading it needs more memory than there is"});
        } catch (const std::exception& error) {
            keep(order, Problem{packed.image.origin, where + error.what()});
        }
        const std::lock_guard lock(mutex_);
        ++images_read_;
        try {
            if (options_.progress && failure_ == nullptr) options_.progress(images_read_, images_found_);
        } catch (...) {
            failure_ = std::current_exception();
            queue_.abandon();
        }
    }

    std::vector<Kernel> of_wanted_arch(const Image& image, std::vector<Kernel> kernels) const {
        for (Kernel& kernel : kernels) {
            // Of "sm_90" and "sm_90a" the longer knows more: old assemblers and old carriers leave the letter out.
            if (arch_number(kernel.arch) == arch_number(image.arch) && image.arch.size() > kernel.arch.size())
                kernel.arch = image.arch;
        }
        if (!options_.arch.empty())
            std::erase_if(kernels, [&](const Kernel& kernel) { return kernel.arch != options_.arch; });
        return kernels;
    }

    // --- What was read ---

    void keep(int64_t order, std::vector<Kernel> kernels) {
        if (kernels.empty()) return;
        const std::lock_guard lock(mutex_);
        kernels_.push_back({order, std::move(kernels)});
    }
    void keep(int64_t order, Problem problem) {
        const std::lock_guard lock(mutex_);
        if (problems_.size() < kMostProblems)
            problems_.push_back({order, std::move(problem)});
        else
            ++problems_left_out_;
    }

    void stop(std::exception_ptr failure) {
        const std::lock_guard lock(mutex_);
        failure_ = std::move(failure);
        queue_.abandon();
    }

    Audit result() {
        std::vector<std::vector<Kernel>> images = in_order(std::move(kernels_));
        size_t count = 0;
        for (const std::vector<Kernel>& kernels : images) count += kernels.size();
        audit_.kernels.reserve(count);
        for (std::vector<Kernel>& kernels : images) {
            std::move(kernels.begin(), kernels.end(), std::back_inserter(audit_.kernels));
            kernels = {};
        }
        audit_.problems = in_order(std::move(problems_));
        if (problems_left_out_ > 0)
            audit_.problems.push_back({"", fmt::format("{} more problems are left out", problems_left_out_)});
        return std::move(audit_);
    }

    const ReadOptions& options_;
    const CubinReader& reader_;
    ReadOptions reader_options_ = options_;
    ImageQueue queue_{kMostBytesInFlight, kMostImagesInFlight};
    int64_t order_ = 0;  // of the thread that walks
    Audit audit_;        // counts: of the thread that walks

    std::mutex mutex_;  // for all below
    std::vector<Ordered<std::vector<Kernel>>> kernels_;
    std::vector<Ordered<Problem>> problems_;
    size_t problems_left_out_ = 0;
    int64_t images_read_ = 0, images_found_ = 0;
    std::exception_ptr failure_;
};

}  // namespace

Audit read_images(const std::filesystem::path& path, const ReadOptions& options, const CubinReader& reader) {
    return Reading(options, reader).read(path);
}

}  // namespace jali::audit
