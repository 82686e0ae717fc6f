#include "io/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>
#include <utility>

#include "io/read_file.h"
#include "io/temporary_folder.h"
#include "jali/error.h"

namespace jali::io {
namespace {

using test::message_of;
using test::read_text;
using test::TemporaryFolder;
using test::write_text;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(AtomicFile, AppearsOnlyWhenItIsComplete) {
    const TemporaryFolder folder;
    const auto path = folder / "result";
    AtomicFile file(path);
    file.write("some ");
    file.write(std::string(3 << 20, 'x'));  // larger than the buffer
    file.write(" text");
    EXPECT_FALSE(std::filesystem::exists(path));
    file.commit();
    EXPECT_EQ(read_text(path), "some " + std::string(3 << 20, 'x') + " text");
    EXPECT_THAT(folder.names(), ElementsAre("result"));
}

TEST(AtomicFile, LeavesTheOldFileAndNoTemporaryWhenItIsAbandoned) {
    const TemporaryFolder folder;
    write_text(folder / "result", "old");
    {
        AtomicFile file(folder / "result");
        file.write(std::string(3 << 20, 'x'));
    }
    EXPECT_EQ(read_text(folder / "result"), "old");
    EXPECT_THAT(folder.names(), ElementsAre("result"));
}

TEST(AtomicFile, ReplacesAFileAndKeepsItsPermissions) {
    const TemporaryFolder folder;
    write_text(folder / "result", "old");
    ::chmod((folder / "result").c_str(), 0640);
    write_file(folder / "result", "new");
    EXPECT_EQ(read_text(folder / "result"), "new");
    struct stat status {};
    ASSERT_EQ(::stat((folder / "result").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0640U);
}

TEST(AtomicFile, WritesThroughASymbolicLink) {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "there");
    write_text(folder / "there/result", "old");
    std::filesystem::create_symlink("there/result", folder / "link");
    write_file(folder / "link", "new");
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
    EXPECT_EQ(read_text(folder / "there/result"), "new");
}

TEST(AtomicFile, TakesTheLongestName) {
    const TemporaryFolder folder;
    const std::string name(255, 'n');
    write_file(folder / name, "text");
    EXPECT_EQ(read_text(folder / name), "text");
}

TEST(AtomicFile, TwoWritersOfOneFileBothSucceed) {
    const TemporaryFolder folder;
    AtomicFile first(folder / "result"), second(folder / "result");
    first.write("first");
    second.write("second");
    second.commit();
    first.commit();
    EXPECT_EQ(read_text(folder / "result"), "first");
}

TEST(AtomicFile, RefusesADirectory) {
    const TemporaryFolder folder;
    const std::string name = folder.path().string();
    EXPECT_EQ(message_of<FileError>([&] { AtomicFile file(folder.path()); }),
              "cannot write '" + name + "': it is a directory, expected a file");
    EXPECT_EQ(message_of<FileError>([&] { AtomicFile file(name + "/"); }),
              "cannot write '" + name + "/': it names no file");
    EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(AtomicFile, RefusesToReplaceADevice) {
    EXPECT_EQ(message_of<FileError>([] { AtomicFile file("/dev/null"); }),
              "cannot write '/dev/null': it is a device, pipe or socket, expected a file");
}

TEST(AtomicFile, RefusesAFolderThatIsMissing) {
    const TemporaryFolder folder;
    const std::string name = (folder / "missing/result").string();
    EXPECT_EQ(message_of<FileError>([&] { AtomicFile file(name); }),
              "cannot write '" + name + "': No such file or directory");
}

TEST(AtomicFile, RefusesAFolderThatMayNotBeWritten) {
    const TemporaryFolder folder;
    write_text(folder / "result", "old");
    ::chmod(folder.path().c_str(), 0555);
    const bool is_root = ::geteuid() == 0;  // to whom permissions do not apply
    ASSERT_EQ(is_root ? ::seteuid(65534) : 0, 0);
    const std::string message = message_of<FileError>([&] { write_file(folder / "result", "new"); });
    ASSERT_EQ(is_root ? ::seteuid(0) : 0, 0);
    ::chmod(folder.path().c_str(), 0755);
    EXPECT_EQ(message, "cannot write '" + (folder / "result").string() + "': Permission denied");
    EXPECT_EQ(read_text(folder / "result"), "old");
}

TEST(AtomicFile, AFullDiskLeavesTheOldFileAndNoTemporary) {
    TemporaryFolder folder;
    if (!folder.mount_disk(1 << 16)) GTEST_SKIP() << "this process may not mount a small disk";
    write_text(folder / "result", "old");
    const std::string message =
        message_of<FileError>([&] { write_file(folder / "result", std::string(1 << 20, 'x')); });
    EXPECT_THAT(message,
                StartsWith("cannot write '" + (folder / "result").string() + "': No space left on device after "));
    EXPECT_EQ(read_text(folder / "result"), "old");
    EXPECT_THAT(folder.names(), ElementsAre("result"));
    write_file(folder / "result", "new");  // the space is free again
    EXPECT_EQ(read_text(folder / "result"), "new");
}

// Runs `call` in a child process and returns how that ended, as waitpid tells it.
template <class Call>
int in_child(Call call) {
    const pid_t child = ::fork();
    if (child == 0) {
        call();
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
}

TEST(AtomicFile, ALimitOnFileSizesLeavesTheOldFileAndNoTemporary) {
    const TemporaryFolder folder;
    write_text(folder / "result", "old");
    const std::string expected = "cannot write '" + (folder / "result").string() + "': File too large after 4096 bytes";
    const int status = in_child([&] {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{4096, 4096};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        try {
            write_file(folder / "result", std::string(1 << 20, 'x'));
        } catch (const FileError& error) {
            ::_exit(error.what() == expected ? 7 : 8);
        }
    });
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 7);
    EXPECT_EQ(read_text(folder / "result"), "old");
    EXPECT_THAT(folder.names(), ElementsAre("result"));
}

TEST(AtomicFile, AKilledProcessLeavesTheOldFile) {
    const TemporaryFolder folder;
    write_text(folder / "result", "old");
    const int status = in_child([&] {
        AtomicFile file(folder / "result");
        file.write(std::string(5 << 20, 'x'));
        ::raise(SIGKILL);
    });
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(read_text(folder / "result"), "old");
    write_file(folder / "result", "new");  // what the dead process left is in nobody's way
    EXPECT_EQ(read_text(folder / "result"), "new");
}

TEST(ReadFile, ReadsFilesOfAnySize) {
    const TemporaryFolder folder;
    for (const size_t size : {size_t{0}, size_t{1}, size_t{4096}, size_t{1} << 20}) {
        const std::string text(size, 'a');
        write_text(folder / "file", text);
        const std::vector<uint8_t> bytes = read_file(folder / "file");
        EXPECT_EQ(std::string(bytes.begin(), bytes.end()), text);
        const MappedFile mapped(folder / "file");
        EXPECT_EQ(std::string(mapped.bytes().begin(), mapped.bytes().end()), text);
    }
}

TEST(ReadFile, ReadsAPipe) {
    const TemporaryFolder folder;
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    const std::string text(200'000, 'p');
    for (const bool mapped : {false, true}) {
        const pid_t writer = ::fork();
        if (writer == 0) {
            write_text(folder / "pipe", text);
            ::_exit(0);
        }
        std::string result;
        if (mapped) {
            // Moved, and what it was moved from gone: what was read must have moved along.
            auto read = std::make_unique<MappedFile>(folder / "pipe");
            const MappedFile file(std::move(*read));
            read.reset();
            result.assign(file.bytes().begin(), file.bytes().end());
        } else {
            const std::vector<uint8_t> bytes = read_file(folder / "pipe");
            result.assign(bytes.begin(), bytes.end());
        }
        ::waitpid(writer, nullptr, 0);
        EXPECT_TRUE(result == text);  // not printed: it is long
    }
}

TEST(ReadFile, BytesStayWhereTheyAreWhenAMappingMoves) {
    const TemporaryFolder folder;
    write_text(folder / "file", "mapped");
    MappedFile first(folder / "file");
    const uint8_t* where = first.bytes().data();
    MappedFile second(std::move(first));
    EXPECT_EQ(second.bytes().data(), where);
    EXPECT_EQ(std::string(second.bytes().begin(), second.bytes().end()), "mapped");
}

TEST(ReadFile, RefusesWhatIsMissingOrADirectory) {
    const TemporaryFolder folder;
    const std::string missing = (folder / "missing").string(), name = folder.path().string();
    EXPECT_EQ(message_of<FileError>([&] { read_file(missing); }),
              "cannot read '" + missing + "': No such file or directory");
    EXPECT_EQ(message_of<FileError>([&] { read_file(name); }), "cannot read '" + name + "': Is a directory");
    EXPECT_EQ(message_of<FileError>([&] { MappedFile file(missing); }),
              "cannot read '" + missing + "': No such file or directory");
    EXPECT_EQ(message_of<FileError>([&] { MappedFile file(name); }), "cannot read '" + name + "': Is a directory");
}

}  // namespace
}  // namespace jali::io
