"""One template for each construct of Jinja that chat templates may use."""

MESSAGES = [
    {"role": "system", "content": "  Be brief.\n"},
    {"role": "user", "content": "What is ö? \u00a0"},
    {"thinking": "hm", "role": "assistant", "content": "<think>\nhm\n</think>\n\nA letter.", "reasoning_content": "hm"},
    {"role": "user", "content": "Thanks, bye!"},
]

# Each is an expression to print.
EXPRESSIONS = r"""
1 + 2 * 3
(1 + 2) * 3
7 // 2
-7 // 2
7 % 3
-7 % 3
7 % -3
-3
- 2 + 5
2 - -3
1 / 2
true
True
none
None
false
'a' + 'b'
'a' 'b'
"a" "\n" 'b'
'\x41\u00e9\U0001F600\'\"\\\t|\q'
'a' ~ 1 ~ none ~ true ~ nothing
'ab' * 3
'ab' * -1
'a' + 1
1 + 'a'
nothing
nothing + 'a'
nothing.field
nothing['field']
messages[0]
messages | length
messages[0].nothing
messages[0]['nothing']
messages[0].nothing.more
messages[9]
messages[9].role
messages[-1].role
messages[0].role
messages[0]['role']
messages.0.role
messages[1].content[0]
messages[1].content[-3]
messages[1].content[99]
messages[1].content[8:9]
messages[1].content[2:]
messages[1].content[:-2]
messages[1].content[::-1]
messages[1].content[::3]
messages[1].content[-4:-1]
messages[1].content[5:2]
messages[1].content[10:0:-2]
messages[1:] | length
messages[:1][0].role
messages[::-1][0].content
messages[::2] | map(attribute='role') | join(',')
messages[-2::-1] | map(attribute='role') | join(',')
messages[1:99] | length
messages[-99:2] | length
messages[::0]
not true
not not 1
not ''
1 and 2
0 and 2
0 or 'x'
'' or none or 3
1 or nothing.field
1 == 1
1 == true
1 == '1'
'a' == "a"
none == none
nothing == none
nothing == nothing2
[1, 2] == [1, 2]
[1, 2] == [1, 2, 3]
{'a': 1, 'b': 2} == {'b': 2, 'a': 1}
{'a': 1} == {'a': 2}
messages[0] == messages[0]
messages[0] == messages[1]
1 != 2
1 < 2
2 <= 2
'b' > 'a'
'Z' < 'a' < 'b'
1 < 2 < 3
1 < 3 < 2
1 < 'a'
none < 1
'user' in 'a user b'
'x' not in 'abc'
1 in [1, 2]
'role' in messages[0]
'tool_calls' in messages[0]
'tool_calls' not in messages[0]
'a' in ['b', 'a']
'a' in ('b', 'c')
'a' in nothing
1 in 'abc'
'a' in none
'yes' if 1 else 'no'
'yes' if 0 else 'no'
'yes' if 0
'a' if 0 else 'b' if 0 else 'c'
('a', 'b')[1]
[1, [2, 3]][1][0]
{'a': {'b': 'c'}}.a.b
{'a': {'b': 'c'}}['a']['b']
{'user': 'U', 'assistant': 'A'}[messages[1].role]
{'a': 1}.b
{}
[]
[1, 2]
{'a': 1}
'  x '|trim ~ '|'
'  x ' | trim | upper
'xxaxx' | trim('x')
1 + '  2 '|trim|int
'a-b'|replace('-', '+')
'a-b-c'|replace('-', '+', 1)
'aaa'|replace('aa', 'b')
nothing | trim
nothing | length
nothing | default('d')
nothing | default
'' | default('d')
'' | default('d', true)
none | default('d')
none | default('d', boolean=true)
0 | d('d', true)
nothing.x | default('d')
messages | first | tojson
messages | last | tojson
[] | first
[] | last
'abc' | first
'abc' | last
'abc' | list | tojson
messages[0] | list | tojson
'abc' | reverse
[1, 2] | reverse | list | tojson
messages | map(attribute='role') | list | tojson
['a', 'b'] | map('upper') | join(' ')
[' a', 'b '] | map('trim') | join('|')
['a', 1, none] | join('-')
[] | join
['a', 'b'] | join
'abc' | join('.')
messages | selectattr('role', 'equalto', 'user') | list | length
messages | selectattr('role', '==', 'user') | map(attribute='content') | list | tojson
messages | rejectattr('role', 'eq', 'user') | list | length
messages | selectattr('reasoning_content') | list | length
messages | selectattr('reasoning_content', 'defined') | list | length
messages | selectattr('role', 'in', ['user', 'system']) | list | length
[1, 0, 2] | select | list | tojson
[1, 2, 3] | select('odd') | list | tojson
[1, 2, 3] | reject('odd') | list | tojson
[1, 2, 3] | select('gt', 1) | list | tojson
'hello world' | capitalize
'HELLO' | lower
'hello wORLD-again (x' | title
'hello wORLD-again (x'.title()
'hELLO'.capitalize()
"it's".title()
'abc'.upper()
'ABC'.lower()
'12' | int + 1
'x' | int
'x' | int(7)
' 5 ' | int
true | int
none | int
5 | string ~ 'x'
true | string
[1] | length
{'a': 1, 'b': 2} | length
'ö石' | length
{'a': 1, 'b': 2} | items | list | tojson
{'a': 1, 'b': 2}.items() | list | tojson
{'a': 1, 'b': 2}.keys() | list | tojson
{'a': 1, 'b': 2}.values() | list | tojson
{'b': 1, 'A': 2, 'a': 3, 'B': 0} | dictsort | tojson
{} | dictsort | list | tojson
'ö石🎈"' | tojson
'ö石🎈"' | tojson(ensure_ascii=true)
'ö' | tojson(true)
'ö' | tojson(false, 1)
{'ö': ['ä']} | tojson(ensure_ascii=True, indent=1)
{'a': 1}.get('a')
{'a': 1}.get('b')
{'a': 1}.get('b', 'c')
messages[0].get('role')
'a\nb\n\nc' | indent
'a\nb\n\nc' | indent(2)
'a\nb\n\nc' | indent(2, true)
'a\nb\n\nc\n' | indent(2, blank=true)
'a\nb' | indent(width='> ', first=true)
messages | tojson
messages[1] | tojson(indent=2)
{'a': [], 'b': {}, 'c': [1, {'d': none}]} | tojson(indent=4)
'"\\\n\t\u0001/ö<>&' | tojson
nothing | tojson
[true, false, none, -1] | tojson
' x '.strip() ~ '|'
' x '.lstrip() ~ '|'
' x '.rstrip() ~ '|'
'\n\u00a0\u3000x\u2028\u0085'.strip() ~ '|'
'\u200bx'.strip()
'xxyxx'.strip('x')
'xyzyx'.lstrip('yx')
'öaö'.strip('ö')
'a,b,,c'.split(',') | tojson
'a,b,,c'.split(',', 1) | tojson
'a,b,,c'.rsplit(',', 1) | tojson
'  a  b c '.split() | tojson
'  a  b c '.split(none, 1) | tojson
'  a  b c '.rsplit(none, 1) | tojson
''.split() | tojson
''.split(',') | tojson
'abc'.split('') | tojson
'a</think>b'.split('</think>')[-1]
'ab</think>'.split('</think>')[0].rstrip('b').split('<think>')[-1].lstrip('\n')
'a\nb\r\nc\u2028d\n'.splitlines() | tojson
'abc'.startswith('ab')
'abc'.startswith(('x', 'a'))
'abc'.endswith('bc')
'abc'.endswith('abcd')
'a.b'.replace('.', '')
'aXbXc'.replace('X', '-', 1)
'-'.join(['a', 'b'])
'-'.join([1])
'abcb'.find('b')
'öb'.find('b')
'abc'.find('x')
'abcbc'.count('bc')
'prefix-x'.removeprefix('prefix-')
'x-suffix'.removesuffix('-suffix')
'x'.removesuffix('y')
nothing is defined
nothing is not defined
nothing is undefined
messages is defined
messages[0].nothing is defined
tools is defined
tools is none
tools is not none
none is none
not tools is none
not nothing is defined
'a' is string
1 is string
messages is iterable
messages is sequence
messages is mapping
messages[0] is mapping
messages[0] is sequence
'a' is iterable
'a' is sequence
1 is iterable
nothing is iterable
1 is number
true is number
true is integer
1 is integer
true is boolean
1 is boolean
true is true
1 is true
false is false
none is false
1 is odd
2 is even
6 is divisibleby 3
6 is divisibleby(4)
'x' is odd
1 is eq 1
1 is equalto(2)
2 is ge 2
3 is gt 2
1 is in [1, 2]
'a' is not in ['b']
1 is defined and 2 is defined
nothing is defined or 'x'
'x' if nothing is defined else 'y'
range(3) | list | tojson
range(1, 3) | list | tojson
range(5, 0, -2) | list | tojson
range(1, 2, 0) | list
strftime_now('%d %b %Y')
strftime_now('%Y-%m-%d %A %a %B %j %y %H:%M %% %-d %e')
strftime_now is defined
raise_exception is defined
raise_exception('no')
bos_token ~ eos_token
pad_token
add_generation_prompt
loop
namespace(a=1).a
namespace(a=1).b
namespace(a=1)['a']
'%s' | replace('%s', 'x') | upper | lower | trim
'a' | upper ~ 'b'
('a' ~ 'b') | upper
- 3 | string
[1, 2,]
{'a': 1,}.a
(1,)[0]
()|length
"{{ 'no' }}"
'%}'
{'a': {'b': {}}}.a.b | length
messages[messages | length - 1].role
messages[(1 if true else 2)].role
'a' 'b' | upper
'x'.nothing
5 .nothing
1 is not none
(none).x
none.x
""".strip("\n").split("\n")

