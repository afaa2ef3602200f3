"""task-scores.py TRAIN FOLDER: the accuracy of tasks, computed slowly.

Prompts, their bytes, which of them have a loss, the mean of a candidate and the
likeliest one are computed here a second time. Each candidate is evaluated by a
process of its own, as ids and labels, and must lose what --predictions says.
TRAIN is of a model with a byte tokenizer.
"""
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

train, folder = sys.argv[1:3]


def question(text):
    text = text if text.endswith("?") else text + "?"
    return text[0].upper() + text[1:]


def span(e, name):
    return e["target"][name] if "target" in e else e[name]


YES_NO = {0: "No", 1: "Yes"}
TASKS = {
    "sst2": (lambda e: e["sentence"].strip() + " It was",
             {0: " terrible", 1: " great"}, {}),
    "rte": (lambda e: f"{e['sentence1']}\nDoes this mean that \"{e['sentence2']}\""
            " is true? Yes or No?\n", {0: "Yes", 1: "No"},
            {"entailment": 0, "not_entailment": 1}),
    "cb": (lambda e: f"Suppose {e['premise']} Can we infer that \"{e['hypothesis']}\""
           "? Yes, No, or Maybe?\n", {0: "Yes", 1: "No", 2: "Maybe"},
           {"entailment": 0, "contradiction": 1, "neutral": 2}),
    "boolq": (lambda e: f"{e['passage']} {question(e['question'])}\n",
              {1: "Yes", 0: "No"}, {}),
    "wic": (lambda e: f"Does the word \"{e['word']}\" have the same meaning in these "
            f"two sentences? Yes, No?\n{e['sentence1']}\n{e['sentence2']}\n",
            YES_NO, {}),
    "wsc": (lambda e: f"{e['text']}\nIn the previous sentence, does the pronoun "
            f"\"{span(e, 'span2_text').lower()}\" refer to {span(e, 'span1_text')}"
            "? Yes or No?\n", YES_NO, {}),
}


def examples(path):
    if path.endswith(".tsv"):
        with open(path) as file:
            return list(csv.DictReader(file, delimiter="\t",
                                       quoting=csv.QUOTE_NONE))
    with open(path) as file:
        text = file.read()
    return json.loads(text) if text.lstrip().startswith("[") else \
        [json.loads(line) for line in text.splitlines()]


def evaluate(*options):
    out = subprocess.run([train, "--eval-only", "--threads", "1", *options],
                         check=True, capture_output=True, text=True).stdout
    return out, float(re.search(r"^eval loss +([0-9.]+)", out, re.M)[1])


def loss_of(prompt, candidate, work):
    before, after = list(prompt.encode()), list(candidate.encode())
    line = {"input_ids": before + after, "labels": [-100] * len(before) + after}
    path = os.path.join(work, "one.jsonl")
    with open(path, "w") as file:
        file.write(json.dumps(line) + "\n")
    return evaluate("--task", "none", "--eval-data", path)[1], len(after)


compared = 0
for name, (prompt_of, words, labels) in TASKS.items():
    data = next(os.path.join(folder, file) for file in os.listdir(folder)
                if file.split(".")[0] == name)
    with tempfile.TemporaryDirectory() as work:
        predicted = os.path.join(work, "predictions")
        out, loss = evaluate("--eval-data", data, "--task", name,
                             "--predictions", predicted)
        with open(predicted) as file:
            lines = [json.loads(line) for line in file]
        correct, total, tokens = 0, 0, 0
        for example, line in zip(examples(data), lines, strict=True):
            label = example["label"] if "label" in example else example["answer"]
            label = labels[label] if label in labels else int(label)
            scores = {}
            for candidate, word in words.items():
                scores[candidate], count = loss_of(prompt_of(example), word, work)
                given = line["losses"][word.strip()]
                assert abs(given - scores[candidate]) < 1e-8, (name, line, scores)
                compared += 1
                if candidate == label:
                    total, tokens = total + scores[candidate] * count, tokens + count
            best = min(scores, key=scores.get)
            assert line["prediction"] == words[best].strip(), (name, line)
            assert line["label"] == words[label].strip(), (name, line)
            correct += best == label
        found = re.search(r"^accuracy +([0-9.]+), (\d+) of (\d+) examples", out, re.M)
        assert (int(found[2]), int(found[3])) == (correct, len(lines)), found
        assert abs(loss - total / tokens) < 1e-8, (name, loss, total / tokens)
        print(f"{name}: {correct} of {len(lines)} as computed slowly")
print(f"{compared} candidates lose what they lose alone")
