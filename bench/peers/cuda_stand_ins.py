"""Stand-ins for the CUDA libraries that PyTorch's wheels are linked with.

Without 5 GB of those libraries a wheel of the package index does not load,
and a run on the processor never calls them. Here each of their functions says
that there is no device. `python cuda_stand_ins.py`, with the interpreter of
the environment, puts them beside PyTorch's own libraries; it needs cc, nm and
objdump.
"""

import collections
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile

NO_DEVICE = 100  # cudaErrorNoDevice
OF_CUDA = re.compile(r"(_*cuda|cu|nccl|nv)\w+$")
LIBRARY = re.compile(r"lib(cu|nccl|nv)\w*\.so\.\d+$")
# Versions of symbols are named like their library; this one is not.
VERSION_OF = {"libnvshmem_host.so.3": "NVSHMEM"}


def output_of(*command):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE,
                          check=True).stdout


def symbols(kind, libraries):
    """(name, version) of the symbols that the libraries define or lack; some
    have no version."""
    found = set()
    for library in libraries:
        for line in output_of("nm", "-D", f"--{kind}-only",
                              library).splitlines():
            name, _, version = line.split()[-1].partition("@")
            found.add((name, version.lstrip("@")))
    return found


def missing_libraries(folder, libraries):
    """Those of CUDA's that are linked with and not there."""
    needed = set()
    for library in libraries:
        needed.update(re.findall(r"NEEDED\s+(\S+)",
                                 output_of("objdump", "-p", library)))
    return sorted(name for name in needed
                  if LIBRARY.match(name) and not (folder / name).exists())


def write(library, names, version):
    """A library in which every function returns an error, or its text."""
    source = "".join(
        f'const char *{name}(void) {{ return "no device"; }}\n'
        if re.search("error_?(string|name)", name, re.I) else
        f"int {name}(void) {{ return {NO_DEVICE}; }}\n" for name in names)
    with tempfile.NamedTemporaryFile("w") as script:
        script.write(f"{version} {{ {' '.join(f'{n};' for n in names)} }};"
                     if names else f"{version} {{ }};")
        script.flush()
        subprocess.run(["cc", "-w", "-shared", "-fPIC", "-x", "c", "-",
                        f"-Wl,-soname,{library.name}",
                        f"-Wl,--version-script,{script.name}", "-o", library],
                       input=source, text=True, check=True)


def main():
    folder = pathlib.Path(sysconfig.get_path("purelib")) / "torch" / "lib"
    own = sorted(folder.glob("lib*.so*"))
    missing = missing_libraries(folder, own)
    defined = {name for name, _ in symbols("defined", own)}
    by_version = collections.defaultdict(list)
    for name, version in sorted(symbols("undefined", own)):
        if OF_CUDA.match(name) and name not in defined:
            by_version[version].append(name)
    for name in missing:
        version = VERSION_OF.get(name, name)
        write(folder / name, by_version.get(version) or by_version[""],
              version)
    print(f"{folder}: {len(missing)} libraries of CUDA have stand-ins")


if __name__ == "__main__":
    try:
        main()
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"cuda_stand_ins: {error}")