STATEMENTS = [
    # White space.
    "a\n  {% if true %}\n  b\n  {% endif %}\nc\n",
    "a\n  {%- if true %}\n  b\n  {%- endif %}\nc\n\n",
    "a\n  {%- if true -%}\n  b\n  {%- endif -%}\nc",
    "a\n  {%+ if true %}\n  b\n  {%+ endif %}\nc",
    "a\n{% if true +%}\n  b\n{% endif +%}\nc",
    "a {{ 1 }}\n{{ 2 }}\n\n{{- 3 -}}\n\n x",
    "a\n  {{ 1 }}\n  {{- 2 }}",
    "a {# comment #}\n b",
    "a\n   {# comment #}\n b",
    "a \n {#- comment -#}\n b",
    "a\n {#+ comment +#}\n b",
    "{# a\n {{ b }} {% c %} #}x",
    "  {% if true %}x{% endif %}  \n",
    "\n\n  {%- if true %} x {% endif -%}  \n y",
    "x{% if true %}\n{% endif %}\n\ny",
    "x\n\t {% set a = 1 %}\t\n{{ a }}",
    "a  {% if true %}b{% endif %}",
    "\u00a0{%- if true -%}\u3000b{% endif %}",
    "a\r\nb\rc{{ 'd\r\ne' | length }}\r\n",
    "{{-1}}{{+1}}",
    "{ { % } } }} %} #} {",
    "trailing newline\n",
    "trailing newlines\n\n",
    "{% if true %}a{% endif %}\n{% if true %}b{% endif %}\n\n",
    # Branches.
    "{% if 0 %}a{% elif 1 %}b{% else %}c{% endif %}",
    "{% if 0 %}a{% elif 0 %}b{% else %}c{% endif %}",
    "{% if 0 %}a{% elif 0 %}b{% elif '' %}d{% endif %}",
    "{% if messages %}{% if messages[0].role == 'system' %}s{% endif %}{% endif %}",
    "{% if 1, 0 %}tuple{% endif %}",
    # Loops.
    "{% for m in messages %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }} {% endfor %}",
    "{% for m in messages %}{{ m.role }}{% if not loop.last %}, {% endif %}{% endfor %}",
    "{% for m in messages if m.role == 'user' %}{{ loop.index }}/{{ loop.length }} {{ m.content }}{% endfor %}",
    "{% for m in [] %}a{% else %}none{% endfor %}",
    "{% for m in messages if m.role == 'x' %}a{% else %}none{% endfor %}",
    "{% for m in nothing %}a{% else %}none{% endfor %}",
    "{% for m in none %}a{% endfor %}",
    "{% for m in 3 %}a{% endfor %}",
    "{% for c in 'aö' %}[{{ c }}]{% endfor %}",
    "{% for k in {'a': 1, 'b': 2} %}{{ k }}{% endfor %}",
    "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k, v in {'a': 1, 'b': 2} | items %}{{ k }}={{ v }}{{ loop.first }};{% endfor %}",
    "{% for (k, v) in [(1, 2), [3, 4]] %}{{ k + v }} {% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}{{ a }}{% endfor %}",
    "{% for a in [1, 2] %}{% for b in [3, 4] %}{{ loop.index }}{{ a }}{{ b }} {% endfor %}{{ loop.index }};{% endfor %}",
    "{% for a in [1, 2] %}{% set outer = loop %}{% for b in 'xy' %}{{ outer.index }}{{ loop.index }}{% endfor %}{% endfor %}",
    "{% for a in [1, 2, 3] %}{{ loop.previtem }}<{{ a }}>{{ loop.nextitem }} {% endfor %}",
    "{% for a in [1, 2, 3] %}{% if loop.previtem is defined %}p{% endif %}{% if loop.nextitem is defined %}n{% endif %}{% endfor %}",
    "{% for a in [1, 2, 3, 4] %}{% if a == 2 %}{% continue %}{% endif %}{% if a == 4 %}{% break %}{% endif %}{{ a }}{% endfor %}",
    "{% for i in range(3) %}{{ i }}{% endfor %}",
    "{% for m in messages[1:] %}{{ m.role[0] }}{{ loop.depth }}{{ loop.depth0 }}{% endfor %}",
    "{% for x in [1] %}{{ loop.index.nothing }}{% endfor %}",
    "{{ loop.index }}",
    # Scopes.
    "{% set a = 1 %}{% for x in [1, 2] %}{{ a }}{% set a = x + 5 %}{{ a }} {% endfor %}{{ a }}",
    "{% set a = 1 %}{% if true %}{% set a = 2 %}{% endif %}{{ a }}",
    "{% if false %}{% set a = 2 %}{% endif %}{{ a is defined }}",
    "{% for x in [1] %}{% set fresh = x %}{% endfor %}{{ fresh is defined }}",
    "{% for x in [1, 2] %}{% if x == 1 %}{% set seen = 1 %}{% endif %}{{ seen is defined }}{% endfor %}",
    "{% for bos_token in ['x'] %}{{ bos_token }}{% endfor %}{{ bos_token }}",
    "{% set messages = messages[1:] %}{{ messages[0].role }}",
    "{% for m in messages %}{% set messages = [] %}{{ messages | length }}{% endfor %}{{ messages | length }}",
    "{% if not tools is defined %}{% set tools = 1 %}{% endif %}{{ tools }}",
    "{% if tools is none %}{% set tools = 'x' %}{% endif %}{{ tools }}",
    "{% if not date is defined %}{% set date = 'today' %}{% endif %}{{ date }}",
    "{% set ns = namespace(a=1, b='x') %}{% for x in [1, 2] %}{% set ns.a = ns.a + x %}{% endfor %}{{ ns.a }}{{ ns.b }}",
    "{% set ns = namespace() %}{% set ns.new = 5 %}{{ ns.new }}{{ ns.other }}",
    "{% set ns.a = 1 %}",
    "{% set a = {'b': 1} %}{% set a.b = 2 %}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}",
    "{% set a, b = [1, 2, 3] %}",
    "{% set a = 1, 2 %}{{ a | tojson }}",
    "{% set a %}x{{ 1 }}\n{% endset %}[{{ a }}]",
    "{% set a = 'x' if nothing else 'y' %}{{ a }}",
    "{% set ns = namespace(t='') %}{% set ns.t %}block{% endset %}{{ ns.t }}",
    # Macros.
    "{% macro m(a, b='d') %}<{{ a }}{{ b }}>{% endmacro %}{{ m(1) }}{{ m(1, 2) }}{{ m(b=3, a=4) }}{{ m() }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(c=2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=2) }}",
    "{% set g = 'glob' %}{% macro m() %}{{ g }}{{ bos_token }}{% set g = 'inner' %}{{ g }}{% endmacro %}{{ m() }}{{ g }}",
    "{% macro m(n) %}{{ n }}{% if n > 0 %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(3) }}",
    "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}b{% endmacro %}{{ a() }}",
    "{{ late() }}{% macro late() %}x{% endmacro %}",
    "{% macro m() -%}\n x \n{%- endmacro %}[{{ m() | upper }}]",
    "{% macro m(x) %}{{ x | tojson }}{% endmacro %}{{ m([1, {'a': none}]) }}",
    "{% macro m(t) %}{% for x in t %}{{ loop.index }}{{ x }}{% endfor %}{% endmacro %}{% for y in 'ab' %}{{ m([y, y]) }}{{ loop.index }}{% endfor %}",
    # Transformers' own.
    "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}{% endfor %}",
    "{% set x = 'a' %}{% generation %}{% set x = 'b' %}{{ x }}{% endgeneration %}{{ x }}",
    "{% for m in messages %}{% generation %}{{ loop.index }}{% set y = m.role %}{% endgeneration %}{{ y }}{% endfor %}",
    "{{ raise_exception('why: ' + messages[0].role) }}",
    "{{ tools }}{{ documents }}{{ add_generation_prompt }}",
    # What is no Jinja.
    "{% if true %}", "{{ 1", "{{ 1 + }}", "{% endif %}", "{% for x messages %}{% endfor %}", "{% if %}x{% endif %}",
    "{{ 'a }}", "{# a", "{{ (1 }}", "{{ 1 2 }}", "{% else %}", "{% set 1 = 2 %}", "{% set a %}x", "{{ a..b }}", "{{ ?x }}",
    "{% break %}", "{{ 'x' is }}", "{{ | trim }}",
]

