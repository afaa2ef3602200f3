# ===- stories.py - The pre-trained model and text that are never committed ===#
#
# Found under $HONE_SHARED/data (default: ../shared beside the repository).
# Only figures about them may enter golden/, never a tensor, token or line.
#
# ===-----------------------------------------------------------------------===#

import json
import os
import pathlib

from tokenizers import Tokenizer

_REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
_DATA = pathlib.Path(os.environ.get("HONE_SHARED", _REPOSITORY.parent / "shared")) / "data"
STORIES = _DATA / "stories260k"


def sample_batch():
    """The 257 ids of generation_sample.json, prompt first; all are labels."""
    sample = json.loads((STORIES / "generation_sample.json").read_text())
    ids = sample["prompt_ids"] + sample["generated_ids"]
    return [(ids, ids)]


def shakespeare_ids():
    """tiny-shakespeare encoded as one string: one <s>, at the very start."""
    text = (_DATA / "tinyshakespeare" / "input.txt").read_bytes().decode()
    return Tokenizer.from_file(str(STORIES / "tokenizer.json")).encode(text).ids
