// Images read by several threads: the order of files, filters, problems, bounded memory.
#include "audit/parallel_read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "audit/carriers.h"
#include "audit/elf_image.h"
#include "audit/image_queue.h"
#include "io/temporary_folder.h"
#include "jali/error.h"

namespace jali::audit::test {
namespace {

using jali::test::message_of;
using jali::test::TemporaryFolder;
using testing::ElementsAre;
using testing::IsEmpty;

// One kernel a cubin, called like its content; "bad" is none.
CubinKernels content_reader(const Image& image, const ReadOptions&) {
    const auto bytes = ElfImage(image.bytes).section(".text.k")->bytes;
    Kernel kernel;
    kernel.name = std::string(bytes.begin(), bytes.end());
    kernel.origin = image.origin;
    kernel.arch = "sm_90";
    if (kernel.name.starts_with("bad")) throw FileError("there is nothing good at offset 7");
    if (kernel.name == "huge") throw std::bad_alloc();
    if (kernel.name == "half") return {{kernel}, {"kernel other: has no code at offset 9"}};
    return {{kernel}, {}};
}

std::vector<std::string> names(const Audit& audit) {
    std::vector<std::string> all;
    for (const Kernel& kernel : audit.kernels) all.push_back(kernel.name);
    return all;
}

Audit audit_of(const Bytes& bytes, const ReadOptions& options = {}, const CubinReader& reader = content_reader) {
    const TemporaryFolder folder;
    write_bytes(folder / "k.fatbin", bytes);
    Audit audit = read_images(folder / "k.fatbin", options, reader);
    for (Problem& problem : audit.problems) problem.origin = std::filesystem::path(problem.origin).filename();
    return audit;
}

TEST(ThreadedRead, KeepsTheOrderOfTheFile) {
    std::vector<Entry> entries;
    std::vector<std::string> expected;
    for (int i = 0; i < 300; ++i) {
        expected.push_back(std::to_string(i));
        entries.push_back({.bytes = cubin(expected.back()), .packing = i % 2 == 0 ? Packing::kZstd : Packing::kPlain});
    }
    // The first images take longest.
    const auto slow_start = [](const Image& image, const ReadOptions& options) {
        CubinKernels found = content_reader(image, options);
        if (std::stoi(found.kernels[0].name) < 4) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return found;
    };
    for (const int64_t threads : {1, 2, 7})
        EXPECT_EQ(names(audit_of(fat_binary(entries), {.threads = threads}, slow_start)), expected);
}

TEST(ThreadedRead, AProblemLosesNothingElse) {
    const Audit audit = audit_of(fat_binary({{.bytes = cubin("bad")},
                                             {.bytes = cubin("good")},
                                             {.bytes = cubin("huge")},
                                             {.bytes = bytes_of("no ELF")},
                                             {.bytes = cubin("last"), .packing = Packing::kZstd}}));
    EXPECT_THAT(names(audit), ElementsAre("good", "last"));
    ASSERT_EQ(audit.problems.size(), 3U);
    EXPECT_EQ(audit.problems[0].origin, "k.fatbin!fatbin 1");
    EXPECT_EQ(audit.problems[0].sentence, "cubin at offset 80: there is nothing good at offset 7");
    EXPECT_THAT(audit.problems[1].sentence, testing::EndsWith("reading it needs more memory than there is"));
    EXPECT_THAT(audit.problems[2].sentence, testing::EndsWith("ELF file ends after 8 of the 64 bytes of its header"));
}

TEST(ThreadedRead, AKernelThatIsWrongLosesNoOtherOfItsCubin) {
    const Audit audit = audit_of(fat_binary({{.bytes = cubin("half")}}));
    EXPECT_THAT(names(audit), ElementsAre("half"));
    ASSERT_EQ(audit.problems.size(), 1U);
    EXPECT_EQ(audit.problems[0].sentence, "cubin at offset 80: kernel other: has no code at offset 9");
}

TEST(ThreadedRead, CountsWhatIsNotRead) {
    const Audit audit = audit_of(fat_binary({{.kind = 1, .bytes = bytes_of(".version 9.0\n")},
                                             {.kind = 8, .bytes = bytes_of("link-time")},
                                             {.arch = 61, .bytes = cubin("old")},
                                             {.arch = 75, .bytes = cubin("old")},
                                             {.bytes = cubin("good")}}));
    EXPECT_EQ(audit.ptx_images, 1);
    EXPECT_EQ(audit.other_images, 1);
    EXPECT_EQ(audit.old_images, 2);
    EXPECT_THAT(names(audit), ElementsAre("good"));
}

TEST(ThreadedRead, TheCarrierCompletesTheArchitecture) {
    const Bytes bytes = fat_binary({{.arch = 90, .flags = 0x11 | kArchSpecific, .bytes = cubin("specific")},
                                    {.arch = 90, .bytes = cubin("general")},
                                    {.arch = 80, .bytes = cubin("other")}});
    EXPECT_EQ(audit_of(bytes).kernels.at(0).arch, "sm_90a");
    EXPECT_EQ(audit_of(bytes).kernels.at(1).arch, "sm_90");
    EXPECT_THAT(names(audit_of(bytes, {.arch = "sm_90a"})), ElementsAre("specific"));
    EXPECT_THAT(names(audit_of(bytes, {.arch = "sm_90"})), ElementsAre("general"));
}

TEST(ThreadedRead, TellsItsProgress) {
    std::vector<int64_t> read;
    int64_t last_found = 0;
    ReadOptions options;
    options.progress = [&](int64_t done, int64_t found) {
        read.push_back(done);
        last_found = found;
    };
    audit_of(fat_binary(std::vector<Entry>(5, {.bytes = cubin("k")})), options);
    EXPECT_THAT(read, ElementsAre(1, 2, 3, 4, 5));
    EXPECT_EQ(last_found, 5);
}

TEST(ThreadedRead, StopsWhenTheProgressThrows) {
    ReadOptions options;
    std::atomic<int> reads = 0;
    options.progress = [](int64_t, int64_t) { throw std::runtime_error("enough"); };
    const auto counting = [&](const Image& image, const ReadOptions& wanted) {
        ++reads;
        return content_reader(image, wanted);
    };
    const Bytes bytes = fat_binary(std::vector<Entry>(4000, {.bytes = cubin("k")}));
    EXPECT_EQ(message_of<std::runtime_error>([&] { audit_of(bytes, options, counting); }), "enough");
    EXPECT_LT(reads, 4000);
}

TEST(ThreadedRead, ThrowsWhereThereIsNoFile) {
    EXPECT_EQ(message_of<FileError>([] { read_images("no/such", {}, content_reader); }),
              "cannot read 'no/such': No such file or directory");
}

TEST(ThreadedRead, LeavesOutProblemsThatNobodyWouldRead) {
    const Bytes bytes = fat_binary(std::vector<Entry>(10050, {.bytes = bytes_of("no ELF")}));
    const Audit audit = audit_of(bytes);
    ASSERT_EQ(audit.problems.size(), 10001U);
    EXPECT_EQ(audit.problems.back().sentence, "50 more problems are left out");
}

QueuedImage of_bytes(uint64_t bytes) {
    QueuedImage image;
    image.bytes = bytes;
    return image;
}

TEST(ImageQueueOfThreads, WaitsUntilWhatIsReadIsReleased) {
    ImageQueue queue(100, 10);
    ASSERT_TRUE(queue.push(of_bytes(60)));
    std::atomic<bool> pushed = false;
    std::thread finder([&] {
        queue.push(of_bytes(60));
        pushed = true;
    });
    const auto first = queue.pop();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(pushed);
    queue.release(first->bytes);
    finder.join();
    EXPECT_TRUE(pushed);
}

TEST(ImageQueueOfThreads, TakesOneThatIsLargerThanAllRoomAlone) {
    ImageQueue queue(100, 10);
    EXPECT_TRUE(queue.push(of_bytes(1000)));
    queue.close();
    EXPECT_TRUE(queue.pop().has_value());
    EXPECT_FALSE(queue.pop().has_value());
    EXPECT_FALSE(queue.push(of_bytes(1)));
}

TEST(ImageQueueOfThreads, IsCountedWithWhatUnpackingTakes) {
    PackedImage packed;
    const Bytes stored(100);
    packed.image.bytes = stored;
    packed.unpacked_bytes = 100;
    EXPECT_EQ(bytes_in_flight(packed), 100U);
    packed.compression = Compression::kZstd;
    packed.unpacked_bytes = 900;
    packed.held_bytes = 7;
    EXPECT_EQ(bytes_in_flight(packed), 1007U);
    packed.unpacked_bytes = UINT64_MAX;
    EXPECT_EQ(bytes_in_flight(packed), 107 + kMostImageBytes);
}

}  // namespace
}  // namespace jali::audit::test
