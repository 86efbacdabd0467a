"""machine_code.py CUOBJDUMP NVDISASM OBJECT...: the machine code for sm_90 that nvcc's objects hold.

No kernel uses local memory: nothing is spilled, and no array is indexed by what is not known before the kernel runs.
Kernels that do little but move memory, those of HOT, load and store f32 and 16-bit floats 16 bytes at a time, and
beside it neither divide nor call a routine that their rows do not name. Prints SKIPPED where no object has code for
sm_90.
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

# Tables of files, kernels with their template arguments (regular expressions of the whole), and what is said of them.

# Kernels that need local memory, and why.
LOCAL_MEMORY = [
    ("fused_elementwise.cu", "run_program<.*>", "it interprets a program whose instructions number their operands"),
    ("random.cu", "fill_randomly<Normal<.*>", "CUDA's sine reduces large doubles with an array"),
]


class Hot(NamedTuple):
    """What the code of a kernel holds where it moves memory.

    A loop is a backward branch; those that count are innermost and touch global memory. `loops` says of them:
    `packed`: each moves 16 bytes at a time; `mixed`: so do those for what 16 bytes divide, and others follow for the
    rest; `rest`: they are only for the rest, as each thread moves one pack outside of loops.
    """

    file: str
    kernel: str
    loops: str
    loads: int  # of 16 bytes, at least: loops that are `mixed`, or else instructions outside of loops
    stores: int
    divides: tuple = ()  # routines that it calls, without __cuda_sm20_; "rcp": it divides without one
    index_bits: int = 0  # other memory that loops may move, of so many bits


FLOAT = "(float|BFloat16|Float16)"
HALF = "(BFloat16|Float16)"
V = "[48]"  # elements in 16 bytes
DIVIDE, ROOT = "div_rn_noftz_f32", "sqrt_rn_f32"
WAITING = ("rem_u64",)  # the row of an element, where rows wait for a gradient

HOT = [
    # Eight elements have a byte of a mask.
    Hot("batch_norm_.*", "map_columns<8, .*>", "packed", 0, 0, (), 8),
    Hot("batch_norm_.*", "map_columns<4, .*>", "packed", 0, 0),
    Hot("batch_norm_grad.cu", "fold_columns<.*, 8, Operands<.*>", "packed", 0, 0, (), 8),
    Hot("batch_norm_grad.cu", "fold_columns<.*, 4, Operands<.*>", "packed", 0, 0),
    # 1 / count, once for the columns of a pack.
    Hot("batch_norm_train.cu", f"fold_columns<.*, {V}, MatrixElements<.*>", "packed", 0, 0, ("rcp_rn_f32",)),
    Hot("softmax.cu", f"softmax_rows<.*, {FLOAT}>", "mixed", 3, 1),
    Hot("avg_pool.cu", f"pool_averages<{V}, .*>", "packed", 0, 1),
    # Each share is a quotient that rounds as the CPU's.
    Hot("avg_pool.cu", f"pool_averages_grad<{V}, .*>", "packed", 0, 1, (DIVIDE,)),
    Hot("max_pool.cu", f"pool_maxima<{V}, .*>", "packed", 0, 1),
    Hot("max_pool.cu", "pool_maxima_grad<4, .*, unsigned char>", "packed", 0, 1, (), 32),
    Hot("max_pool.cu", "pool_maxima_grad<8, .*, unsigned char>", "packed", 0, 1, (), 64),
    Hot("max_pool.cu", f"pool_maxima_grad<{V}, .*, int>", "packed", 0, 1),
    # The place in a row, of 64 bits: a division of 32 bits where the number has no more.
    Hot("bias_activation.cu", f"bias_activation<.*, {V}>", "packed", 2, 1, ("rem_s64",)),
    Hot("cast.cu", f"elementwise_flat<.*, {HALF}, float>", "rest", 1, 2),
    Hot("cast.cu", f"elementwise_flat<.*, float, {HALF}>", "rest", 1, 0),
    Hot("cast.cu", f"elementwise_flat<.*, ({HALF}, {HALF}|float, float)>", "rest", 1, 1),
    Hot("cast.cu", f"cast_all<{HALF}, float>", "rest", 1, 2),
    Hot("cast.cu", f"cast_all<float, {HALF}>", "rest", 1, 0),
    # The results of these are rounded as the CPU's.
    Hot("elementwise_unary.cu", f"elementwise_flat<functor::(Reciprocal|Sigmoid|GeluByTanh), {FLOAT}, .*>", "rest",
        1, 1, ("rcp_rn_f32",)),
    Hot("elementwise_unary.cu", f"elementwise_flat<functor::Rsqrt, {FLOAT}, .*>", "rest", 1, 1, ("rcp_rn_f32", ROOT)),
    Hot("elementwise_unary.cu", f"elementwise_flat<functor::Sqrt, {FLOAT}, .*>", "rest", 1, 1, (ROOT,)),
    Hot("elementwise_unary.cu", f"elementwise_flat<functor::Tanh, {FLOAT}, .*>", "rest", 1, 1, ("rcp",)),
    Hot("elementwise_unary.cu", f"elementwise_flat<.*, {FLOAT}, .*>", "rest", 1, 1),
    Hot("elementwise_binary.cu", f"elementwise_flat<functor::Div, {FLOAT}, .*>", "rest", 2, 1, (DIVIDE,)),
    Hot("elementwise_binary.cu", f"elementwise_flat<functor::GeluByTanhGrad, {FLOAT}, .*>", "rest", 2, 1,
        ("rcp_rn_f32",)),
    Hot("elementwise_binary.cu", f"elementwise_flat<functor::Pow, {FLOAT}, .*>", "rest", 2, 1, ("rcp",)),
    Hot("elementwise_binary.cu", f"elementwise_flat<.*, {FLOAT}, .*>", "rest", 2, 1),
    Hot("elementwise_compare.cu", f"elementwise_flat<functor::Where, {FLOAT}, .*>", "rest", 2, 1),
    Hot("elementwise_compare.cu", f"elementwise_flat<.*, {FLOAT}, bool>", "rest", 2, 0),
    # Rules divide as on the CPU.
    Hot("clip_update.cu", f"clip<{FLOAT}>", "rest", 1, 1),
    Hot("moving_average_update.cu", f"average<{FLOAT}>", "rest", 2, 1, ("div_rn_f64_full",)),
    Hot("lamb_update.cu", f"lamb_moments<{FLOAT}, .*>", "rest", 4, 2, (DIVIDE, ROOT)),
    Hot("lamb_update.cu", f"lamb_apply<{FLOAT}, .*>", "rest", 3, 1, (DIVIDE, ROOT)),
    Hot("updates.cu", f"update_all<{FLOAT}, update::Sgd<.*>", "rest", 2, 1, WAITING),
    Hot("updates.cu", f"update_all<{FLOAT}, update::Momentum<.*>", "rest", 3, 2, WAITING),
    Hot("updates.cu", f"update_all<{FLOAT}, update::Adam<.*>", "rest", 4, 3, (*WAITING, DIVIDE, ROOT)),
    Hot("updates.cu", f"update_all<{FLOAT}, update::Adagrad<.*>", "rest", 3, 2, (*WAITING, DIVIDE, ROOT)),
    Hot("updates.cu", f"update_all<{FLOAT}, update::Ftrl<.*>", "rest", 4, 3, (*WAITING, DIVIDE, ROOT)),
    Hot("updates.cu", f"update_all<{FLOAT}, .*WithSlots<0, 0>.*>", "rest", 3, 2, (*WAITING, DIVIDE, ROOT)),
    Hot("updates.cu", f"update_all<{FLOAT}, .*WithSlots<(0, 1|1, 0)>.*>", "rest", 4, 3, (*WAITING, DIVIDE, ROOT)),
    Hot("updates.cu", f"update_all<{FLOAT}, .*WithSlots<1, 2>.*>", "rest", 5, 4, (*WAITING, DIVIDE, ROOT)),
    Hot("updates.cu", "update_packed<.*Slot, update::Adam<.*>", "rest", 2, 1, (DIVIDE, ROOT)),
    Hot("updates.cu", "update_packed<.*Slot, update::Momentum<.*>", "rest", 2, 1, (DIVIDE,)),
]

# The other kernels of these files, and why they are not asked for more than local memory.
OTHERS = [
    (".*", r".*\bdouble\b.*", "no training is slow by f64"),
    (".*", r"(map_columns<|fold_columns<.*, |pool_.*<|bias_activation<.*, )1\b.*", "sizes that packs do not divide"),
    ("softmax.cu", "softmax_lines<.*>", "neighbours in a line are far apart"),
    ("max_pool.cu", "gather_winners<.*>", "reads one element here, one there"),
    ("elementwise_.*|cast.cu", "elementwise_flat<.*>", "whole numbers and bool, some of 64 bits"),
    ("elementwise_.*", "elementwise_strided<.*>", "operands that are repeated along axes"),
    ("elementwise_binary.cu", "find_zero<.*>", "divisors of whole numbers"),
    (".*updates?.cu", "make_rules<.*>|count_updates|lamb_steps<.*>", "a few numbers a launch"),
    ("statistics_update.cu", "move_statistics", "a few numbers a channel"),
]

REMEDIES = {
    "local memory": "index arrays by what is known when the kernel is compiled: template arguments, or rounds of "
                    "loops that are unrolled; where values are spilled, keep fewer of them",
    "narrow": "load and store packs (load_pack, store_values of kernels/elements.h)",
    "division": "divide before the loop or on the host; where the formula divides, name what it calls in HOT",
    "unknown": "give it a row in HOT or in OTHERS",
}


class Instruction(NamedTuple):
    address: int
    text: str  # without the predicate
    target: str  # a label, or the routine that is called

    def bits(self, space):
        """The bits that it moves from or to memory, G (global) or L (local); 0 if it does not."""
        found = re.match(r"(?:LD|ST)([GL]?)(\.\S+)? ", self.text)
        if not found or (found[1] or "G") != space:
            return 0
        bits = re.search(r"\.[US]?(8|16|64|128)\b", found[2] or "")
        return int(bits[1]) if bits else 32

    def moves_16_bytes(self, how=""):
        """`how`: LD, ST or either."""
        return self.text.startswith(how) and self.bits("G") == 128

    def division(self):
        if self.text.startswith("MUFU.RCP"):
            return "rcp"
        return (self.target or self.text) if self.text.startswith("CALL") else ""


class Kernel:
    """The code of a kernel, from the lines that nvdisasm prints, in loops and outside of them."""

    def __init__(self, lines):
        self.code, labels, own = [], {}, None  # own: instructions before the routines that it calls
        for line in lines:
            if line.startswith("        /*"):
                address, text = re.match(r"\s+/\*(\w+)\*/\s+(?:@\S+ )?\s*(.*?)\s*;", line).groups()
                target = text.partition("`(")[2].partition(")")[0]
                target = re.sub(r".*\$__cuda_sm\d+x?_|(_slowpath|_mediumpath)?(_v\d)?$", "", target)
                self.code.append(Instruction(int(address, 16), text, target))
            elif re.match(r"[.$]\S+:$", line):
                labels[line[:-1]] = len(self.code)
                if line.startswith("$") and own is None:
                    own = len(self.code)
        code = self.code[:own]
        loops = [(labels[x.target], i + 1) for i, x in enumerate(code)
                 if x.text.startswith("BRA") and labels.get(x.target, i) < i]
        within = {i for begin, end in loops for i in range(begin, end)}
        self.outside = [x for i, x in enumerate(code) if i not in within]
        innermost = [a for a in loops if not any(a != b and a[0] <= b[0] and b[1] <= a[1] for b in loops)]
        loops = [code[begin:end] for begin, end in innermost]
        self.loops = [loop for loop in loops if any(x.bits("G") for x in loop)]


def faults(kernel, hot):
    """Yields what is wrong: a key of REMEDIES, a text, and instructions."""
    wide_loops = [loop for loop in kernel.loops if any(x.moves_16_bytes() for x in loop)]
    places = {"packed": kernel.loops or [kernel.outside], "mixed": wide_loops, "rest": [kernel.outside]}[hot.loops]
    for place in places:
        allowed = (*hot.divides, "rcp") if hot.divides else ()
        divisions = [x for x in place if x.division() and x.division() not in allowed]
        if divisions:
            yield "division", "divides, or calls a routine, where it moves memory", divisions
        narrow = [x for x in place if x.bits("G") and x.bits("G") not in (128, hot.index_bits)]
        if narrow and hot.loops != "rest":
            yield "narrow", f"moves {narrow[0].bits('G') // 8} bytes at a time, not 16", narrow
            return
    units = wide_loops if hot.loops == "mixed" else [[x] for x in kernel.outside]
    for how, verb, wanted in ("LD", "loads", hot.loads), ("ST", "stores", hot.stores):
        count = sum(any(x.moves_16_bytes(how) for x in unit) for unit in units)
        if count < wanted:
            narrow = [x for x in kernel.code if x.text.startswith(how) and 0 < x.bits("G") < 128]
            yield "narrow", f"{verb} 16 bytes in {count} places, not in {wanted}", narrow


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def disassemble(cuobjdump, nvdisasm, path):
    """The kernels in an object, by their mangled names: lines of nvdisasm's."""
    with tempfile.TemporaryDirectory() as folder:
        run(cuobjdump, "-xelf", "sm_90.cubin", os.path.abspath(path), cwd=folder)
        texts = [run(nvdisasm, "-c", os.path.join(folder, name)) for name in os.listdir(folder)]
    parts = [part.split(":\n", 1) for text in texts for part in re.split(r"\n\.text\.", text)[1:]]
    return {name: body.split("\n") for name, body in parts}


