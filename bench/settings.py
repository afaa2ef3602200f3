"""Options of the benchmarks and their values: keys of the spec, KEY=VALUE[,KEY=VALUE], and
numbers."""

import argparse
import math
import pathlib
import re


def parser(mode, description, formatter=argparse.HelpFormatter):
    """That of `./dev bench MODE`, without options but --build, which dev gives."""
    made = argparse.ArgumentParser(prog=f"./dev bench {mode}".rstrip(), description=description,
                                   formatter_class=formatter)
    made.add_argument("--build", required=True, type=pathlib.Path, help=argparse.SUPPRESS)
    return made


def parse(option, text):
    """The settings of `text`. Commas within a list are part of its value."""
    settings = re.split(r",(?=[\w.]+=)", text)
    for setting in settings:
        if not re.match(r"[\w.]+=", setting):
            raise RuntimeError(f"{option}: expected KEY=VALUE but found "
                               f"'{setting}'")
    return settings


def check_names(option, names):
    """Refuses a name that is given twice: one name has one folder and one row
    of a table."""
    for name in names:
        if names.count(name) > 1:
            raise RuntimeError(f"{option}: expected different names but found "
                               f"'{name}' twice; give them one by one")


def whole(least):
    """The type of an option that takes a whole number of at least `least`."""
    def read(text):
        if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < least:
            raise argparse.ArgumentTypeError(
                f"expected a whole number of at least {least}, found '{text}'")
        return int(text)
    return read


count = whole(1)


def counts(text):
    """Some of them, separated by commas."""
    return [count(part) for part in text.split(",")]


def names(of):
    """The type of an option that takes some of `of`, separated by commas."""
    def parse(text):
        found = text.split(",")
        for name in found:
            if name not in of:
                raise argparse.ArgumentTypeError(
                    f"expected some of {', '.join(of)}, found '{name}'")
        return found
    return parse


def positive(text):
    """A finite number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(
            f"expected a finite number above 0, found '{text}'")
    return number


def new_file(text):
    """A path that can be written: checked before minutes of work."""
    path = pathlib.Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(
            f"expected a file in a folder that is there, found '{text}'")
    return path
