"""accumulation.py START DATA LIMIT TOGETHER APART [OPTION...]

TOGETHER and APART are programs of one model whose batches have several
sequences and fewer; APART makes up for it with --gradient-accumulation-steps.
Both train from START, a folder of tensors, with the OPTIONs, and must move them
alike: their distance at the end is less than LIMIT of their way, as are their
losses.

With plain SGD a step of one sequence is its mean gradient: the mean of those means
is printed too, which is what dividing each batch's loss by the number of batches
would give.
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from tensor_file import read_folder  # noqa: E402

start, data, limit = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), float(sys.argv[3])
together, apart = sys.argv[4:6]
options = sys.argv[6:]


def values(folder):
    """name -> its numbers."""
    return {name: tensor.numbers() for name, (_, tensor) in read_folder(folder).items()}


def minus(a, b):
    return {name: [x - y for x, y in zip(a[name], b[name])] for name in a}


def norm(vectors):
    return math.sqrt(sum(x * x for vector in vectors.values() for x in vector))


def train(program, lines, work, *more):
    """The trained tensors, and the losses of the steps."""
    work.mkdir()
    read = work / data.name
    read.write_text("".join(lines))
    subprocess.run(
        [program, "--data", read, "--adapter", start, "--output", work / "run",
         "--log", work / "log.jsonl", *options, *more],
        check=True, stdout=subprocess.DEVNULL)
    log = map(json.loads, (work / "log.jsonl").read_text().splitlines())
    return values(work / "run"), [entry["loss"] for entry in log if "loss" in entry]


def main():
    lines = data.read_text().splitlines(keepends=True)
    before = values(start)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (one, losses), (other, same) = (
            train(program, lines, work / name, *more)
            for program, name, more in (
                (together, "together", []),
                (apart, "apart", ["--gradient-accumulation-steps", "3"])))
        assert one.keys() == before.keys() == other.keys(), one.keys() ^ before.keys()
        moved = norm(minus(one, before))
        distance = norm(minus(one, other)) / moved
        assert len(losses) == len(same) and losses, (losses, same)
        loss = max(abs(a - b) / a for a, b in zip(losses, same))
        assert 0 < moved and distance < limit and loss < limit, (moved, distance, loss)
        print(f"{len(losses)} steps, one batch or three: the same, within {distance:.0e}")
        if len(losses) > 1:
            return
        steps = [minus(train(apart, [line], work / str(i))[0], before) for i, line in enumerate(lines)]
        mean = {
            name: [x + sum(each) / len(lines) for x, each in zip(before[name], zip(*(s[name] for s in steps)))]
            for name in before}
        far = norm(minus(mean, one)) / moved
        assert far > 0.01, far
        print(f"a mean of three means is {far:.2f} away")


main()
