# Writes encodings of texts by the Python package tokenizers, as JSON, to its output: for small
# tokenizers of every kind that it trains on the texts itself, or for the tokenizer.json files named.
import json, random, sys
from tokenizers import Tokenizer, models, trainers, normalizers as N, pre_tokenizers as P, processors, decoders as D, Regex, AddedToken

seed, number = int(sys.argv[1]), int(sys.argv[2])
random.seed(seed)
FIXED = ["", " ", "\t\n", "Hello, world!", "naïve café résumé Ångström ÀÉÎÕÜ",
    "日本語のテキスト 中文字符 한국어", "Привет мир", "emoji 😀👩‍👩‍👧‍👦🏳️‍🌈 ok", "a" * 130, "don't can't won't I'm they've we'll he'd",
    "[CLS] hello [SEP] [MASK] [PAD] [UNK] <s> </s> <pad>", "x[MASK]y", "  [mask]  <extra>  z", "tab\tnew\nline\rcr\u00a0nbsp\u3000ideo",
    "zero\u200bwidth\u200djoin\ufeffbom", "control\x00\x01\x7f\x85chars", "\ufffd", "e\u0301 combining a\u030a q\u0323\u0307 q\u0307\u0323", "İstanbul ıI ß ẞ ſ ΑΣ",
    "½ ² ③ Ⅷ ㎏ ﬁ 2024 1,234.5e-10", "$100.00 #hash @user ^^ ~` <>|+=", "עברית العربية हिन्दी ไทย क्षि", "𠀀𠀁 𝒳 𝔘", "hello\u2028world",
    "— – “quotes” ‘x’ … ‽ ¿¡ ₿ €", "가각힣 ᄀ", "a b  c   d", " leading and trailing  ", "word extra wordy sword", "\ue000 private", "¨ ˆ ˜ ·", "Ω K Å", "é" * 40,
    "http://example.com/path?q=1&x=[2]", "\n\n\n a\n  b"]
WORDS = """the of and to in is you that it he was for on are as with his they at be this have from or one had by word
but not what all were we when your can said there use an each which she do how their if will up other about out many
then them these so some her would make like him into time has look two more write see number way could people""".split()
def text(kind):
    o = []
    for _ in range(random.randint(0, 25)):
        k = random.random()
        if kind == 0 or k < .5: w = random.choice(WORDS); o.append(w.title() if random.random() < .1 else w)
        elif k < .6: o.append(chr(random.randint(0x21, 0x7e)))
        elif k < .7: o.append(''.join(chr(random.randint(0x61, 0x7a)) for _ in range(random.randint(1, 20))))
        elif k < .8: o.append(chr(random.choice([random.randint(0xa0, 0x24f), random.randint(0x300, 0x36f), random.randint(0x370, 0x51f), random.randint(0x904, 0x939)])))
        elif k < .9: o.append(chr(random.randint(0x4e00, 0x9fa5) if random.random() < .5 else random.randint(0xac00, 0xd7a3)))
        elif k < .95: o.append(random.choice(["[MASK]", "<extra>", "<s>", "word", "</s>", "[SEP]"]))
        else: o.append(chr(random.randint(0x1f600, 0x1f64f)))
        if random.random() < .7: o.append(random.choice([" ", " ", " ", "  ", "\n", "\t"]))
    return ''.join(o)
TEXTS = FIXED + [text(k % 2) for k in range(number)]

def train(model, trainer, norm=None, pre=None, post=None, dec=None, extra=()):
    t = Tokenizer(model)
    if norm: t.normalizer = norm
    if pre: t.pre_tokenizer = pre
    t.train_from_iterator([x for x in TEXTS if "[" not in x and "<" not in x], trainer)
    if post: t.post_processor = post(t)
    if dec: t.decoder = dec
    t.add_tokens(list(extra))
    return t
S = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
def template(t):
    i = t.token_to_id
    return processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", i("[CLS]")), ("[SEP]", i("[SEP]"))])
wp = lambda: models.WordPiece(unk_token="[UNK]")
wpt = lambda: trainers.WordPieceTrainer(vocab_size=500, special_tokens=S, show_progress=False)
bt = lambda **k: trainers.BpeTrainer(vocab_size=k.pop("size", 500), show_progress=False, special_tokens=k.pop("special", S), **k)
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
def fallback(m):
    # Byte tokens come in by the special tokens of the trainer.
    return ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)]
