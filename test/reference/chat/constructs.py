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

# Numbers that are no integers, lists as a whole, formats, texts that are safe.
EXPRESSIONS += r"""
1.5
0.1 + 0.2
1 / 2
4 / 2
-7 / 2
1e3
1.5e-7
1e16
123456789012345680.0
1e22
0.0001
0.00001
-0.0
1.0
3.14 * 2
7.5 // 2
-7.5 // 2
7.5 % 2
-7.5 % 2
7.5 % -2
1 / 0
1.5 // 0
2 ** 3
+1
1.0 == 1
1.5 < 2
2 > 1.5
1.5 in [1, 1.5]
[1.5, 2, 1e100, -1e-7] | tojson
1.5 is number
1.5 is float
1 is float
1.5 is integer
1.5 is string
0.0 or 'x'
1.7 | int
-1.7 | int
'1.5' | float
' 2 ' | float
'x' | float
'x' | float(3)
none | float
3 | float
'1e5' | float
-3 | abs
-2.5 | abs
2.5 | round
3.5 | round
2.567 | round(2)
2.675 | round(2)
42 | round
2.4 | round(0, 'ceil')
1.5 ~ 'a'
1.5 | string
1.5 | tojson
[3, 1, 2] | sort
['b', 'A', 'c'] | sort
['b', 'A', 'c'] | sort(reverse=true)
['b', 'A', 'c'] | sort(case_sensitive=true)
messages | sort(attribute='role') | map(attribute='role') | join(',')
messages | sort(attribute='content', reverse=true) | map(attribute='role') | join(',')
[[2, 'a'], [1, 'b']] | sort(attribute=0)
[1, 'a'] | sort
{'b': 1, 'a': 2} | sort
'cab' | sort
[1, 2, 1, 3] | unique | list
['a', 'A', 'b'] | unique | list
['a', 'A', 'b'] | unique(true) | list
messages | unique(attribute='role') | map(attribute='role') | join(',')
messages | map(attribute='role') | unique | list | length
[[1], [1]] | unique | list
[1, 1.0, true, 'a'] | unique | list
[1, 2, 3] | sum
[1, 0.5] | sum
[] | sum
[1, 2] | sum(start=5)
messages | sum(attribute='role')
[{'a': 1}, {'a': 2}] | sum(attribute='a')
[{'a': {'b': 1}}, {'a': {'b': 2}}] | sum('a.b')
['a', 'b'] | sum
[3, 1, 2] | min
[3, 1, 2] | max
['b', 'A'] | min
['b', 'A'] | max
[] | min
[] | max
[1, 'a'] | max
[{'a': 2}, {'a': 1}] | min(attribute='a')
messages | map(attribute='content.0') | join
[{'a': [5, 6]}] | map(attribute='a.1') | list
[{'a': {'b': 1}}, {'a': {'b': 0}}] | selectattr('a.b') | list | length
['a-b', 'c-d'] | map('replace', '-', '+') | list
[' a', 'b '] | map('trim') | list
['a', none] | map('default', 'd', true) | list
[1, 2] | map('string') | join(',')
'%s and %s' | format('a', 1)
'%d%%' | format(5)
'%s' | format([1])
'%s' | format
'%d' | format('x')
'%s' | format(1, 2)
'%s-%s' % ('a', 2)
'%s' % 'a'
'{} {}'.format('a', 1)
'{1}{0}'.format('a', 'b')
'{{}}{}'.format('a')
'{}'.format()
'{0}{}'.format(1, 2)
'{:>5}'.format('a')
'{a}'.format(a=1)
'a' ~ {'b': [1, none, 'x']}
dict(a=1, b='x') | tojson
dict({'a': 1}, b=2) | tojson
dict([('a', 1), ('b', 2)]) | tojson
dict() | tojson
dict(a=1).a
dict is defined
[1, 'a', none, true, 1.5]
['it\'s', '"q"', 'both \' "', 'a\\b', 'n\n\t', 'ö石']
['\u00a0']
{'a': {'b': []}, 'c': 'd'}
(1, 2)
(1,)
()
(1, 2) + (3,)
[1] + (2,)
(1, 2) == [1, 2]
(1, 2)[1:]
{'a': 1}.items() | list
{'a': 1} | items | list
{'a': 1} | dictsort
'a"b' | safe
('a' | safe) + '<b>&"\''
'<' + ('a' | safe)
('<' | safe) + ('>' | safe)
('a' | safe) ~ '<'
('a' | safe).strip() + '<'
('a' | safe)[0] + '<'
('ab' | safe)[:1] + '<'
('a b' | safe).split(' ')[0] + '<'
('a' | safe) | upper + '<'
(('a' | safe) | upper) + '<'
(('a' | safe) | trim) + '<'
(('a' | safe) | string) + '<'
(('a' | safe) | tojson) + '<'
(['a' | safe] | join) + '<'
(('a' | safe) | replace('a', 'b')) + '<'
(('a' | safe) | indent) + '<'
(('a' | safe) | default('x')) + '<'
(('a' | safe) | capitalize) + '<'
(('a' | safe) | title) + '<'
(('a' | safe) * 2) + '<'
('<' | safe) == '<'
'<' in ('a<' | safe)
('%s' | safe) % '<'
('a' | safe).replace('a', '<')
'abc' is lower
'aBc' is lower
'ABC' is upper
'1' is lower
'12'.isdigit()
''.isdigit()
'ab'.isalpha()
'a1'.isalpha()
' \t'.isspace()
messages is callable
namespace is defined
""".strip("\n").split("\n")
STATEMENTS += [
    "{% raw %}{{ a }} {% if %} {# #}{% endraw %}x",
    "a\n  {% raw %}\n b {{ c }}\n  {% endraw %}\nd",
    "a \n {%- raw -%} \n b \n {%- endraw -%} \n c",
    "{% raw %}a{%+ endraw +%}\nb",
    "{%raw%}{% raw %}{% endraw %}",
    "{% raw %}a",
    "{% filter upper %}a{{ 'b' }}c{% endfilter %}",
    "{% filter trim | replace('a', 'b') %} a {% endfilter %}|",
    "{% filter indent(2) %}a\nb{% endfilter %}",
    "{% filter upper %}{% set x = 1 %}{% endfilter %}{{ x is defined }}",
    "{% set x | upper %}a{{ 'b' }}{% endset %}{{ x }}",
    "{% set x | trim | length %} ab {% endset %}{{ x + 1 }}",
    "{% set y = 1 %}{% set x %}{% set y = 2 %}{{ y }}{% endset %}{{ x }}{{ y }}",
    "{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a is defined }}",
    "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "{% with %}{% set a = 1 %}{% endwith %}{{ a is defined }}",
    "{% for x in [1, 2, 3] %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% for x in [1, 2, 3] %}{{ loop.cycle() }}{% endfor %}",
    "{% for x in [1, 1, 2] %}{{ loop.changed(x) }}{% endfor %}",
    "{% set x = 1.5 %}{% set x = x * 2 %}{{ x }}",
    "{% set x = 1, %}{{ x | length }}",
    # What is not supported in a branch that never runs.
    "{% if false %}{{ messages | groupby('role') }}{{ 2 ** 3 }}{% endif %}a",
    "{% if false %}{% include 'x' %}{% endif %}a",
    "{% if false %}{% for x in [] recursive %}{{ loop([]) }}{% endfor %}{% endif %}a",
    "{% if false %}{% call m() %}x{% endcall %}{% endif %}a",
    "{% if false %}{{ x[1, 2] }}{{ f(*x) }}{{ (1)(2) }}{{ loop.changed(1) }}{% endif %}a",
    "{{ 'a' if true else (x | batch(2)) }}",
    "{{ true or messages.append(1) }}",
    "{% macro m() %}{{ 'x'.zfill(3) }}{% endmacro %}a",
    # Calls of tools, as templates write them.
    "{% for k, v in {'a': 1.0, 'b': [true, none], 'c': 'ö\"'}.items() %}<{{ k }}>{{ v | string }}{{ v | tojson }}{% endfor %}",
    "{{ {'b': {'y': 1, 'x': 0.5}, 'a': []} | tojson(indent=2) }}",
    "{{ [{'type': 'function', 'n': -1e-07}] }}",
    # Python's attributes, which Jinja finds where there is no such member.
    "{% set p = {'type': 'array'} %}{% if p['items'] %}{{ p['items'] is defined }}{{ p['items']['type'] }}{% endif %}",
    "{{ [{'a': 1}, {'items': 2}] | selectattr('items') | list | length }}",
    "{{ {'a': 1}['copy'] is defined }}{{ {'pop': 1}['pop'] }}{{ {'a': 1}['pop'] is defined }}{{ {'pop': 1}.pop is defined }}",
    "{{ {'copy': 1}.copy is defined }}",
    "{{ 'a'['upper'] is callable }}{{ 'a'['nothing'] is defined }}{{ [1]['append'] is defined }}{{ [1]['count'] is defined }}",
    "{{ 'a'.zfill is defined }}",
    "{{ messages.count is defined }}{{ messages.append is defined }}",
    "{{ (1).real }}",
    "{{ 1.5.real }}",
    "{% macro m() %}{% endmacro %}{{ m.name }}",
    "{{ [{'0': 'a'}] | map(attribute='0') | first is defined }}",
    # Generators, views and loops beyond their first use.
    "{% set g = 'abc' | map('upper') %}{{ 'A' in g }}{{ g | list }}{{ 'A' in g }}",
    "{% set g = 'abc' | map('upper') %}{{ 'x' in g }}{{ g | list }}",
    "{{ {'a': 1, 'b': 2}.keys() == {'b': 2, 'a': 1}.keys() }}",
    "{{ {'a': 1}['items'] == {'b': 1}['items'] }}",
    "{{ {'a': 1}['items'] in [{'b': 2}['items']] }}",
    "{{ [{'a': 1}, {'b': 2}] | map(attribute='items') | unique | list | length }}",
    "{{ [{'a': 1}['items']] == [{'b': 1}['items']] }}",
    "{{ [{'a': 1}.values()] == [{'a': 1}.values()] }}",
    "{{ {'a': 1}['items'] == 1 }}{{ 'a' in [{'b': 2}['items']] }}{{ {'a': 1}['items'] != none }}",
    "{% set n = namespace() %}{% for i in [1, 2] %}{% set n.l = loop %}{% endfor %}{% for i in [1, 2, 3] %}{{ n.l.index }}{% endfor %}",
    "{% set n = namespace() %}{% for i in [1, 2] %}{% set n.l = loop %}{% for j in 'ab' %}{{ n.l.index }}{{ n.l.cycle('x', 'y') }}{% endfor %}{% endfor %}",
    # Blocks that have names of their own.
    "{% with a = 1 %}{% macro m() %}[{{ a }}]{% endmacro %}{{ m() }}{% endwith %}",
    "{% set x %}{% set a = 1 %}{% macro m() %}[{{ a }}]{% endmacro %}{{ m() }}{% endset %}{{ x }}",
    "{% filter upper %}{% set a = 'q' %}{% macro m() %}[{{ a }}]{% endmacro %}{{ m() }}{% endfilter %}",
    "{% generation %}{% set a = 1 %}{% macro m() %}[{{ a }}]{% endmacro %}{{ m() }}{% endgeneration %}",
    "{% for i in [1, 2] %}{% set x %}a{% break %}{% endset %}{{ x }}{% endfor %}",
    "{% for i in [1, 2] %}{% filter upper %}a{% continue %}b{% endfilter %}{% endfor %}",
    "{% for i in [1, 2] %}{% with a = i %}{{ a }}{% break %}{% endwith %}{% endfor %}",
    "{% for i in [1, 2] %}{% set x %}{% for j in 'ab' %}{{ j }}{% break %}{% endfor %}{% endset %}{{ x }}{% endfor %}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m() }}",
    "{% macro m(varargs, kwargs=2) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1) }}{{ kwargs is defined }}",
    # Characters that few texts have.
    "{{ '\\x7f\\x1f' | tojson(ensure_ascii=true) }}{{ '\\x7f' | tojson }}",
    "{{ '\u0663' | int }}",
    "{{ '\u0663' | float }}",
    "{{ '\u00e9' | int(5) }}{{ '\u00e9' | float(5) }}",
    "{{ '\\\u00e9' }}",
    "{\0 a \0} {{ 1 }}",
]

TEMPLATES = ["{{ " + expression + " }}" for expression in EXPRESSIONS] + STATEMENTS
