# ===- make_chats.py - What Transformers answers in a chat -----------------===#
#
# A conversation goes through apply_chat_template and is continued greedily, with
# golden/chat's tokenizer and templates and a random model. Writes
# golden/models/chat-tiny/ and golden/generations/chat/: for each template the
# words of the user and of the system, what Transformers makes of them, and the
# ids after that, up to what ends a turn or a text. As in make_generations.py, no
# choice is close.
#
# ===-----------------------------------------------------------------------===#

import itertools

from transformers import PreTrainedTokenizerFast

from make_generations import MARGIN, generate, load
from make_models import GOLDEN, MODELS, write_model

TOKENS = 60
CHAT = GOLDEN / "chat"
MODEL = {
    **MODELS["qwen2-tiny"],
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "intermediate_size": 40,
    "tie_word_embeddings": False,
    "max_position_embeddings": 256,
}
# Template: the end of an assistant's turn, and whether there is a system.
TEMPLATES = {
    "chatml": ("<|im_end|>", True),
    "llama3": ("<|eot_id|>", True),
    "gemma3": ("<end_of_turn>", True),
    "mistral": ("</s>", False),
}
SYSTEM = "Be brief, and kind."
QUESTIONS = [
    "What is the height of the tower?",
    "größer, schärfer, naïve café",
    "  spaces at both ends  ",
    "\nlines\n\nwithin\n",
    "1. one\n2. two\n   - three",
    "emoji 👩‍🔧 and 🇩🇪",
    "石を研ぐ",
]


def write_chat(name, end, with_system, model, tokenizer, folder):
    """The question whose answer has the most different tokens."""
    template = (CHAT / "templates" / f"{name}.jinja").read_text()
    best = None
    for question in QUESTIONS:
        turns = [{"role": "user", "content": question}]
        if with_system:
            turns.insert(0, {"role": "system", "content": SYSTEM})
        text = tokenizer.apply_chat_template(
            turns, chat_template=template, tokenize=False, add_generation_prompt=True)
        prompt = tokenizer.encode(text, add_special_tokens=False)
        ids, margin = generate(model, prompt, TOKENS)
        stops = tokenizer.convert_tokens_to_ids([end, tokenizer.eos_token])
        ids = list(itertools.takewhile(lambda i: i not in stops, ids))
        if margin >= MARGIN and (best is None or len(set(ids)) > len(set(best[3]))):
            best = question, text, prompt, ids, margin
    if best is None:
        raise SystemExit(f"{name}: every answer has a close choice")
    question, text, prompt, ids, margin = best
    files = {
        "user": question,
        "rendered": text,
        "prompt": ",".join(map(str, prompt)) + "\n",
        "ids": "".join(f"{i}\n" for i in ids),
    }
    if with_system:
        files["system"] = SYSTEM
    for kind, content in files.items():
        (folder / f"{name}.{kind}").write_text(content)
    print(f"{name}: {len(prompt)} and {len(ids)} tokens, {len(set(ids))} different, margin {margin:.2e}")


if __name__ == "__main__":
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(CHAT / "qwen2" / "tokenizer.json"), bos_token="<s>", eos_token="</s>")
    directory = GOLDEN / "models" / "chat-tiny"
    write_model(directory, {**MODEL, "vocab_size": len(tokenizer)})
    folder = GOLDEN / "generations" / "chat"
    folder.mkdir(exist_ok=True)
    model = load(directory)
    for name, (end, with_system) in TEMPLATES.items():
        write_chat(name, end, with_system, model, tokenizer, folder)
