// Installing through a pip that is a script.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "audit/assembler/fake_tools.h"
#include "audit/assembler/installed.h"
#include "jali/error.h"

namespace jali::audit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

// A wheel with an assembler in it, and a python3 whose pip "downloads" that.
class Installer : public testing::Test {
   protected:
    Installer() {
        make_wheel("99.1.7", "99.1.7");
        make_pip("echo \"$*\" >> " + quoted("calls") + "\ncp " + quoted("wheels") + "/*.whl \"$destination\"");
    }
    std::string quoted(const std::string& name) const { return "'" + (isolated_ / name).string() + "'"; }

    void make_wheel(const std::string& named, const std::string& says) {
        write_fake_ptxas(isolated_ / "made", says, "9.9", "");
        fs::remove_all(isolated_ / "wheels");
        fs::create_directory(isolated_ / "wheels");
        write_wheel(isolated_ / "wheels" / ("nvidia_cuda_nvcc-" + named + "-py3-none-any.whl"),
                    {{"nvidia/cu99/bin/nvcc", "not wanted"},
                     {"nvidia/cu99/bin/ptxas", test::read_text(isolated_ / "made/ptxas")},
                     {"nvidia/cu99/bin/nvlink", "#!/bin/sh\nexit 0\n"},
                     {"nvidia/cu99/ptxas", "in no bin folder"},
                     {"../../bin/evil", "outside"}});
    }
    // `download` sees $destination.
    void make_pip(const std::string& download) {
        write_script(isolated_.programs() / "python3", R"(case "$*" in
*"index versions"*) echo 'nvidia-cuda-nvcc (99.1.7)'; echo 'Available versions: 99.1.7, 98.0.3'; exit 0;;
esac
while [ $# -gt 0 ]; do if [ "$1" = --dest ]; then destination=$2; fi; shift; done
)" + download);
        // The script shifts its arguments away; keep them for the record.
        std::string text = test::read_text(isolated_.programs() / "python3");
        text.insert(text.find('\n') + 1, "arguments=\"$*\"\n");
        for (size_t at = text.find("echo \"$*\" >>"); at != std::string::npos; at = text.find("echo \"$*\" >>")) {
            text.replace(at, 9, "echo \"$arguments\"");
        }
        test::write_text(isolated_.programs() / "python3", text);
    }
    std::vector<std::string> installed_names() const {
        std::vector<std::string> names;
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(toolchains_folder(), error)) {
            if (entry.path().filename() != ".lock") names.push_back(entry.path().filename());
        }
        std::ranges::sort(names);
        return names;
    }

    Isolated isolated_;
};

TEST_F(Installer, PutsTheAssemblerIntoTheCache) {
    std::vector<std::string> steps;
    const Assembler assembler =
        install_assembler("99.1.7", [&](std::string_view step, int64_t) { steps.emplace_back(step); });
    EXPECT_EQ(assembler.version, "99.1.7");
    EXPECT_TRUE(assembler.installed_by_us);
    EXPECT_FALSE(assembler.altered);
    EXPECT_EQ(assembler.ptxas, isolated_ / "cache/toolchains/99.1.7/ptxas");
    EXPECT_EQ(find_assembler("99.1.7").ptxas, assembler.ptxas);
    EXPECT_TRUE(find_assembler("99.1.7").installed_by_us);
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(assembler.ptxas.parent_path())) {
        files.push_back(entry.path().filename());
    }
    EXPECT_THAT(files, testing::UnorderedElementsAre("nvlink", "ptxas", "toolchain.json"));
    EXPECT_THAT(steps, testing::Contains("fetching nvidia-cuda-nvcc"));
    EXPECT_THAT(installed_names(), ElementsAre("99.1.7"));
}