def short(name):
    """A demangled name without its parameters and the project's namespaces."""
    name = re.sub(r"\(anonymous namespace\)::|belfry::(cuda::)?|^void |\((int|bool)\)", "", name)
    depth = 0
    for i, c in enumerate(name):
        depth += (c == "<") - (c == ">")
        if c == "(" and depth == 0:
            return name[:i]
    return name


def row(table, file, kernel):
    return next((r for r in table if re.fullmatch(r[0], file) and re.fullmatch(r[1], kernel)), None)


def main():
    cuobjdump, nvdisasm, *paths = sys.argv[1:]
    paths = [path for path in paths if path.endswith(".cu.o")]
    if not paths:
        print("no objects of nvcc are given")
        return 1
    files = [os.path.basename(path)[:-2] for path in paths]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda path: disassemble(cuobjdump, nvdisasm, path), paths))
    if not any(found):
        print("SKIPPED: no object has machine code for sm_90: name 90-real in CMAKE_CUDA_ARCHITECTURES")
        return 0
    failed, used, count = 0, set(), 0
    for file, kernels in zip(files, found):
        names = run("c++filt", input="\n".join(kernels)).splitlines()
        for name, lines in sorted(zip(map(short, names), kernels.values())):
            kernel, hot, needs_local = Kernel(lines), row(HOT, file, name), row(LOCAL_MEMORY, file, name)
            count += 1
            problems = list(faults(kernel, hot)) if hot else []
            local = [x for x in kernel.code if x.bits("L")]
            used |= {hot, needs_local if local else None}
            if local and not needs_local:
                problems.append(("local memory", "uses local memory", local))
            if not hot and not row(OTHERS, file, name) and any(re.fullmatch(r.file, file) for r in HOT):
                problems.append(("unknown", "is in no table", []))
            for kind, what, code in problems:
                failed += 1
                print(f"{file}: {name} {what}")
                for x in code[:4]:
                    print(f"    /*{x.address:04x}*/ {x.text}")
                print(f"  {REMEDIES[kind]}")
    for r in LOCAL_MEMORY + HOT:
        if r not in used and any(re.fullmatch(r[0], file) for file in files):
            failed += 1
            print(f"{r[0]}: there is no kernel {r[1]}: take its row out of its table")
    print(f"{failed} faults in {count} kernels of {len(files)} files")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
