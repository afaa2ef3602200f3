"""The results as text, Markdown and JSON. Every figure comes from `results`.

`results` is a dictionary: machine, workload, probes, kernels, contestants,
profile, notes; the JSON file is that dictionary with the contestants spelled out.
"""

import collections
import json
import statistics

from roofline import Roofline, first_op, kernel_seconds

MIB = 1024 * 1024


def _cell(value, form):
    return form.format(value) if value else "-"


def step_rows(results):
    """One row for each contestant; the first row names the columns."""
    tokens = results["workload"].tokens
    rows = [["contestant", "threads", "step ms", "tokens/s", "GFLOP/s",
             "of FMA peak", "time / hone", "anonymous MiB", "planned MiB",
             "resident MiB", "first loss", "others"]]
    for c in results["contestants"]:
        planned = _cell(c.planned / MIB, "{:.1f}")
        if not c.repetitions:
            rows.append([c.name, str(c.threads), f"failed: {c.failure}",
                         *["-"] * 5, planned, *["-"] * 3])
            continue
        share = c.share_of_peak if c.is_hone else None
        others = [r.others for r in c.repetitions]
        rows.append([
            c.name, str(c.threads), f"{c.seconds * 1e3:.2f}",
            f"{tokens / c.seconds:.1f}",
            _cell(c.gflops if c.is_hone else None, "{:.1f}"),
            _cell(share and 100 * share, "{:.1f} %"),
            _cell(c.time_ratio, "{:.2f}"), f"{c.anonymous / MIB:.1f}",
            planned, f"{c.resident / MIB:.1f}",
            f"{c.repetitions[0].first_loss:.5f}",
            f"{min(others):.2f}-{max(others):.2f}"])
    return rows


def kernel_rows(kernels):
    rows = [["m", "n", "k", "weight", "operands", "GFLOP/s", "of FMA peak",
             "compiled in"]]
    for k in kernels:
        rows.append([str(k["m"]), str(k["n"]), str(k["k"]), k["weight"],
                     k["operands"],
                     f"{k['gflops']:.1f}", f"{100 * k['share_of_peak']:.1f} %",
                     f"{k['compile_seconds']:.2f} s"])
    return rows


def _roofline(profile):
    return Roofline(profile["counted"], profile, profile["flops_per_second"],
                    profile["bytes_per_second"], profile.get("pairs_per_second"))


# The parts of a step: the first op of a kernel says where it belongs.
PARTS = {"weights": ("lora_linear", "linear"), "loss": ("linear_cross_entropy",),
         "attention": ("attention",),
         "adapters' gradients": ("lora_parameter", "lora_inner", "parameter")}


def _part_of(kernel):
    op = first_op(kernel).removesuffix("_adjoint")
    return next((part for part, ops in PARTS.items() if op in ops), "rest")


def parts_heading():
    return ["ms of a step", "of roofline", *PARTS, "rest"]


def parts_cells(profile):
    """Milliseconds of a step and its share of the roofline, then each part's
    share of the time, and of its own roofline."""
    roofline, total = _roofline(profile), profile["seconds"]
    seconds, floors = collections.Counter(), collections.Counter()
    for (block, kernel), spent in kernel_seconds(profile["kernels"]).items():
        part = _part_of(kernel)
        seconds[part] += spent
        floors[part] += roofline.floor(f"{block}: {kernel}") * profile["steps"]
    cells = [f"{total / profile['steps'] * 1e3:.0f}",
             f"{100 * sum(floors.values()) / total:.0f} %"]
    for part in PARTS:
        cells.append(f"{100 * seconds[part] / total:.1f} % at "
                     f"{100 * floors[part] / seconds[part]:.0f} %"
                     if seconds[part] else "-")
    rest = total - sum(seconds[part] for part in PARTS)
    return cells + [f"{100 * rest / total:.1f} %"]


def profile_rows(profile, shown=12):
    """Milliseconds of a step for each block, then for the longest kernels, and
    their rates: against the FMA peak and the threads' reads of memory."""
    total, steps = profile["seconds"], profile["steps"]
    blocks, kernels = collections.Counter(), collections.Counter()
    for (block, kernel), seconds in kernel_seconds(profile["kernels"]).items():
        blocks[block] += seconds
        kernels[f"{block}: {kernel}"] = seconds
    blocks["other"] = max(total - sum(blocks.values()), 0)
    roofline = _roofline(profile)
    rows = [["block, then kernel", "ms of a step", "share", "GFLOP/s", "GB/s",
             "of roofline"]]
    for name, seconds in blocks.most_common() + kernels.most_common(shown):
        if seconds > 0:
            rows.append([name, f"{seconds / steps * 1e3:.2f}",
                         f"{100 * seconds / total:.1f} %",
                         *roofline.cells(name, seconds / steps)])
    return rows