TEST_F(Installer, AsksPipForTheRightPackage) {
    install_assembler("99.1.7");
    EXPECT_THAT(test::read_text(isolated_ / "calls"), HasSubstr(" nvidia-cuda-nvcc==99.1.7\n"));
    EXPECT_THAT(test::read_text(isolated_ / "calls"), HasSubstr("-m pip"));
    EXPECT_THAT(test::read_text(isolated_ / "calls"), HasSubstr(" download --no-deps "));
    remove_assembler("99");
    install_assembler("99.1");
    EXPECT_THAT(test::read_text(isolated_ / "calls"), HasSubstr(" nvidia-cuda-nvcc==99.1.*\n"));
    EXPECT_THAT(test::message_of<Error>([] { install_assembler("12"); }),
                HasSubstr("asked for 12 and fetched 'nvidia"));
    EXPECT_THAT(test::read_text(isolated_ / "calls"), HasSubstr(" nvidia-cuda-nvcc-cu12==12.*\n"));
    EXPECT_THROW(install_assembler("11.8"), Error);
    EXPECT_THAT(test::read_text(isolated_ / "calls"), HasSubstr(" nvidia-cuda-nvcc-cu11==11.8.*\n"));
}

TEST_F(Installer, FetchesNothingTwice) {
    install_assembler("99.1.7");
    const std::string once = test::read_text(isolated_ / "calls");
    install_assembler("99.1.7");
    EXPECT_EQ(test::read_text(isolated_ / "calls"), once);
}

TEST_F(Installer, NoticesWhatWasAlteredAndDoesNotUseIt) {
    const Assembler assembler = install_assembler("99.1.7");
    const std::string whole = test::read_text(assembler.ptxas);
    test::write_text(assembler.ptxas, whole + "# altered\n");
    ASSERT_EQ(check_installed().size(), 1u);
    EXPECT_TRUE(check_installed()[0].altered);
    EXPECT_THAT(assemblers_below(isolated_.path()), ElementsAre());
    EXPECT_FALSE(install_assembler("99.1.7").altered);  // a new one in its place
    EXPECT_EQ(test::read_text(assembler.ptxas), whole);
    EXPECT_THAT(installed_names(), ElementsAre("99.1.7"));
    fs::remove(assembler.ptxas.parent_path() / "toolchain.json");
    EXPECT_TRUE(check_installed()[0].altered);
    EXPECT_EQ(remove_assembler("99.1.7").version, "99.1.7");
    EXPECT_THAT(installed_names(), ElementsAre());
}

TEST_F(Installer, SaysWhichVersionsThereAre) {
    make_pip(
        "echo 'ERROR: Could not find a version that satisfies the requirement x'\n"
        "echo 'ERROR: No matching distribution found for x'; exit 1");
    EXPECT_EQ(test::message_of<Error>([] { install_assembler("99.9"); }),
              "there is no nvidia-cuda-nvcc 99.9; there are 99.1.7, 98.0.3");
    EXPECT_THAT(installed_names(), ElementsAre());
}

TEST_F(Installer, FailsInPipsWords) {
    make_pip("echo 'WARNING: Retrying'; echo 'ERROR: Could not connect to the proxy'; exit 1");
    EXPECT_EQ(test::message_of<Error>([] { install_assembler("99"); }),
              "pip could not fetch nvidia-cuda-nvcc 99: Could not connect to the proxy");
    make_pip("echo 'Traceback'; echo 'OSError: broken'; exit 1");
    EXPECT_THAT(test::message_of<Error>([] { install_assembler("99"); }), testing::EndsWith(": OSError: broken"));
    make_pip("exit 0");
    EXPECT_THAT(test::message_of<Error>([] { install_assembler("99"); }), HasSubstr("pip fetched 0 wheels"));
}

TEST_F(Installer, SaysWhatIsMissing) {
    make_pip("echo '/usr/bin/python3: No module named pip'; exit 1");
    EXPECT_THAT(test::message_of<Error>([] { install_assembler("99"); }), HasSubstr("this python3 has none"));
    const ScopedVariable path("PATH", (isolated_ / "nowhere").string());
    EXPECT_THAT(test::message_of<Error>([] { install_assembler("99"); }), HasSubstr("install Python 3 with pip"));
}

TEST_F(Installer, TakesOnlyVersions) {
    for (const char* text : {"", "latest", "13.", "../13", "13.0.88 --index-url x", "13;x"}) {
        EXPECT_THAT(test::message_of<Error>([&] { install_assembler(text); }), HasSubstr("is no version")) << text;
    }
    EXPECT_THAT(test::message_of<Error>([] { install_assembler("9.1"); }), HasSubstr("no ptxas before 11"));
}

