// jali audit unpack: the device code of a path as files.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/audit/command.h"
#include "cli/audit/report_files.h"
#include "cli/console.h"
#include "jali/audit.h"
#include "jali/error.h"

namespace jali::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  jali audit unpack libflash.so --out images
      images/0000.sm_90a.cubin, images/0001.sm_120.ptx ...: every cubin and PTX text, unpacked.
  jali audit unpack flash.whl --out images --ptx --most-bytes 1000000
      PTX only, none of more than a million bytes.
)";

struct Options {
    std::string path, folder;
    bool ptx = false, cubins = false;
    audit::UnpackOptions unpacking;
};

int run(Options options) {
    if (options.folder.empty()) throw Error("--out FOLDER is needed");
    if (options.unpacking.most_bytes < 0) {
        throw Error(fmt::format("--most-bytes is {} but must not be negative", options.unpacking.most_bytes));
    }
    options.unpacking.ptx = options.ptx || !options.cubins;
    options.unpacking.cubins = options.cubins || !options.ptx;
    const audit::Unpacked unpacked = audit::unpack_images(options.path, options.folder, options.unpacking);
    print(fmt::format("wrote {} to {}\n", plural(std::ssize(unpacked.files), "file"), options.folder));
    complain_of(unpacked.problems);
    return unpacked.problems.empty() ? kFine : kCheckFailed;
}

}  // namespace

void add_audit_unpack_command(CLI::App& audit, Command& chosen) {
    const auto options = std::make_shared<Options>();
    CLI::App& command = *audit.add_subcommand("unpack", "Write the cubins and PTX of a path as files");
    command.add_option("path", options->path, "Fat binary, object, library, wheel or folder")
        ->required()
        ->type_name("PATH");
    command.add_option("--out", options->folder, "The folder, made where there is none")->type_name("FOLDER");
    command.add_flag("--ptx", options->ptx, "PTX only");
    command.add_flag("--cubins", options->cubins, "Cubins only");
    command.add_option("--arch", options->unpacking.arch, "Only images for this architecture: sm_90a")
        ->type_name("ARCH");
    command.add_option("--most-bytes", options->unpacking.most_bytes, "Leave out images that are larger")
        ->type_name("N");
    command.footer(kExamples);
    command.callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace jali::cli
