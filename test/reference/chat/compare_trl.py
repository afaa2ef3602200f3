#!/usr/bin/env python3
"""Compares what the loss is taken from with TRL's training templates.

  python compare_trl.py [--without-marks] WORK [NAME...]     (needs `pip install trl`; honec and hone-make-model in PATH)

TRL's templates mark what an assistant says with {% generation %}, and Transformers
makes a mask of the marks. Each dialogue of golden/chat/dialogues.jsonl that a template
takes has the same ids and the same mask in the product, in one sample. Any other is a
failure, and what is refused is one unless it is in KNOWN, or is there and refused no
more. With --without-marks the product gets the template without them, as the models have
it, and finds the turns by prefix rendering: some masks differ then, since TRL counts
some parts of prompts as said, and none of that is a failure; having compared nothing is.
What a template needs is in WORK/TEMPLATE.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import trl
from make_golden import OUT, TODAY, VARIABLES
from make_samples import SPECIAL
from transformers import PreTrainedTokenizerFast

TEMPLATES = pathlib.Path(trl.__path__[0]) / "chat_templates"
TOKENIZER = pathlib.Path(OUT) / "qwen2"
NOTHING = "no dialogue was compared"
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 16,
    "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 16,
    "num_hidden_layers": 1, "vocab_size": 512, "hidden_act": "silu", "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0, "max_position_embeddings": 16384, "torch_dtype": "float32"}
# Template -> its remark in place of a comparison.
KNOWN = {
    "llava_next_training": NOTHING,  # reads contents as lists of parts
    "muse_glimmer_training": "upper and lower case of letters beyond ASCII are not supported",
}
TOKENS = SPECIAL + ["<|end|>", "<mask>"]
SPEC = "lora: {r: 2}\ntrain: {max_seq_length: 8192, optimizer: sgd}\n"


def theirs(tokenizer, template, talk):
    """[(id, whether the loss is taken from it)], or None."""
    try:
        made = tokenizer.apply_chat_template(
            talk, chat_template=template, return_dict=True, return_assistant_tokens_mask=True)
    except Exception:  # any error of the template
        return None
    return list(zip(made["input_ids"], map(bool, made["assistant_masks"])))


def compiled(template, work):
    """The program for it, or why there is none."""
    work.mkdir(parents=True, exist_ok=True)
    (work / "config.json").write_text(json.dumps(CONFIG))
    (work / "spec.yaml").write_text(SPEC)
    run(["hone-make-model", work / "config.json", "-o", work / "model", "--tokenizer=byte"])
    shutil.copy(TOKENIZER / "tokenizer.json", work / "model")
    (work / "model" / "tokenizer_config.json").write_text(json.dumps({**VARIABLES, "chat_template": template}))
    made = run(["honec", work / "spec.yaml", "--set", f"model={work / 'model'}", "-o", work / "out"])
    return None if made.returncode else work / "out" / "train", made.stderr.split("\n")[0]


def without_marks(template):
    return re.sub(r"\{%(-?) *(?:end)?generation *(-?)%\}", r"{%\1 if true \2%}{%\1 endif \2%}", template)


def run(command):
    return subprocess.run(command, capture_output=True, text=True)


def ours(train, talk, work):
    """As theirs(), for each sample: the first tokens, how many are not shown, the last;
    and why there are none."""
    data = work / "talk.jsonl"
    data.write_text(json.dumps({"messages": talk}) + "\n")
    shutil.rmtree(work / "run", ignore_errors=True)
    made = run([train, "--data", data, "--output", work / "run", "--steps", "1",
                "--show-samples", "99", "--chat-date", f"{TODAY:%Y-%m-%d}"])
    samples = []
    for line in re.findall(r"^ +ids +(.*)$", made.stdout, re.M):
        inside, parts, hidden = False, [[]], 0
        for mark in re.findall(r"\[|\]|\.\.\. \d+ tokens \.\.\.|\d+", line):
            if mark.isdigit():
                parts[-1].append((int(mark), inside))
            elif mark in "[]":
                inside = mark == "["
            else:
                hidden = int(mark.split()[1])
                parts.append([])
        samples.append((parts[0], hidden, parts[-1] if hidden else []))
    return samples, made.stderr.split("\n")[0]


def is_same(sample, wanted):
    first, hidden, last = sample
    return len(first) + hidden + len(last) == len(wanted) and first == wanted[:len(first)] and (
        last == wanted[len(wanted) - len(last):])


def compare(name, given, template, tokenizer, talks, work):
    """Compares what the product makes of `given`; how many are the same, and what is wrong."""
    train, problem = compiled(given, work)
    if train is None:
        print(f"{name}: honec: {problem}", flush=True)
        return 0, [problem]
    wrong, same, left_out, split = [], 0, 0, 0
    for number, talk in enumerate(talks):
        spelled = any(t in turn["content"] + turn.get("reasoning_content", "") for turn in talk for t in TOKENS)
        wanted = None if spelled or talk[0]["role"] == "assistant" else theirs(tokenizer, template, talk)
        if wanted is None or not any(mask for _, mask in wanted):
            left_out += 1
            continue
        found, problem = ours(train, talk, work)
        if not found:
            wrong.append(problem)
            print(f"   dialogue {number}: {problem}")
        elif len(found) > 1:
            split += 1
            wrong.append("several samples")
        elif is_same(found[0], wanted):
            same += 1
        else:
            wrong.append("other ids or another mask")
            at = next((i for i, (a, b) in enumerate(zip(found[0][0], wanted)) if a != b), None)
            print(f"   dialogue {number} differs, first at {at}: {found[0][0][at:][:4]}, theirs {wanted[at:][:4]}")
    print(f"{name}: {same} same, {len(talks) - same - left_out} others ({split} of several samples), "
          f"{left_out} left out", flush=True)
    return same, wrong if len(talks) > left_out else [NOTHING]


def main():
    arguments = sys.argv[1:]
    unmarked = "--without-marks" in arguments
    folder, *names = [a for a in arguments if not a.startswith("--")]
    work = pathlib.Path(folder)
    talks = [json.loads(line)["messages"] for line in open(os.path.join(OUT, "dialogues.jsonl"))]
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(TOKENIZER / "tokenizer.json"), **VARIABLES)
    compared, failed = 0, []
    for path in sorted(TEMPLATES.glob("*_training.jinja")):
        name, template = path.stem, path.read_text()
        if names and name not in names:
            continue
        same, wrong = compare(name, without_marks(template) if unmarked else template,
                              template, tokenizer, talks, work / name)
        compared += same
        known = KNOWN.get(name)
        if known:
            wrong = [problem for problem in wrong if known not in problem] if wrong else ["it is not refused"]
        failed += [name] if wrong and not unmarked else []
    if failed:
        sys.exit(f"not as TRL has it: {', '.join(failed)}")
    if not compared:
        sys.exit("nothing was the same")


if __name__ == "__main__":
    main()
