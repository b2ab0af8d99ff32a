"""Makes a tiny Llama model with random weights that real inference servers load: tiny_model.py DIR

The answers are nonsense, but serving them is real work: a tokenizer, a prefill, one step per token. Every token the model can
choose is printable ASCII, and it never ends an answer by itself, so the requested number of tokens is the number generated.
DIR receives the Hugging Face layout (config.json, model.safetensors, tokenizer.json, ...) and tiny.gguf with the same weights.
"""
import json
import random
import string
import sys
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

SEED = 1
VOCABULARY = 2048
CONTEXT = 8192
HIDDEN = 256
FEED_FORWARD = 2 * HIDDEN
LAYERS = 2
HEADS = 4
KV_HEADS = 2
HEAD = HIDDEN // HEADS  # vLLM on CPU takes 32, 64, 96 and 128
NORM_EPSILON = 1e-5
ROPE_BASE = 10000.0

BOS, EOS, PAD = "<|bos|>", "<|eos|>", "<|pad|>"
SPECIAL = [PAD, BOS, EOS, "<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>"]
PRINTABLE = set(string.ascii_letters + string.digits + " .,?!'-")
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>"
    "{% if message['content'] is string %}{{ message['content'] }}"
    "{% else %}{% for part in message['content'] %}{% if part['type'] == 'text' %}{{ part['text'] }}{% endif %}{% endfor %}"
    "{% endif %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def sentences(count):
    """Pseudo-English to train the tokenizer on."""
    rng = random.Random(SEED)
    onset, vowel, coda = "bcdfghklmnprstvw", "aeiou", ["", "", "n", "r", "s", "t"]

    def word():
        return "".join(rng.choice(onset) + rng.choice(vowel) + rng.choice(coda) for _ in range(rng.randint(1, 3)))

    lexicon = [word() for _ in range(1500)]
    lexicon += "the of and to in is you that it for on are with as they be at one have this from".split() * 25
    for _ in range(count):
        yield " ".join(rng.choices(lexicon, k=rng.randint(5, 14))).capitalize() + f"{rng.choice('.?!')} {rng.randint(0, 9999)}"
    yield string.printable


def make_tokenizer():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        sentences(4000),
        trainers.BpeTrainer(
            vocab_size=VOCABULARY,
            special_tokens=SPECIAL,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return tokenizer


def make_weights(tokenizer):
    """Random weights under their Hugging Face names.

    Feature 0 of the residual stream is a constant: every embedding starts it at the same value and no layer writes to it. The
    output head uses it as a bias that rules out the tokens we do not want, so no server needs a logit processor.
    """
    size = tokenizer.get_vocab_size()
    rng = np.random.default_rng(SEED)

    def matrix(rows, columns, scale=1.0):
        return (rng.standard_normal((rows, columns)) * scale / np.sqrt(columns)).astype(np.float32)

    embedding = rng.standard_normal((size, HIDDEN)).astype(np.float32)
    embedding[:, 0] = 4.0
    head = matrix(size, HIDDEN, scale=4.0)
    head[:, 0] = 0.0
    for token in range(size):
        text = tokenizer.decode([token], skip_special_tokens=False)
        if tokenizer.id_to_token(token) in SPECIAL or not set(text) <= PRINTABLE:
            head[token, 0] = -100.0

    ones = np.ones(HIDDEN, np.float32)
    weights = {"model.embed_tokens.weight": embedding, "lm_head.weight": head, "model.norm.weight": ones}
    for layer in range(LAYERS):
        name = f"model.layers.{layer}.{{}}.weight".format
        weights[name("self_attn.q_proj")] = matrix(HEADS * HEAD, HIDDEN)
        weights[name("self_attn.k_proj")] = matrix(KV_HEADS * HEAD, HIDDEN)
        weights[name("self_attn.v_proj")] = matrix(KV_HEADS * HEAD, HIDDEN)
        weights[name("self_attn.o_proj")] = matrix(HIDDEN, HEADS * HEAD)
        weights[name("mlp.gate_proj")] = matrix(FEED_FORWARD, HIDDEN)
        weights[name("mlp.up_proj")] = matrix(FEED_FORWARD, HIDDEN)
        weights[name("mlp.down_proj")] = matrix(HIDDEN, FEED_FORWARD)
        weights[name("self_attn.o_proj")][0] = 0.0
        weights[name("mlp.down_proj")][0] = 0.0
        weights[name("input_layernorm")] = ones.copy()
        weights[name("post_attention_layernorm")] = ones.copy()
    return weights


def write_hugging_face(folder, tokenizer, weights):
    ids = {"bos_token_id": tokenizer.token_to_id(BOS), "eos_token_id": tokenizer.token_to_id(EOS), "pad_token_id": tokenizer.token_to_id(PAD)}
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": tokenizer.get_vocab_size(),
        "hidden_size": HIDDEN,
        "intermediate_size": FEED_FORWARD,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD,
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": NORM_EPSILON,
        "rope_theta": ROPE_BASE,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        **ids,
    }
    tokenizer_config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": BOS,
        "eos_token": EOS,
        "pad_token": PAD,
        "model_max_length": CONTEXT,
        "chat_template": CHAT_TEMPLATE,
    }
    files = {"config.json": config, "generation_config.json": ids, "tokenizer_config.json": tokenizer_config}
    for file, content in files.items():
        (folder / file).write_text(json.dumps(content, indent=2) + "\n")
    tokenizer.save(str(folder / "tokenizer.json"))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def write_gguf(path, tokenizer, weights):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny-random-llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_dimension_count(HEAD)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_layer_norm_rms_eps(NORM_EPSILON)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)

    tokens = [tokenizer.id_to_token(i) for i in range(tokenizer.get_vocab_size())]
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL if t in SPECIAL else gguf.TokenType.NORMAL for t in tokens])
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in merges])
    writer.add_bos_token_id(tokenizer.token_to_id(BOS))
    writer.add_eos_token_id(tokenizer.token_to_id(EOS))
    writer.add_pad_token_id(tokenizer.token_to_id(PAD))
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)

    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, LAYERS)
    for name, tensor in weights.items():
        # llama.cpp rotates neighbouring pairs of a head, Hugging Face its two halves.
        if name.endswith("q_proj.weight"):
            tensor = interleave(tensor, HEADS)
        elif name.endswith("k_proj.weight"):
            tensor = interleave(tensor, KV_HEADS)
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def interleave(tensor, heads):
    rows, columns = tensor.shape
    return tensor.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def main():
    folder = Path(sys.argv[1])
    tokenizer = make_tokenizer()
    weights = make_weights(tokenizer)
    write_hugging_face(folder, tokenizer, weights)
    write_gguf(folder / "tiny.gguf", tokenizer, weights)


if __name__ == "__main__":
    main()
