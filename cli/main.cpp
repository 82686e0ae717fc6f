// The jali command.
#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#ifdef JALI_HAS_AUDIT
#include "cli/audit/command.h"
#endif
#include "cli/command.h"
#include "cli/console.h"
#include "cli/output_files.h"
#include "jali/error.h"

namespace jali::cli {

namespace {

constexpr const char* kExamples = R"(Start here:
  jali demo --out demo
      The mask of 18 packed documents, attention forward and backward, checked.
  jali mask "q >= kv" --q-len 4096 --picture
      Any mask, as numbers and as a picture.
  jali mask --help
      Each subcommand teaches itself by example.

Exit codes: 0 fine, 1 the check failed, 2 bad usage or input.
)";

constexpr size_t kHelpColumn = 28;

// CLI11's help without the lists of what excludes what, which the sentences say.
class HelpFormatter : public CLI::Formatter {
   public:
    std::string make_option_opts(const CLI::Option* option) const override {
        return option->get_type_name().empty() ? "" : " " + option->get_type_name();
    }
    std::string make_option_desc(const CLI::Option* option) const override {
        const std::string value = option->get_default_str();
        return option->get_description() + (value.empty() ? "" : " (default: " + value + ")");
    }
};

// Says what is wrong in one sentence and returns the exit code for it.
int complain(const std::string& sentence) {
    fmt::print(stderr, "jali: {}\n", sentence_of(sentence));
    return kBadInput;
}

// CLI11's messages, begun and ended as ours are.
std::string message_of(const CLI::ParseError& error) {
    std::string sentence = error.what();
    while (!sentence.empty() && (sentence.back() == '\n' || sentence.back() == '.')) sentence.pop_back();
    if (sentence.size() > 1 && std::isupper(static_cast<unsigned char>(sentence[0])) != 0 &&
        std::islower(static_cast<unsigned char>(sentence[1])) != 0) {
        sentence[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(sentence[0])));
    }
    return sentence;
}

// A predicate that begins with a minus looks like an option. A space in front of it, which the language allows, tells
// them apart. Values of options are left alone, and so is everything that could be an option's name.
std::vector<std::string> with_marked_predicates(int argc, char** argv) {
    std::vector<std::string> arguments(argv, argv + argc);
    for (size_t i = 1; i < arguments.size(); ++i) {
        std::string& argument = arguments[i];
        const bool is_value = arguments[i - 1].starts_with("--") && arguments[i - 1].find('=') == std::string::npos;
        const bool looks_computed = argument.find_first_of(" <>()[+*") != std::string::npos;
        if (!is_value && argument.size() > 1 && argument[0] == '-' && argument[1] != '-' && looks_computed) {
            argument.insert(0, " ");
        }
    }
    return arguments;
}

// Reads the command line into `chosen`; returns an exit code where nothing is left to do.
std::optional<int> parse(CLI::App& app, int argc, char** argv) {
    try {
        std::vector<std::string> arguments = with_marked_predicates(argc, argv);
        std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them, without the program
        arguments.pop_back();
        app.parse(std::move(arguments));
        return std::nullopt;
    } catch (const CLI::CallForHelp&) {
        print(app.help());  // of the subcommand, where one is chosen
        return kFine;
    } catch (const CLI::CallForVersion& version) {
        print(std::string(version.what()) + "\n");
        return kFine;
    } catch (const CLI::ParseError& error) {
        const auto subcommands = app.get_subcommands();
        if (subcommands.empty() && argv[1][0] != '-') {
            return complain(fmt::format("there is no subcommand '{}' (jali --help lists them)", argv[1]));
        }
        const std::string command = subcommands.empty() ? "jali" : "jali " + subcommands.front()->get_name();
        return complain(fmt::format("{} ({} --help shows examples)", message_of(error), command));
    }
}

int run(int argc, char** argv) {
    CLI::App app("Exact attention under any mask, forward and backward.", "jali");
    app.require_subcommand(1);
    app.set_version_flag("--version", "jali " JALI_VERSION);
    app.formatter(std::make_shared<HelpFormatter>());
    app.get_formatter()->column_width(kHelpColumn);
    app.footer(kExamples);
    Command chosen;
    add_mask_command(app, chosen);
    add_run_command(app, chosen);
    add_check_command(app, chosen);
    add_bench_command(app, chosen);
    add_info_command(app, chosen);
    add_demo_command(app, chosen);
    add_audit_command(app, chosen);
#ifdef JALI_HAS_AUDIT
    add_toolchain_command(app, chosen);
#endif
    if (argc < 2) {
        fmt::print(stderr, "{}", app.help());
        return kBadInput;
    }
    const std::optional<int> done = parse(app, argc, argv);
    return done ? *done : chosen();
}

}  // namespace

}  // namespace jali::cli

int main(int argc, char** argv) {
    signal(SIGPIPE, SIG_IGN);  // a reader that leaves is no error: see print()
    try {
        jali::cli::remove_temporaries_on_interrupt();
        return jali::cli::run(argc, argv);
    } catch (const std::bad_alloc&) {
        return jali::cli::complain("there is not enough memory for this; jali info shows how much there is");
    } catch (const std::exception& error) {
        return jali::cli::complain(error.what());
    }
}