# What is nothing, goes through once, or is no list at all, under all that goes through lists.
NO_LISTS = ["none", "nothing", "0", "1", "false", "true", "''", "[]", "{}", "[none]", "{'a': 1} | items", "'ab' | reverse",
            "[1, 2] | reverse", "['x', 'y'] | map('upper')", "[1, 0] | select", "messages | selectattr('none')"]
OVER_LISTS = ["list | tojson", "first", "last", "length", "join(',')", "reverse | list | tojson", "items | list | tojson",
              "dictsort | tojson", "tojson", "map('upper') | list | tojson", "map(attribute='a') | list | length",
              "select | list | tojson", "reject | list | tojson", "select('none') | list | tojson",
              "selectattr('a') | list | tojson", "rejectattr('a', 'defined') | list | tojson"]
EXPRESSIONS += [f"({value}) | {filter}" for value in NO_LISTS for filter in OVER_LISTS]
EXPRESSIONS += [f"'yes' if ({value}) else 'no'" for value in NO_LISTS]
EXPRESSIONS += [f"({value}) is {test}" for value in NO_LISTS for test in ("iterable", "sequence", "none", "defined", "mapping")]
EXPRESSIONS += [f"1 in ({value})" for value in NO_LISTS]
EXPRESSIONS += [f"({value})[0] is defined" for value in NO_LISTS]
STATEMENTS += [f"{{% for x in {value} %}}{{{{ loop.index }}}}{{{{ loop.last }}}}{{% else %}}none{{% endfor %}}"
               for value in NO_LISTS]
STATEMENTS += [f"{{% set g = {value} %}}{{{{ g | list | length }}}}{{{{ g | list | length }}}}" for value in NO_LISTS]

TEMPLATES = ["{{ " + expression + " }}" for expression in EXPRESSIONS] + STATEMENTS
