"""The tokenizers package reads the tokenizer that write_tokenizers.cpp has trained: the same tokens of 10,000
texts, the same texts of 10,000 rows of random tokens, and the same merges where it trains one itself.

Then it trains others, with the words of Llama 3 and Qwen2, added tokens with all flags, normalization, special
tokens around a text, and too few bytes. The program reads them back and compares its tokens.
"""
import struct
import sys
from pathlib import Path

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

folder = Path(sys.argv[1])
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")


def read_texts(name):
    content, at, texts = (folder / name).read_bytes(), 0, []
    while at < len(content):
        (size,) = struct.unpack_from("<I", content, at)
        texts.append(content[at + 4:at + 4 + size].decode())
        at += 4 + size
    return texts


def read_tokens(name):
    return [[int(token) for token in line.split()] for line in (folder / name).read_text().splitlines()]


def tokens_of(tokenizer, special=False):
    return [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=special)]


def check_equal(what, ours, theirs):
    assert len(ours) == len(theirs) == 10_000, f"{what}: {len(ours)} and {len(theirs)}"
    different = [i for i in range(len(ours)) if ours[i] != theirs[i]]
    assert not different, f"{what}: {len(different)} differ; {ours[different[0]]!r}, {theirs[different[0]]!r}"


def train(pre_tokenizer, size, alphabet=pre_tokenizers.ByteLevel.alphabet(), special=(), **options):
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=size, min_frequency=2, show_progress=False, special_tokens=list(special),
        initial_alphabet=alphabet, limit_alphabet=max(len(alphabet), 60)))
    return tokenizer


def words(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def write(name, tokenizer):
    tokenizer.save(str(folder / f"{name}.json"))
    (folder / f"{name}.tokens").write_text(
        "".join(" ".join(map(str, tokens)) + "\n" for tokens in tokens_of(tokenizer, special=True)))


texts = read_texts("texts")
ours = Tokenizer.from_file(str(folder / "tokenizer.json"))
check_equal("tokens", read_tokens("tokens"), tokens_of(ours))
check_equal("random tokens", read_texts("decoded"),
            ours.decode_batch(read_tokens("drawn"), skip_special_tokens=False))
theirs = train(pre_tokenizers.ByteLevel(add_prefix_space=False), 1500, special=["<|end|>", "<pad>"])
assert theirs.get_vocab() == ours.get_vocab(), "another vocabulary"
check_equal("tokens of its own", read_tokens("tokens"), tokens_of(theirs))

llama3 = train(words(LLAMA3), 2000, special=["<|end|>"], ignore_merges=True)
llama3.post_processor = processors.Sequence([
    processors.ByteLevel(trim_offsets=False),
    processors.TemplateProcessing(single="<|end|> $A", special_tokens=[("<|end|>", 0)])])
write("llama3", llama3)

qwen2 = train(words(LLAMA3.replace("{1,3}", "")), 1000)
qwen2.normalizer = normalizers.NFC()
qwen2.add_special_tokens(["<|end|>", AddedToken("<pad>", lstrip=True), AddedToken("</s>", rstrip=True)])
qwen2.add_tokens([AddedToken("word", single_word=True), AddedToken("e\u0301"), AddedToken("\n", normalized=False),
                  AddedToken("don", rstrip=True, single_word=True), AddedToken("\u1100", normalized=False)])
write("qwen2", qwen2)

write("prefix", train(pre_tokenizers.ByteLevel(add_prefix_space=True), 700))
write("unknown", train(pre_tokenizers.ByteLevel(add_prefix_space=False), 200, alphabet=[], special=["<unk>"],
                       unk_token="<unk>", fuse_unk=True))
print(f"{len(texts)} texts, {len(ours.get_vocab())} tokens, read back by 4 others")
