// What a compiler did to CUDA kernels, read from PTX, cubins and everything that carries them; no GPU and no NVIDIA
// tool is needed. Bytes and counts are static: what the code holds, not what a launch executes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace jali::audit {

// Instructions and the bytes that one thread moves with them.
struct Traffic {
    int64_t stores = 0, loads = 0;
    int64_t store_bytes = 0, load_bytes = 0;

    friend bool operator==(const Traffic&, const Traffic&) = default;
};

// How the spills of a kernel were told from other local memory accesses.
enum class SpillSource {
    kAnnotations,  // the assembler lists each spill (attribute 0x55 of .nv.info.<kernel>): exact
    kOpcodes,      // local loads and stores by the stack pointer, of bytes that are both stored and loaded so
};
std::string_view name_of(SpillSource source);  // "annotations", "opcodes"

// A line of a source file.
struct SourceLine {
    std::string file;
    int64_t line = 0;
    std::string function;  // demangled; empty where the tables do not say

    friend bool operator==(const SourceLine&, const SourceLine&) = default;
};

struct SpillSite {
    int64_t offset = 0;  // of the instruction, in bytes from the start of the kernel's code
    bool is_store = false;
    bool in_shared_memory = false;   // spilled to shared memory rather than local
    int64_t bytes = 0;               // a thread
    int64_t slot = 0;                // byte offset of the stack slot, where known; -1 otherwise
    int64_t loop_depth = -1;         // 0 outside of every loop; -1 unknown (unreachable code)
    int64_t role = -1;               // index into Kernel::roles; -1 unknown
    int64_t ptx_line = 0;            // one-based line of Kernel::ptx_text or of the PTX read; 0 unknown
    std::vector<SourceLine> source;  // innermost first, then where it was inlined into; empty without line information
};

struct Loop {
    int64_t begin = 0, end = 0;  // bytes of code, from the header to past the last jump back to it
    int64_t depth = 1;
    bool innermost = false;
    int64_t instructions = 0, branches = 0;  // of its blocks, inner loops included; BRA, CALL, EXIT and their like
    int64_t role = -1;
    Traffic spills;
};

// The code between two changes of the register budget (setmaxnreg): what one kind of warp executes.
struct Role {
    int64_t registers = 0;  // the budget that setmaxnreg sets; the kernel's registers before any
    int64_t begin = 0;      // offset of its first instruction
    int64_t instructions = 0;
    Traffic spills;
};

// Instructions by kind. A kind is what the machine does, not the mnemonic: IMAD.MOV is a move. The counters up to
// `unknown` add up to the total; those of IMAD count again what is among them.
struct InstructionMix {
    int64_t total = 0;
    int64_t matrix = 0;        // HMMA, IMMA, QMMA, HGMMA, UTCHMMA ... : products of tiles
    int64_t async_copies = 0;  // UTMALDG, UBLKCP, LDGSTS, UTCCP ...: TMA and other asynchronous copies
    int64_t special = 0;       // MUFU
    // Loads, stores, atomics by memory. Generic addresses, textures and surfaces count as global; tensor memory is that
    // of sm_100: LDTM, STTM.
    int64_t shared = 0, global = 0, local = 0, constant = 0, tensor_memory = 0;
    int64_t barriers = 0;  // BAR, SYNCS, DEPBAR, WARPGROUP, WARPSYNC, fences
    int64_t branches = 0;  // BRA, BRX, CALL, RET, EXIT, BSSY, BSYNC ...
    int64_t moves = 0;     // MOV, IMAD.MOV, UMOV, R2UR, S2R, SHFL ...
    int64_t conversions = 0;
    int64_t floats = 0, integers = 0, predicates = 0;  // the rest of the arithmetic; predicates: SETP, PLOP3 ...
    int64_t logic = 0;                                 // LOP3, SHF, PRMT, IMAD.SHL
    int64_t others = 0;                                // NOP, CCTL, NANOSLEEP, USETMAXREG ...
    int64_t unknown = 0;                               // opcodes that this reader has no name for
    int64_t imad_mov = 0, imad_shl = 0, imad_iadd = 0, imad_wide = 0, imad = 0;  // IMAD apart; `imad`: true products
};

// Instructions between a load and the first that waits for its result, in the order of the code; behind the end of a
// loop it begins anew. Loads whose result nothing waits for are not among them.
struct LoadDistance {
    int64_t loads = 0;
    int64_t median = 0;
    int64_t under_8 = 0;
};

// Whether the assembler made wgmma wait one by one, which costs 11 to 26 % with no spill at all.
enum class Serialisation {
    kNone,
    kNoted,     // the assembler said so: C7510 to C7515
    kObserved,  // a wait after every wgmma, where it was not seen assembling
};
std::string_view name_of(Serialisation serialisation);  // "none", "noted", "observed"

