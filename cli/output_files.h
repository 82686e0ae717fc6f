// The files that a subcommand writes: known to be writable before work begins, gone when it is interrupted.
#pragma once

#include <filesystem>

namespace jali::cli {

// A file that this process reads: require_writable() refuses to replace it.
void note_input(const std::filesystem::path& path);

// Throws FileError where `path` could not be written, is read by this process, or was already asked for. Remembers its
// folder for remove_temporaries_on_interrupt().
void require_writable(const std::filesystem::path& path);

// From here on SIGINT, SIGTERM and SIGHUP remove the unfinished files of this process from the folders that
// require_writable() has seen, and then end the process as they always do. Call once, before any thread starts.
void remove_temporaries_on_interrupt();

}  // namespace jali::cli
