"""run_of.py REPORT [KEY...]: what the page draws, or a part of it."""

import json
import sys
import xml.etree.ElementTree as xml


def run_of(page):
    """The data of a page: a well-formed document, with one element of them."""
    root = xml.fromstring(page)
    return json.loads(next(e for e in root.iter("script")
                           if e.get("id") == "run").text)


if __name__ == "__main__":
    found = run_of(open(sys.argv[1]).read())
    for key in sys.argv[2:]:
        found = found[key]
    print(found if isinstance(found, str) else json.dumps(found))