def small():
    yield "bert", train(wp(), wpt(), N.BertNormalizer(), P.BertPreTokenizer(), template, D.WordPiece())
    yield "bert-cased", train(wp(), wpt(), N.BertNormalizer(lowercase=False), P.BertPreTokenizer(), lambda t: processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1)), D.WordPiece(cleanup=False),
        [AddedToken("<extra>", lstrip=True, rstrip=True), AddedToken("word", single_word=True)])
    yield "bert-plain", train(wp(), wpt(), N.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False), P.Whitespace())
    yield "gpt2", train(models.BPE(), bt(special=["<|endoftext|>"], initial_alphabet=P.ByteLevel.alphabet()), None, P.ByteLevel(add_prefix_space=False), lambda t: processors.ByteLevel(trim_offsets=False), D.ByteLevel())
    yield "roberta", train(models.BPE(), bt(special=["<s>", "<pad>", "</s>", "<unk>"], initial_alphabet=P.ByteLevel.alphabet()), None, P.ByteLevel(add_prefix_space=True), lambda t: processors.RobertaProcessing(("</s>", 2), ("<s>", 0)), D.ByteLevel(), [AddedToken("[MASK]", lstrip=True, normalized=False)])
    yield "llama3", train(models.BPE(ignore_merges=True), bt(special=["<s>"], initial_alphabet=P.ByteLevel.alphabet()), None, P.Sequence([P.Split(Regex(LLAMA3), "isolated"), P.ByteLevel(add_prefix_space=False, use_regex=False)]),
        lambda t: processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 0)])]), D.ByteLevel())
    yield "llama2", train(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True), bt(special=fallback(0), limit_alphabet=60), N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")]), None,
        lambda t: processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)]), D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)]))
    yield "clip", train(models.BPE(unk_token="[UNK]", end_of_word_suffix="</w>"), bt(end_of_word_suffix="</w>", limit_alphabet=80), N.Sequence([N.NFC(), N.Replace(Regex(r"\s+"), " "), N.Lowercase()]),
        P.Sequence([P.Split(Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True)]), template, D.BPEDecoder())
    yield "metaspace", train(models.BPE(unk_token="[UNK]", fuse_unk=True), bt(limit_alphabet=60), N.NFKC(), P.Metaspace(prepend_scheme="first"), None, D.Metaspace())
    yield "metaspace-never", train(models.BPE(unk_token="[UNK]"), bt(limit_alphabet=60), N.NFKD(), P.Metaspace(prepend_scheme="never", split=False), None, D.Metaspace(prepend_scheme="never"))
    yield "prefix", train(models.BPE(unk_token="[UNK]", continuing_subword_prefix="##"), bt(continuing_subword_prefix="##"), N.Sequence([N.NFD(), N.StripAccents(), N.Strip()]), P.Sequence([P.WhitespaceSplit(), P.Punctuation(), P.Digits(individual_digits=True)]))
    for name, cut, pad in [("cut-right", dict(max_length=7), dict(length=9)), ("cut-left", dict(max_length=6, direction="left"), dict(direction="left", pad_to_multiple_of=4)),
            ("cut-first", dict(max_length=40, strategy="only_first"), dict(length=10, pad_id=3, pad_type_id=1, pad_to_multiple_of=8)), ("cut-longest", dict(max_length=12), None)]:
        t = train(wp(), wpt(), N.BertNormalizer(), P.BertPreTokenizer(), template, D.WordPiece())
        t.enable_truncation(**cut)
        if pad: t.enable_padding(**{"pad_id": 3, **pad})
        yield name, t
    for b in ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]:
        yield "words-" + b, train(models.WordLevel(unk_token="[UNK]"), trainers.WordLevelTrainer(vocab_size=300, special_tokens=S, show_progress=False), N.Lowercase(), P.Sequence([P.CharDelimiterSplit(" "), P.Punctuation(b), P.Digits(), P.Split("t", b)]))

def encode(t, x, y=None, plain=False):
    e = t.encode(x, y, add_special_tokens=not plain)
    at = []
    for s in (x, y or ""):
        o = [0]
        for c in s: o.append(o[-1] + len(c.encode()))
        at.append(o)
    off = [[at[q or 0][a], at[q or 0][b]] for (a, b), q in zip(e.offsets, e.sequence_ids)]
    return {"ids": e.ids, "types": e.type_ids, "mask": e.attention_mask, "special": e.special_tokens_mask, "tokens": e.tokens, "offsets": off,
        "decoded": t.decode(e.ids), "whole": t.decode(e.ids, skip_special_tokens=False)}
out = []
named = [(p, Tokenizer.from_file(p)) for p in sys.argv[3:]]
for name, t in named or small():
    c = {"name": name, "file": None if named else json.loads(t.to_str()), "path": name if named else "", "texts": []}
    if not name.startswith("cut"): t.no_truncation(); t.no_padding()
    for x in TEXTS:
        c["texts"].append({"text": x, "one": encode(t, x), "plain": encode(t, x, plain=True)})
    for x, y in zip(TEXTS[::3], TEXTS[1::3]):
        if name == "cut-first" and len(y) > 20: continue # the second text must have room
        c["texts"].append({"text": x, "second": y, "pair": encode(t, x, y)})
    out.append(c)
json.dump(out, sys.stdout, ensure_ascii=True)
