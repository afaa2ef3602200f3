"""libm.py NM FILE...: objects and archives call no function of a C library's
that rounds as its authors chose, so no C library decides a digit. The other
functions of math.h are exact: sqrt, floor, fmod, llround.
"""

import subprocess
import sys

ROUNDED = """exp exp2 exp10 expm1 log log2 log10 log1p pow sin cos sincos tan asin
acos atan atan2 sinh cosh tanh asinh acosh atanh hypot cbrt erf erfc tgamma lgamma
lgamma_r j0 j1 y0 y1""".split()
forbidden = {name + suffix for name in ROUNDED for suffix in ("", "f", "l")}

files = sys.argv[2:]
table = subprocess.run([sys.argv[1], "-u", *files], check=True, capture_output=True,
                       text=True).stdout
called = {words[1] for words in map(str.split, table.splitlines())
          if len(words) == 2 and words[0] == "U"}
found = sorted(called & forbidden)
print("\n".join(f"calls {name}" for name in found)
      or f"{len(called)} symbols, none rounds as a C library chose")
sys.exit(bool(found))
