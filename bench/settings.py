"""Keys of the spec as options give them: KEY=VALUE[,KEY=VALUE]."""

import re


def parse(option, text):
    """The settings of `text`. Commas within a list are part of its value."""
    settings = re.split(r",(?=[\w.]+=)", text)
    for setting in settings:
        if not re.match(r"[\w.]+=", setting):
            raise RuntimeError(f"{option}: expected KEY=VALUE but found "
                               f"'{setting}'")
    return settings


def check_names(option, names):
    """What has one name has one folder and one row of a table."""
    for name in names:
        if names.count(name) > 1:
            raise RuntimeError(f"{option}: expected different names but found "
                               f"'{name}' twice; give them one by one")
