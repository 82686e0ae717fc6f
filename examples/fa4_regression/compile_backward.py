"""Compiles FlashAttention-4's SM100 backward for one mask to PTX, from the shapes alone: no tensor has memory and
nothing is launched, so no GPU is needed. make_ptx.py runs it in the environment of each toolchain:

    compile_backward.py (document | window | causal) DUMP_FOLDER

The shapes are those of the public report: batch 1, 16 heads, 32,768 tokens, head dimension 128, bf16, blocks of 256
queries by 128 keys. The two block-sparse masks are written as flex attention's FLASH backend writes them.
"""

import importlib.util
import operator
import os
import pathlib
import sys

HEADS, TOKENS, HEAD_DIMENSION = 16, 32768, 128
QUERY_BLOCK, KEY_BLOCK = 256, 128
WINDOW = 1024

# Read by the DSL and by flash_attn when they are imported, so set before that.
TARGET_WITHOUT_A_GPU = {
    "CUTE_DSL_ARCH": "sm_100a",
    "FLASH_ATTENTION_ARCH": "sm_100",
    "FLASH_ATTENTION_NUM_SMS": "148",
    "FLASH_ATTENTION_FAKE_TENSOR": "1",
}
# Both spellings: the older DSL knows one variable a kind, the newer one a list. No cache, or nothing is dumped.
DUMP = {
    "CUTE_DSL_KEEP": "ptx,cubin",
    "CUTE_DSL_KEEP_PTX": "1",
    "CUTE_DSL_KEEP_CUBIN": "1",
    "CUTE_DSL_NO_CACHE": "1",
    "CUTE_DSL_DISABLE_FILE_CACHING": "1",
}


def pretend_a_blackwell_gpu(torch):
    torch.cuda.get_device_capability = lambda device=None: (10, 0)
    torch.cuda.current_device = lambda: 0


def flex_attention_helper(name):
    """One function of the module that flex attention's generated masks call, without importing all of Inductor."""
    torch_folder = pathlib.Path(importlib.util.find_spec("torch").submodule_search_locations[0])
    path = torch_folder / "_inductor" / "codegen" / "cutedsl" / "_cutedsl_utils.py"
    spec = importlib.util.spec_from_file_location("flex_attention_helpers", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def masks(cutlass, cute):
    """The report's two mask_mods, over vectors of indices."""
    to_fragment = flex_attention_helper("ssa_to_fragment")

    @cute.jit
    def look_up(table, indices):
        positions = to_fragment(indices, cutlass.Int32)
        found = cute.make_rmem_tensor(cute.size(positions.shape), cutlass.Int64)
        for i in cutlass.range(cute.size(found.shape), unroll_full=True):
            found[i] = table[positions[i]]
        return found.load()

    @cute.jit
    def document(b, h, q, kv, seqlen_info, aux_tensors, aux_scalars=None):
        ids = aux_tensors[0]
        return operator.eq(look_up(ids, q), look_up(ids, kv)) & operator.ge(q, kv)

    @cute.jit
    def window(b, h, q, kv, seqlen_info, aux_tensors, aux_scalars=None):
        behind = q - kv
        return operator.ge(q, kv) & operator.lt(behind, cute.full_like(behind, WINDOW))

    return {"document": document, "window": window}


def without_other_kernels(interface):
    """The backward's small companions would be compiled too; only the main kernel is wanted."""
    for companion in ("_bwd_preprocess", "_bwd_postprocess_convert"):
        if hasattr(interface, companion):
            setattr(interface, companion, lambda *positional, **named: None)


def compile_backward(case):
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    pretend_a_blackwell_gpu(torch)
    import cutlass
    import cutlass.cute as cute
    from flash_attn.cute import interface
    from flash_attn.cute.block_sparsity import BlockSparseTensorsTorch

    without_other_kernels(interface)

    def tensor(*shape, dtype=torch.bfloat16):
        return torch.empty(*shape, dtype=dtype, device="cuda")

    def block_lists():
        query_blocks, key_blocks = TOKENS // QUERY_BLOCK, TOKENS // KEY_BLOCK
        partial_and_full = []
        for _ in range(2):
            partial_and_full.append(tensor(1, 1, key_blocks, dtype=torch.int32))
            partial_and_full.append(tensor(1, 1, key_blocks, query_blocks, dtype=torch.int32))
        return BlockSparseTensorsTorch(*partial_and_full, block_size=(QUERY_BLOCK, KEY_BLOCK))

    with FakeTensorMode():
        # As flex attention hands them over: (batch, heads, tokens, dimension) in memory, tokens before heads in shape.
        q, k, v, out, dout, dq, dk, dv = (tensor(1, HEADS, TOKENS, HEAD_DIMENSION).transpose(1, 2) for _ in range(8))
        lse = tensor(1, HEADS, TOKENS, dtype=torch.float32)
        if case == "causal":
            mask = {"causal": True}
        else:
            document_ids = [tensor(TOKENS, dtype=torch.int64)] if case == "document" else None
            mask = {
                "mask_mod": masks(cutlass, cute)[case],
                "aux_tensors": document_ids,
                "block_sparse_tensors": block_lists(),
            }
        interface._flash_attn_bwd(q, k, v, out, dout, lse, dq=dq, dk=dk, dv=dv, **mask)


def main():
    case, dump_folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    if case not in ("document", "window", "causal"):
        sys.exit(f"there is no case '{case}': document, window, causal")
    dump_folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(TARGET_WITHOUT_A_GPU, **DUMP, CUTE_DSL_DUMP_DIR=str(dump_folder))
    os.chdir(dump_folder)
    # The DSL reads the source of jitted functions, so this file's path must stay good after chdir: it is absolute.
    compile_backward(case)


if __name__ == "__main__":
    main()
