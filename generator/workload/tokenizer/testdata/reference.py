"""Makes tokenizer.json and counts.json: a small byte-level BPE with different pre-tokenizers, and what the Python package tokenizers counts.

    pip install tokenizers==0.23.3
    python reference.py ../../holmes.txt
"""

import json
import random
import sys

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = [
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
]


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def sequence(*patterns):
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {"type": "Sequence", "pretokenizers": [*map(split, patterns), level]}


KINDS = {
    "GPT-2": (None, {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}),
    "Llama 3": (None, sequence(LLAMA3)),
    "Qwen": ({"type": "NFC"}, sequence(QWEN)),
    "gpt-oss": (None, sequence(O200K)),
    "DeepSeek": ({"type": "Sequence", "normalizers": []}, sequence(*DEEPSEEK)),
}

ODD = [
    "", " ", "  ", "\n\n\n", "\t x\t\ty", "don't I'LL we've", "1234567890 12 3", "naïve café über Straße", "日本語のテキスト、漢字。",
    "한국어 문장입니다", "Привет, мир!", "😀👩‍👩‍👧 emoji 🇩🇪", "مرحبا بالعالم", "e\u0301 combining", "a\u00a0b\u2003c",
    "x=1;y=2 //ok\r\n\r\n  z", "\u200b zero", "ﬁ ligature", "100,000.50€ £5 ¥7", "snake_case camelCase HTTPServer2", "…—“quotes”",
    "नमस्ते दुनिया", "\ud7a3\u1100", "#include <stdio.h>\n\nint main() {\n\treturn 0;\n}\n", '{"a": [1, 2.5, null], "b": "\\u00e9"}',
]


def main():
    rng = random.Random(5)
    book = open(sys.argv[1]).read()
    texts = list(ODD)
    for size in (10, 50, 200, 1000):
        for _ in range(10):
            start = rng.randrange(len(book) - size)
            texts.append(book[start : start + size])
    pieces = ["é", "中", "a", "B", " ", "  ", "\n", "1", "23", "!", "'s", "_", "-", "😀", "ß", "\t", "и"]
    for size in (5, 40):
        texts += ["".join(rng.choice(pieces) for _ in range(size)) for _ in range(30)]

    base = Tokenizer(models.BPE())
    base.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    base.train_from_iterator(
        [book] + ODD * 5, trainers.BpeTrainer(vocab_size=700, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    )
    data = json.loads(base.to_str())
    with open("tokenizer.json", "w") as out:
        json.dump(data, out, ensure_ascii=False)
    counts = {"texts": texts, "kinds": []}
    for name, (normalizer, pre) in KINDS.items():
        data["normalizer"], data["pre_tokenizer"] = normalizer, pre
        tokenizer = Tokenizer.from_str(json.dumps(data))
        got = [len(tokenizer.encode(text, add_special_tokens=False).ids) for text in texts]
        counts["kinds"].append({"name": name, "normalizer": normalizer, "pre_tokenizer": pre, "counts": got})
    with open("counts.json", "w") as out:
        json.dump(counts, out, ensure_ascii=False)


main()
