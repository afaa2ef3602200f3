#!/usr/bin/env python3
"""Compares what Hone and Jinja make of random expressions.

  python random_expressions.py RENDER-CHAT SEED COUNT   (needs `pip install transformers`)

RENDER-CHAT is bin/render-chat of a build. Exits with 1 if a text differs, or if Hone
renders what Jinja refuses; what Hone alone refuses is counted by its reason.
"""
import collections
import json
import random
import subprocess
import sys

from compare_templates import reference
from constructs import MESSAGES

VALUES = r"""
1
0
-3
2.5
0.1
1e16
true
false
none
nothing
'a'
'aB c'
''
' x\n'
'ö石'
'1.5'
'12'
[1,2]
[]
['b','a','B']
[2.0,1]
{'a':1,'b':'x'}
{}
(1,2)
('a',)
messages
messages[0]
messages[1].content
('<a>'|safe)
[none,1]
[[1,'a'],[0,'b']]
[{'a':2},{'a':1}]
range(3)
'a-b-c'
namespace(a=1)
dict(x=1.5)
'%s'
'{}'
""".strip("\n").split("\n")
FILTERS = r"""
trim
length
join
join('-')
join(', ')
tojson
tojson(indent=2)
upper
lower
capitalize
title
default('d')
default('d',true)
first
last
list
string
int
int(7)
replace('a','<')
reverse
items
dictsort
indent
indent(2,true)
safe
float
abs
round
round(1)
unique
sort
sort(reverse=true)
sort(attribute='a')
sum
min
max
format(1)
map('upper')
map('string')
map(attribute='a')
map('default','z')
select
reject
select('defined')
selectattr('a')
rejectattr('a')
select('string')
select('gt',1)
count
d
map('trim')
map('length')
sum(start=1)
unique(true)
map('tojson')
map('int')
""".strip("\n").split("\n")
TESTS = r"""
defined
none
string
mapping
iterable
sequence
number
integer
float
boolean
true
false
odd
even
lower
upper
callable
divisibleby(2)
eq(1)
in([1,'a'])
gt(1)
ne('a')
""".strip("\n").split("\n")
METHODS = r"""
strip()
lstrip('a')
rstrip()
split()
split('-')
split('-',1)
rsplit('-',1)
splitlines()
startswith('a')
endswith(('c','b'))
replace('a','b')
upper()
title()
join(['x','y'])
find('b')
count('a')
removeprefix('a')
items()
keys()
values()
get('a')
get('z',5)
format(1)
isdigit()
isalpha()
isspace()
capitalize()
lower()
""".strip("\n").split("\n")
OPERATORS = r"""
+
-
*
/
//
%
~
==
!=
<
>
<=
>=
in
not in
and
or
""".strip("\n").split("\n")
SUBSCRIPTS = ["0", "-1", "1:", "::-1", ":2", "'a'", "::2"]


def expression(pick, depth):
    def inner():
        return "(" + expression(pick, depth - 1) + ")"

    kind = pick.random()
    if depth <= 0 or kind < 0.12:
        return pick.choice(VALUES)
    if kind < 0.45:
        return inner() + " | " + pick.choice(FILTERS)
    if kind < 0.65:
        return inner() + " " + pick.choice(OPERATORS) + " " + inner()
    if kind < 0.75:
        return inner() + " is " + pick.choice(["", "not "]) + pick.choice(TESTS)
    if kind < 0.85:
        return inner() + "." + pick.choice(METHODS)
    if kind < 0.9:
        return inner() + "[" + pick.choice(SUBSCRIPTS) + "]"
    if kind < 0.93:
        return f"({inner()} if {inner()} else {inner()})"
    if kind < 0.96:
        return f"[{inner()}, {inner()}]"
    return f"({inner()}, {inner()})" if kind < 0.98 else f"{{'k': {inner()}}}"


def template(pick):
    value = expression(pick, pick.randrange(1, 4))
    kind = pick.random()
    if kind < 0.8:
        return "{{ " + value + " }}"
    if kind < 0.9:
        return "{% for x in " + value + " %}{{ loop.index }}:{{ x }};{% else %}none{% endfor %}"
    return "{% set x %}{{ " + value + " }}{% endset %}{{ x | length }}{% filter upper %}{{ x }}{% endfilter %}"


def main():
    render, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    pick = random.Random(seed)
    templates = [template(pick) for _ in range(count)]
    data = {"messages": [{key: value for key, value in turn.items() if key != "thinking"} for turn in MESSAGES]}
    lines = [json.dumps({"template": each, "data": json.dumps(data, ensure_ascii=False)}) for each in templates]
    out = subprocess.run([render], input="\n".join(lines) + "\n", stdout=subprocess.PIPE, check=True, text=True).stdout
    kinds, reasons = collections.Counter(), collections.Counter()
    for each, line in zip(templates, out.splitlines()):
        own, other = json.loads(line), reference(each, data, False)
        failed = isinstance(other, Exception)
        if "text" in own:
            kind = "rendered, but Jinja refuses" if failed else "equal" if own["text"] == other else "DIFFERENT"
        else:
            kind = "refused by both" if failed else "refused by Hone alone"
            reasons[own["refused"]] += not failed
        kinds[kind] += 1
        if kind in ("DIFFERENT", "rendered, but Jinja refuses"):
            print(kind, each, "\n   Hone:", repr(own["text"]), "\n   Jinja:", repr(other))
    for reason, times in reasons.most_common(20):
        print(f"{times:7} {reason}")
    print(dict(kinds))
    return 1 if kinds["DIFFERENT"] + kinds["rendered, but Jinja refuses"] else 0


if __name__ == "__main__":
    sys.exit(main())
