"""Makes models that differ from the tiny one in ways that a server would not tell: variants.py DIR

DIR receives the same weights with 16, 8, 5 and 4 bits (bf16.gguf, q8_0.gguf, q5_0.gguf, q4_0.gguf), other weights (weights.gguf), weights
that always choose "!", as NaN does with many vocabularies (broken.gguf), and another chat template (template.jinja).
"""
import sys
from pathlib import Path
from unittest import mock

import gguf
import tiny_model

add_tensor = gguf.GGUFWriter.add_tensor


def write_quantised(path, tokenizer, weights, kind):
    def add_quantised(writer, name, tensor):
        if tensor.ndim == 1:  # llama.cpp wants norms as they are
            add_tensor(writer, name, tensor)
        else:
            add_tensor(writer, name, gguf.quants.quantize(tensor, kind), raw_dtype=kind)

    with mock.patch.object(gguf.GGUFWriter, "add_tensor", add_quantised):
        tiny_model.write_gguf(path, tokenizer, weights)


def main():
    folder = Path(sys.argv[1])
    tokenizer = tiny_model.make_tokenizer()
    weights = tiny_model.make_weights(tokenizer)
    for kind in ("BF16", "Q8_0", "Q5_0", "Q4_0"):
        write_quantised(folder / f"{kind.lower()}.gguf", tokenizer, weights, gguf.GGMLQuantizationType[kind])
    weights["lm_head.weight"][tokenizer.token_to_id("!"), 0] = 100.0
    tiny_model.write_gguf(folder / "broken.gguf", tokenizer, weights)
    tiny_model.SEED += 1
    tiny_model.write_gguf(folder / "weights.gguf", tokenizer, tiny_model.make_weights(tokenizer))
    # A space that was not there is a mistake that templates really have.
    (folder / "template.jinja").write_text(tiny_model.CHAT_TEMPLATE.replace("}}|>", "}}|> "))


if __name__ == "__main__":
    main()
