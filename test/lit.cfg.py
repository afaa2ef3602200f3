# How lit finds and runs the tests of the compiler and of the tools.
#
# A test that needs a real model asks for the feature `shared-data`, which is
# there when CMake was given HONE_SHARED; everything else runs on any machine.

import os
import subprocess

import lit.formats
import lit.util
from lit.llvm import initialize

initialize(lit_config, config)
from lit.llvm import llvm_config  # only after initialize()

config.name = "Hone"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "unit", "CMakeLists.txt"]
# Tests of minutes on the PTX machine: ./dev check-gpu.
if "HONE_CHECK_GPU" not in os.environ:
    config.excludes.append("long")
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.hone_obj_root, "test")

# Of tests that keep processors busy, so many run at a time; a folder of tests that
# wait for each other's programs says that it is in no group. A worker takes a test
# before it waits for the group's turn, so fewer than all workers may run.
# The slowest begin first: .lit_test_times.txt has the seconds of a run of ./dev check,
# for a build folder that has none of its own yet.
if "busy" in lit_config.params:
    lit_config.parallelism_groups["busy"] = int(lit_config.params["busy"])
config.parallelism_group = "busy"

golden = os.path.join(config.test_source_root, "reference", "golden")
config.substitutions.append(("%golden", golden))
config.substitutions.append(("%build", config.hone_obj_root))
config.substitutions.append(("%mlir-includes", os.path.join(
    os.path.dirname(config.llvm_tools_dir), "include")))
config.substitutions.append(("%models", os.path.join(golden, "models")))
config.substitutions.append(("%examples", os.path.join(
    os.path.dirname(config.test_source_root), "examples")))
if config.hone_shared and os.path.isdir(config.hone_shared):
    config.available_features.add("shared-data")
    config.substitutions.append(("%shared", config.hone_shared))
config.available_features.add(config.host_machine)
if config.fuzzers:
    config.available_features.add("fuzzers")
# A test's runs are saved and synced often; on a disk most of their time is that.
memory = "/dev/shm"
if "TMPDIR" not in os.environ and os.access(memory, os.W_OK):
    space = os.statvfs(memory)
    if space.f_bavail * space.f_frsize >= 2**32:
        config.environment["TMPDIR"] = memory
# NVIDIA's assembler and disassembler, which a CUDA toolkit has.
for tool in ("ptxas", "nvdisasm"):
    if lit.util.which(tool):
        config.available_features.add(tool)
# Compiles Metal's text as C++ for OpenCL, to check address spaces.
clang = lit.util.which("clang-22") or lit.util.which("clang")
if clang:
    config.available_features.add("clang")
    config.substitutions.append(("%clang", clang))
# A version manager's python3 is a script that takes 0.1 s to find Python: tests
# get the one that it finds.
python = subprocess.run(["python3", "-c", "import sys; print(sys.executable)"],
                        capture_output=True, text=True).stdout.strip()
if os.path.isfile(python) and lit.util.which("python3") != python:
    llvm_config.with_environment("PATH", os.path.dirname(python),
                                 append_path=True)
# Writes Parquet, for the command that the refusal of Parquet gives.
if subprocess.run(["python3", "-c", "import pyarrow"],
                  capture_output=True).returncode == 0:
    config.available_features.add("pyarrow")
# The peer of GPUs.
if subprocess.run(["python3", "-c", "import importlib.util as u, sys; sys.exit("
                   "not all(map(u.find_spec, ('torch', 'transformers', 'peft'))))"],
                  capture_output=True).returncode == 0:
    config.available_features.add("torch")
if os.path.exists("/proc/cpuinfo"):
    with open("/proc/cpuinfo") as cpuinfo:
        flags = set(cpuinfo.read().split())
        if "avx512_bf16" in flags:
            config.available_features.add("avx512bf16")
        if flags >= {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}:
            config.available_features.add("x86-64-v3")


# Static programs and those for macOS: made where zig is.
for triple in ("x86_64-linux-musl", "arm64-apple-macosx"):
    if triple in config.cross_triples.split(";"):
        config.available_features.add(triple)
# Programs that meet over gRPC, and hone-keys.
if (os.path.exists(os.path.join(config.hone_obj_root, "lib",
                                "hone-exchange-grpc.so"))
        and lit.util.which("openssl")):
    config.available_features.add("grpc")
# Programs that exchange messages by MPI, and mpirun.
if (os.path.exists(os.path.join(config.hone_obj_root, "lib",
                                "hone-exchange-mpi.so"))
        and lit.util.which("mpirun")):
    config.available_features.add("mpi")
# Lines between network namespaces: of root, with iproute2, where the kernel has tbf.
if (os.geteuid() == 0 and lit.util.which("tc") and not subprocess.call(
        ["unshare", "-n", "sh", "-c", "ip link set lo up && ip link add line0 type veth "
         "&& tc qdisc add dev lo root tbf rate 1mbit burst 16kb latency 9ms"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)):
    config.available_features.add("network-namespaces")
# Disks of their own: of root, where the kernel lets it mount one.
if os.geteuid() == 0 and not subprocess.call(
        ["unshare", "-m", "mount", "-t", "tmpfs", "-o", "size=1m", "none", "/mnt"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
    config.available_features.add("mount-namespaces")
if not subprocess.call(
        ["bash", "-c", '. "$0"; memory_group 64000000 && leave_group',
         os.path.join(config.test_source_root, "exchange", "memory-group.sh")]):
    config.available_features.add("memory-groups")
if lit.util.which("strace"):
    config.available_features.add("strace")

# Programs for AArch64 are made where their runtime could be built, and run
# under an emulator that has the C library of a cross toolchain.
aarch64 = "aarch64-linux-gnu"
emulator = lit.util.which("qemu-aarch64-static")
if aarch64 in config.cross_triples.split(";") and emulator:
    config.available_features.add("aarch64")
    # LeakSanitizer stops the threads as a debugger would, which an emulator
    # does not know.
    config.substitutions.append(("%aarch64",
                                 "env ASAN_OPTIONS=detect_leaks=0 " +
                                 emulator + " -L /usr/" + aarch64))

static = "aarch64-linux-musl"
if static in config.cross_triples.split(";") and emulator:
    config.available_features.add(static)
    config.substitutions.append(("%emulator", emulator))

llvm_config.use_default_substitutions()
llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.with_environment("PATH", config.hone_tools_dir, append_path=True)
if config.hone_sanitize:
    config.available_features.add("sanitized")
    # MLIR itself is not instrumented: containers cross the boundary, and so do
    # allocators, whose memory only instrumented code would unpoison.
    llvm_config.with_environment("ASAN_OPTIONS", "detect_container_overflow=0:allow_user_poisoning=0")
