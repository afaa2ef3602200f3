//===- ChatPresets.cpp - Chat templates for models without one ------------===//
//
// The formats of well-known models, with their marks around an answer. Tools
// are refused: each model that has them writes them in its own way.
//
//===----------------------------------------------------------------------===//

#include "compiler/text/ChatPresets.h"

namespace hone {

#define HONE_NO_TOOLS                                                          \
  "{%- if tools %}{{ raise_exception('this preset writes no tools') }}"        \
  "{% endif -%}\n"                                                             \
  "{%- for message in messages %}{% if message.role == 'tool' or "             \
  "message.tool_calls %}{{ raise_exception('this preset writes no tools') }}"  \
  "{% endif %}{% endfor -%}\n"

static const ChatPreset Presets[] = {
    {"chatml",
     HONE_NO_TOOLS
     R"({%- for message in messages -%}
{{ '<|im_start|>' + message.role + '\n' }}
{%- if message.role == 'assistant' -%}
{% generation %}{{ message.content + '<|im_end|>' }}{% endgeneration %}
{%- else -%}
{{ message.content + '<|im_end|>' }}
{%- endif -%}
{{ '\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%})",
     {"<|im_start|>", "<|im_end|>"}},
    {"llama3",
     HONE_NO_TOOLS
     R"({{- bos_token -}}
{%- for message in messages -%}
{{ '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' }}
{%- if message.role == 'assistant' -%}
{% generation %}{{ (message.content | trim) + '<|eot_id|>' }}{% endgeneration %}
{%- else -%}
{{ (message.content | trim) + '<|eot_id|>' }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif -%})",
     {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}},
    {"gemma",
     HONE_NO_TOOLS
     R"({{- bos_token -}}
{%- set ns = namespace(system='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{%- if not loop.first -%}
{{ raise_exception('the system turn must be the first') }}
{%- endif -%}
{%- set ns.system = message.content + '\n\n' -%}
{%- elif message.role == 'assistant' -%}
{{ '<start_of_turn>model\n' -}}
{% generation %}{{ (message.content | trim) + '<end_of_turn>' }}{% endgeneration %}
{{- '\n' }}
{%- else -%}
{{ '<start_of_turn>user\n' + ns.system + (message.content | trim) + '<end_of_turn>\n' }}
{%- set ns.system = '' -%}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<start_of_turn>model\n' }}{%- endif -%})",
     {"<start_of_turn>", "<end_of_turn>"}},
    {"plain",
     HONE_NO_TOOLS
     R"({{- bos_token -}}
{%- for message in messages -%}
{{ '### ' + (message.role | capitalize) + ':\n' }}
{%- if message.role == 'assistant' -%}
{% generation %}{{ message.content + (eos_token or '') }}{% endgeneration %}
{%- else -%}
{{ message.content }}
{%- endif -%}
{{ '\n\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '### Assistant:\n' }}{%- endif -%})",
     {}},
};

#undef HONE_NO_TOOLS

const ChatPreset *findChatPreset(std::string_view name) {
  for (const ChatPreset &preset : Presets)
    if (name == preset.name)
      return &preset;
  return nullptr;
}

} // namespace hone
