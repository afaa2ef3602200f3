"""The machine that a table's figures are of."""

import os
import pathlib
import platform

# Of bfloat16 products, which decide between contestants.
FLAGS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "bf16")


def describe():
    """Names, numbers and flags of the processor, as the kernel has them."""
    fields = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    cpu = fields.get("model name", platform.machine())
    if "cpu family" in fields:
        # A hypervisor may hide the name, and not these.
        cpu += (f" family {fields['cpu family']} model {fields['model']} "
                f"stepping {fields['stepping']}")
    flags = (fields.get("flags") or fields.get("Features") or "").split()
    return {"cpu": cpu, "flags": [flag for flag in FLAGS if flag in flags],
            "processors": len(os.sched_getaffinity(0)),
            "load_before": os.getloadavg()[0]}