TEST_F(Installer, TakesNoWheelThatIsNot) {
    const fs::path wheel = isolated_ / "wheels/nvidia_cuda_nvcc-99.1.7-py3-none-any.whl";
    const std::string whole = test::read_text(wheel);
    test::write_text(wheel, "no zip file");
    EXPECT_THAT(test::message_of<Error>([] { install_assembler("99"); }), HasSubstr("cannot be read as a wheel"));
    write_wheel(wheel, {{"nvidia/cu99/bin/nvcc", "x"}});
    EXPECT_THAT(test::message_of<Error>([] { install_assembler("99"); }), HasSubstr("holds no bin/ptxas"));
    write_wheel(wheel, {{"a/bin/ptxas", "x"}, {"b/bin/ptxas", "y"}});
    EXPECT_THAT(test::message_of<Error>([] { install_assembler("99"); }), HasSubstr("more than one bin/ptxas"));
    write_wheel(wheel, {{"a/bin/ptxas", "no program"}});
    EXPECT_THAT(test::message_of<Error>([] { install_assembler("99"); }), HasSubstr("does not run on this machine"));
    std::string damaged = whole;
    damaged[damaged.find("#!/bin/sh") + 3] ^= 1;
    test::write_text(wheel, damaged);
    EXPECT_THAT(test::message_of<Error>([] { install_assembler("99"); }), HasSubstr("damaged"));
    make_wheel("99.1.7", "98.0.1");
    EXPECT_THAT(test::message_of<Error>([] { install_assembler("99"); }), HasSubstr("holds ptxas 98.0.1"));
    EXPECT_THAT(installed_names(), ElementsAre());
}

TEST_F(Installer, InterruptedLeavesNothingThatCounts) {
    make_pip("echo $$ > " + quoted("started") + "; sleep 1000");
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        try {
            install_assembler("99");
        } catch (const Error&) {
        }
        _exit(0);
    }
    std::string pip;
    for (int i = 0; i < 1000 && pip.find('\n') == std::string::npos; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        pip = test::read_text(isolated_ / "started");
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_THAT(check_installed(), ElementsAre());
    EXPECT_THAT(assemblers_below(isolated_.path()), ElementsAre());
    // The lock is free again, and pip has gone with its caller.
    make_pip("cp " + quoted("wheels") + "/*.whl \"$destination\"");
    EXPECT_EQ(install_assembler("99").version, "99.1.7");
    bool gone = false;
    for (int i = 0; i < 500 && !gone; ++i) {
        gone = test::read_text("/proc/" + std::to_string(std::stoi(pip)) + "/cmdline").empty();
        if (!gone) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(gone);
}

TEST_F(Installer, AtOnceFetchesOnce) {
    make_pip("echo x >> " + quoted("calls") + "; sleep 0.3; cp " + quoted("wheels") + "/*.whl \"$destination\"");
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            int status = 1;
            try {
                status = install_assembler("99.1.7").version == "99.1.7" ? 0 : 2;
            } catch (const Error&) {
            }
            _exit(status);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(test::read_text(isolated_ / "calls"), "x\n");
    EXPECT_THAT(installed_names(), ElementsAre("99.1.7"));
}

TEST_F(Installer, RemovesOnlyItsOwn) {
    EXPECT_EQ(test::message_of<Error>([] { remove_assembler("99"); }),
              "no ptxas 99 was installed by jali, nor any other");
    install_assembler("99.1.7");
    make_wheel("99.2.1", "99.2.1");
    install_assembler("99.2.1");
    EXPECT_THAT(test::message_of<Error>([] { remove_assembler("99"); }), HasSubstr("could mean each of 2 installed"));
    EXPECT_THAT(test::message_of<Error>([] { remove_assembler("98"); }), HasSubstr("(but 99.2.1, 99.1.7)"));
    EXPECT_EQ(remove_assembler("99.1").version, "99.1.7");
    EXPECT_THAT(installed_names(), ElementsAre("99.2.1"));
}

}  // namespace
}  // namespace jali::audit