struct Kernel {
    std::string name;  // as in the file
    std::string demangled;
    std::string origin;     // the path, and inside archives "wheel.whl!lib.so!fatbin 3"
    std::string arch;       // "sm_90a"
    std::string assembler;  // "ptxas 13.0.88" where the file says
    std::string options;    // the assembler's option string where the file says

    int64_t registers = 0;      // a thread
    int64_t threads_bound = 0;  // .maxntid or .reqntid; 0 none
    int64_t static_shared_bytes = 0;
    int64_t dynamic_shared_bytes = -1;  // what the launch adds; -1 unknown
    int64_t barriers = 0;
    int64_t stack_bytes = 0;        // the frame: arrays and spills
    int64_t array_bytes = 0;        // of the frame: local arrays; with the opcode route an estimate
    int64_t spill_frame_bytes = 0;  // of the frame: spill slots
    int64_t code_bytes = 0;
    std::string code_sha256;  // of the instructions

    Traffic spills;           // to local memory, as `ptxas -v` counts them
    Traffic spills_weighted;  // each site times 10^loop_depth (at most 10^4)
    Traffic shared_spills;    // to shared memory (.pragma "enable_smem_spilling"); in no other total
    SpillSource spill_source = SpillSource::kAnnotations;
    std::vector<SpillSite> spill_sites;  // by offset

    InstructionMix mix;
    std::vector<Loop> loops;  // by begin
    std::vector<Role> roles;  // by begin; one where there is no setmaxnreg
    LoadDistance global_loads, shared_loads;
    Serialisation serialisation = Serialisation::kNone;
    std::vector<std::string> notes;  // the assembler's own, where it ran: "C7510: ..."

    std::string ptx_text;  // where the file embeds it or it was read; empty otherwise
};

// Something that could not be read. The rest is still reported.
struct Problem {
    std::string origin;
    std::string sentence;  // with the offset
};

struct Audit {
    std::vector<Kernel> kernels;  // in the order of the files
    std::vector<Problem> problems;
    int64_t ptx_images = 0;    // images that hold PTX only, which need an assembler
    int64_t other_images = 0;  // of fat binaries: link-time and other intermediate code, which nothing here reads
    int64_t old_images = 0;    // for what is older than sm_80; not read
};

struct ReadOptions {
    std::string arch;           // only this architecture ("sm_90a"); empty: all
    std::string name_contains;  // only kernels whose name or demangled name contains this
    int64_t threads = 0;        // 0: as many as the process may use
    bool keep_ptx_text = false;
    // Called from one thread at a time with the number of images read and found so far.
    std::function<void(int64_t read, int64_t found)> progress;
};

// Reads the kernels of a cubin, fat binary, host object, archive, executable, shared library, Python wheel or a
// directory of any of these. PTX is counted, not assembled (see assemble()). What cannot be read becomes a problem;
// only a path that does not exist or cannot be opened throws FileError.
Audit read(const std::filesystem::path& path, const ReadOptions& options = {});
// The kernels of one cubin in memory. Throws FileError.
std::vector<Kernel> read_cubin(std::span<const uint8_t> bytes, const std::string& origin,
                               const ReadOptions& options = {});

// --- Images as files ---

struct UnpackOptions {
    bool ptx = true, cubins = true;
    std::string arch;        // only images of this architecture ("sm_90a", PTX of it also); empty: all
    int64_t most_bytes = 0;  // of an image; 0: no bound
};
struct Unpacked {
    std::vector<std::filesystem::path> files;  // in the order of the images
    std::vector<Problem> problems;
};
// Writes the PTX and the cubins of a path, unpacked, into a folder, which is made where there is none:
// "0012.sm_90a.cubin", "0013.sm_120.ptx", numbered in the order that they are found in. Throws FileError where `path`
// does not exist or cannot be opened, or a file cannot be written.
Unpacked unpack_images(const std::filesystem::path& path, const std::filesystem::path& folder,
                       const UnpackOptions& options = {});

// --- Theoretical occupancy ---

struct Device {
    std::string name;                                                                                    // "H200"
    std::string arch;                                                                                    // "sm_90"
    int64_t registers = 65536, shared_bytes = 0, shared_bytes_a_block = 0, threads = 2048, blocks = 32;  // of an SM
    int64_t register_allocation = 256, reserved_shared_bytes = 1024;
};
std::vector<Device> devices();  // that Jali knows

struct Occupancy {
    int64_t blocks = 0, warps = 0;  // of an SM
    double share = 0;               // of the warps it can hold
    std::string limit;              // "registers", "shared memory", "threads", "blocks"

    friend bool operator==(const Occupancy&, const Occupancy&) = default;
};
// Nothing where the machine code does not run on the device or a block does not fit. `threads` a block: 0 takes
// threads_bound. As cuda_occupancy.h of the CUDA toolkit computes it, with the largest carve-out for shared memory.
std::optional<Occupancy> occupancy(const Kernel& kernel, const Device& device, int64_t threads = 0,
                                   int64_t dynamic_shared_bytes = 0);

}  // namespace jali::audit
