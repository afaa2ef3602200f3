#!/usr/bin/env python3
"""look_at_reports.py [--pictures PREFIX] PAGE...: reports as Chromium shows them.

Each page is loaded 400 and 1280 pixels wide. It is wrong if a script fails, if the
page is wider than the window, or if anything is loaded beside it. Needs playwright
(from PyPI, in an environment of its own) and Chromium; `check` does without both.
"""

import argparse
import pathlib
import shutil
import sys

from playwright.sync_api import sync_playwright

WIDTHS = (400, 1280)


def look(browser, page, width, prefix):
    """The faults of a page, and its contents."""
    tab = browser.new_page(viewport={"width": width, "height": 900})
    wrong, loaded = [], []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    tab.on("request", lambda request: loaded.append(request.url))
    tab.goto(page.resolve().as_uri())
    beyond = tab.evaluate("document.documentElement.scrollWidth - innerWidth")
    if beyond > 0:
        wrong.append(f"{beyond} pixels too wide")
    wrong += [f"loads {url}" for url in loaded[1:]]
    charts = tab.locator("#charts svg")
    if charts.count():
        charts.first.hover(position={"x": 150, "y": 80})
        if not tab.locator(".tip:visible").count():
            wrong.append("no values under the pointer")
    if prefix:
        tab.screenshot(path=f"{prefix}-{page.stem}-{width}.png", full_page=True)
    counts = tab.evaluate("[runs.length, document.querySelectorAll('svg').length]")
    tab.close()
    return wrong, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", metavar="PREFIX", help="write PREFIX-PAGE-WIDTH.png")
    parser.add_argument("pages", metavar="PAGE", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    bad = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for page in arguments.pages:
            for width in WIDTHS:
                wrong, (runs, charts) = look(browser, page, width, arguments.pictures)
                bad += bool(wrong)
                print(f"{page}, {width} pixels: {runs} runs, {charts} charts{'; ' if wrong else ''}{'; '.join(wrong)}")
    sys.exit(f"{bad} are wrong" if bad else 0)


main()