def _scale(rounds):
    return statistics.median(one.seconds / many.seconds for one, many in rounds)


def conclusions(results):
    """The comparisons that the figures allow, as lines of text."""
    done = [c for c in results["contestants"] if c.repetitions]
    hone = [c for c in done if c.is_hone]
    lines = []
    for name in dict.fromkeys(c.name for c in hone):
        by_threads = {c.threads: c for c in hone if c.name == name}
        if 1 in by_threads:
            for threads, c in by_threads.items():
                if threads > 1:
                    # Only those that took turns: zip ends with the shorter.
                    rounds = list(zip(by_threads[1].repetitions, c.repetitions))
                    quiet = [r for r in rounds if all(x.is_quiet for x in r)]
                    lines.append(
                        f"{name}: {threads} threads are {_scale(rounds):.2f} x "
                        f"one" + (f", {_scale(quiet):.2f} in the {len(quiet)} "
                                  f"of {len(rounds)} rounds that were quiet"
                                  if quiet else ", no round was quiet"))
    for framework in results["frameworks"]:
        peers = [c for c in done if c.name.split()[0] == framework]
        if not peers or not hone:
            continue
        for dtype in ("float32", "bfloat16"):
            alike = [c for c in peers if dtype in c.name.split()]
            if alike:
                fastest = min(alike, key=lambda c: c.time_ratio)
                lines.append(
                    f"speed: {results['rival']} has {fastest.time_ratio:.2f} x "
                    f"the speed of the fastest {dtype} of {framework} "
                    f"({fastest.name})")
        for what in ("anonymous", "resident"):
            ours = min(hone, key=lambda c: getattr(c, what))
            theirs = min(peers, key=lambda c: getattr(c, what))
            lines.append(
                f"{what} memory: {ours.name} on {ours.threads} threads needs "
                f"1/{getattr(theirs, what) / getattr(ours, what):.1f} of the "
                f"smallest of {framework} ({theirs.name})")
    return lines + [f"note: {note}" for note in results["notes"]]


def check_losses(contestants):
    """Notes on contestants whose first loss differs from the first one's:
    they did not train the same model on the same tokens."""
    done = [c for c in contestants if c.repetitions]
    notes = []
    for c in done[1:]:
        reference = done[0].repetitions[0].first_loss
        loss = c.repetitions[0].first_loss
        tolerance = 2e-2 if "bfloat16" in c.name or "int" in c.name else 1e-3
        if not abs(loss - reference) <= tolerance * abs(reference):
            notes.append(f"{c.name}: its first loss is {loss:.5f}, not "
                         f"{reference:.5f}; its figures are of other work")
    return notes


def text_table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(row, widths))) for row in rows)


def markdown_table(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|---" + "|--:" * (len(rows[0]) - 1) + "|")
    return "\n".join(lines)


def describe_cpu(machine):
    return (f"{machine['cpu']} ({', '.join(machine['flags'])}), "
            f"{machine['processors']} processors")


def peer_caption(frameworks, bullet=""):
    """Versions of each framework, and the meaning of the words of variants."""
    lines = []
    for name, about in frameworks.items():
        versions = ", ".join(f"{package} {version}" for package, version
                             in about["versions"].items())
        lines.append(f"{bullet}{name}: {versions or 'did not start'}")
        lines += [f"{bullet}{name} {word}: {says}"
                  for word, says in about["words"].items()]
    return "\n".join(lines)


def render(results, markdown=False):
    table = markdown_table if markdown else text_table
    machine, workload = results["machine"], results["workload"]
    heading = "## {}\n\n" if markdown else "{}\n"
    parts = [heading.format("machine") +
             f"{describe_cpu(machine)}, load "
             f"average {machine['load_before']:.2f} before and "
             f"{machine['load_after']:.2f} after"]
    if results["kernels"]:
        parts.append(heading.format("kernels, one thread") +
                     table(kernel_rows(results["kernels"])))
    if results["profile"]:
        profile = results["profile"]
        parts.append(heading.format(
            f"profile of {profile['contestant']}, {profile['threads']} threads")
            + table(profile_rows(profile)))
    if results["contestants"]:
        title = f"training step of {workload.name}"
        parts.append(heading.format(title) +
                     workload.describe() + "\n\n" +
                     table(step_rows(results)))
        bullet = "- " if markdown else ""
        if results["frameworks"]:
            parts.append(peer_caption(results["frameworks"], bullet))
        parts.append("\n".join(bullet + line for line in conclusions(results)))
    return "\n\n".join(parts) + "\n"


def write_json(results, path):
    tokens = results["workload"].tokens
    out = {**results, "workload": results["workload"].as_dict(),
           "contestants": [c.as_dict(tokens) for c in results["contestants"]]}
    path.write_text(json.dumps(out, indent=1) + "\n")
