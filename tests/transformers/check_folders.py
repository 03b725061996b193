#!/usr/bin/env python3
"""Token ids of `nvdp tokenize` beside those of AutoTokenizer of `transformers`, on folders with permuted keys.

    check_folders.py PROGRAM SCRATCH [FOLDERS] [TEXTS] [SEED]

Writes FOLDERS model folders (default 10) whose tokenizer files differ in keys that change token ids. For each, encodes TEXTS
texts (default 300), every third as a pair, cut to random lengths. Ids must be equal, or the folder must be refused with a
message that names a file and a key. NVDP_TEXTS names a file whose lines are used too. Prints counts as one JSON object.
Exits with 1 if ids differ, with 77 if a package is missing."""
import base64
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
import unicodedata

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", TOKENIZERS_PARALLELISM="false")
try:
    import tokenizers
    import transformers
except ImportError as missing:
    print(f"skipped: {missing}", file=sys.stderr)
    sys.exit(77)

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
from make_unigram import charsmap, rules, sentencepiece, template, tokenizer_json

PROGRAM, SCRATCH = sys.argv[1:3]
FOLDERS, TEXTS, SEED = (int(word) for word in (sys.argv[3:6] + ["10", "300", "1"][len(sys.argv) - 3:])[:3])
WORDS = """the a of and cat sat mat dog ran fast river bridge wrote The THE Cat naïve café Straße schöne crème être año İstanbul
ﬁnal Ångström don't it's we've 3.14 1,000 $5 50% e-mail http://a.b/c?d=e#f x=y a_b [mask] [ MASK ] MASK ] [MASKS] unused playing
played player dograt DOGRAT Dograt newtoken new token ent ENT привет мир Привет ёлка й Ελλάδα ΟΔΟΣ ΟΔΟΣ. αβγ שלום العربية हिन्दी ไทย 中文 日本語 かな
한국어 中 文 😀 👩‍👩‍👧 🇫🇷 ½ ² Ⅷ ٣ ... ?! -- — “quoted” ’s € <html> </b> ab##cd ##ing # ## @ \\ / | ^ ~ ` antidisestablishmentarianism""".split()
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<s>", "</s>", "<pad>", "<unk>", "<mask>", "[ENT]", "[A]", "[BOS]"]
SPACES = [" ", "  ", "\t", "\n", "\r\n", "\v", "\f", "\u0085", "\u00a0", "\u2003", "\u2028", "\u3000", "\u200b", "\u00ad", "\ufeff", "\x00", "\x1c"]
MARKS = ["\u0301", "\u030a", "\u200d", "\ufe0f", "\u0323", "\u094d", "\u0903", "\u093e", "\u302a", "\U0001f3fd", "\uff9e"]
SPECIAL = []  # characters that a folder changes: its texts have more of them
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def characters():
    """The characters of every Unicode category, without surrogates and unassigned ones."""
    found = {}
    for code in range(1, 0x110000):
        category = unicodedata.category(chr(code))
        if category not in ("Cs", "Cn"):
            found.setdefault(category, []).append(chr(code))
    return found


CLASSES = characters()


def text_of(rng):
    """A random text of words, special tokens, characters and white space."""
    out = []
    for _ in range(rng.randint(0, rng.choice((4, 12, 40)))):
        kind = rng.random()
        if kind < 0.5:
            out.append(rng.choice(WORDS))
        elif kind < 0.6:
            out.append(rng.choice(SPECIALS))
        elif kind < 0.75:
            out.append("".join(rng.choice(CLASSES[rng.choice(list(CLASSES))]) for _ in range(rng.randint(1, 4))))
        elif kind < 0.78:
            out.append(rng.choice(LETTERS) * rng.choice((99, 100, 101, 200, 201)))
        elif kind < 0.9:
            out.append("".join(rng.choice(LETTERS) for _ in range(rng.randint(1, 9))))
        elif SPECIAL and kind < 0.96:
            out.append("".join(rng.choice(SPECIAL) + rng.choice(MARKS + [""] * 12) for _ in range(rng.randint(1, 3))))
        else:
            out.append("".join(rng.choice(["e\u0301", "n\u0303", "A\u030a", "\u0323\u0301", "ǅ", "ß", "ς", "ǘ"]) for _ in range(3)))
        out.append(rng.choice(("", " ", " ", " ", rng.choice(SPACES))))
    return "".join(out)


def pieces(rng):
    """The pieces of a small uncased or cased WordPiece vocabulary after the special tokens."""
    found = ["the", "cat", "##s", "sat", "mat", "The", "Cat", "dog", "ran", "##rat", "[", "]", "mask", "MASK", "<", ">", "new", "##token", "token", "ent",
             "cafe", "café", "中", "文", "ß", "##ß", "i", "##i", "##ing", "play", "##ed", "##er", "привет", "й", "и", "$", "don", "'", "t", ".", ",", "#", "@", "-"]
    found += list(LETTERS) + ["##" + letter for letter in LETTERS]
    found += [rng.choice(CLASSES[category]) for category in ("Lo", "Ll", "Nd", "So", "Po", "Sm") for _ in range(20)]
    return list(dict.fromkeys(piece for piece in found if piece.strip()))


def added(content, **flags):
    return {"content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True, **flags}


def random_flags(rng):
    return {key: rng.random() < 0.4 for key in ("single_word", "lstrip", "rstrip", "normalized")}


def wordpiece(rng, kind):
    """The files of a folder with WordPiece, by name."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] if kind != "mpnet" else ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>"]
    vocab = names + pieces(rng)
    if kind == "mpnet":  # <mask> is the last piece
        vocab = [piece for piece in vocab if piece != "<mask>"] + ["<mask>"]
    ids = {piece: i for i, piece in enumerate(vocab)}
    cls, sep = ("<s>", "</s>") if kind == "mpnet" else ("[CLS]", "[SEP]")
    listed = [{"id": ids[name], **added(name, lstrip=name == "<mask>")} for name in names]
    if rng.random() < 0.5:
        listed.append({"id": len(vocab), **added("[ENT]", **random_flags(rng))})
        listed.append({"id": len(vocab) + 1, **added("dograt", special=False, **random_flags(rng))})
    post = rng.choice([template(cls, sep, ids, 2 if kind == "mpnet" else 1, rng.choice((0, 1))),
                       {"type": "BertProcessing", "sep": [sep, ids[sep]], "cls": [cls, ids[cls]]},
                       {"type": "RobertaProcessing", "sep": [sep, ids[sep]], "cls": [cls, ids[cls]], "trim_offsets": True, "add_prefix_space": False}])
    if rng.random() < 0.1:
        post = rng.choice((None, {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}],
                                  "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}], "special_tokens": {}}))
    whole = {"version": "1.0", "truncation": rng.choice((None, {"direction": "Right", "max_length": 20, "strategy": "LongestFirst", "stride": 0})),
             "padding": None, "added_tokens": listed,
             "normalizer": {"type": "BertNormalizer", "clean_text": rng.random() < 0.95, "handle_chinese_chars": rng.random() < 0.8,
                            "strip_accents": rng.choice((None, None, True, False)), "lowercase": rng.random() < 0.7},
             "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": post, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
             "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                       "max_input_chars_per_word": rng.choice((100, 100, 50, 200)), "vocab": ids}}
    config = {}
    files = {"config.json": {"model_type": {"bert": rng.choice(("bert", "distilbert", "electra")), "mpnet": "mpnet", "fast": rng.choice(("bert", "modernbert"))}[kind],
                             "vocab_size": len(vocab) + rng.choice((0, 10))}}
    config["tokenizer_class"] = {"bert": rng.choice(("BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", None)),
                                 "mpnet": rng.choice(("MPNetTokenizer", "MPNetTokenizerFast", None)),
                                 "fast": "PreTrainedTokenizerFast"}[kind]
    if config["tokenizer_class"] is None:
        del config["tokenizer_class"]
    for key, values in (("do_lower_case", (True, False)), ("strip_accents", (None, True, False)), ("tokenize_chinese_chars", (True, False)),
                        ("model_max_length", (24, 512)), ("truncation_side", ("right", "right", "right", "left")), ("split_special_tokens", (False, True))):
        if rng.random() < 0.4:
            config[key] = rng.choice(values)
    if rng.random() < 0.3:
        config["mask_token"] = {"__type": "AddedToken", **{k: v for k, v in added("<mask>" if kind == "mpnet" else "[MASK]", **random_flags(rng)).items() if k != "special"}}
    if rng.random() < 0.2:
        config[rng.choice(("additional_special_tokens", "extra_special_tokens"))] = ["[A]", "the", names[-1]]
    if rng.random() < 0.15:
        config["bos_token"] = "[BOS]"
    if rng.random() < 0.2:
        config["added_tokens_decoder"] = {str(entry["id"]): {k: v for k, v in entry.items() if k != "id"} for entry in listed}
    if rng.random() < 0.25:
        files["special_tokens_map.json"] = {"mask_token": {k: v for k, v in added(names[-1], **random_flags(rng)).items() if k != "special"},
                                            "unk_token": "[UNK]", "cls_token": cls, "sep_token": sep}
    text = list(vocab)
    if kind == "fast" or rng.random() < 0.5:
        files["tokenizer.json"] = whole
        text = [piece.lower() for piece in vocab] if rng.random() < 0.5 else text  # beside tokenizer.json it does not count
    elif rng.random() < 0.4:
        files["added_tokens.json"] = {"[ENT]": len(vocab), "dograt": len(vocab) + 1}
    if rng.random() < 0.4 and "tokenizer.json" not in files and "added_tokens.json" not in files:
        text.insert(rng.randint(8, len(text)), "")  # an empty line
        text.insert(rng.randint(8, len(text)), "cat")  # the later one counts
        text += rng.choice(([], ["", ""]))
    if kind != "fast" or rng.random() < 0.5:
        files["vocab.txt"] = rng.choice(("\n", "\n", "\r\n")).join(text + [""] * rng.choice((0, 1)))
    others = {"tokenizer.json", "special_tokens_map.json", "added_tokens.json"}
    if rng.random() < 0.9 or kind == "fast" or not others & set(files):  # vocab.txt alone is read as published with BERT
        files["tokenizer_config.json"] = config
    return files


def bpe(rng, kind):
    """The files of a folder with byte-level BPE, by name."""
    trainer = tokenizers.ByteLevelBPETokenizer()
    trainer.train_from_iterator([" ".join(rng.choice(WORDS) for _ in range(400))], vocab_size=420, min_frequency=2, show_progress=False,
                                special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    model = json.loads(trainer.to_str())["model"]
    ids = model["vocab"]
    listed = [{"id": ids[name], **added(name, lstrip=name == "<mask>")} for name in ("<s>", "<pad>", "</s>", "<unk>", "<mask>")]
    if rng.random() < 0.5:
        listed.append({"id": len(ids), **added("[ENT]", **random_flags(rng))})
        listed.append({"id": len(ids) + 1, **added("dograt", special=False, **random_flags(rng))})
    post = rng.choice([template("<s>", "</s>", ids, rng.choice((1, 2)), 0),
                       {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": True, "add_prefix_space": False}])
    if rng.random() < 0.3:
        post = {"type": "Sequence", "processors": [{"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}, post]}
    whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": listed, "normalizer": rng.choice((None, None, {"type": "NFC"})),
             "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": rng.random() < 0.1, "trim_offsets": True, "use_regex": True},
             "post_processor": post, "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}, "model": model}
    config = {"tokenizer_class": rng.choice(("RobertaTokenizer", "RobertaTokenizerFast")) if kind == "roberta" else "PreTrainedTokenizerFast"}
    if rng.random() < 0.3:
        config["mask_token"] = {"__type": "AddedToken", **{k: v for k, v in added("<mask>", **random_flags(rng)).items() if k != "special"}}
    if rng.random() < 0.1:
        config["add_prefix_space"] = rng.random() < 0.5
    if rng.random() < 0.2:
        config["split_special_tokens"] = True
    files = {"config.json": {"model_type": "roberta" if kind == "roberta" else "modernbert"}, "tokenizer_config.json": config}
    if kind == "fast" or rng.random() < 0.5:
        files["tokenizer.json"] = whole
    if "tokenizer.json" not in files or rng.random() < 0.5:
        files["vocab.json"] = ids
        files["merges.txt"] = "#version: 0.2\n" + "".join((pair if isinstance(pair, str) else " ".join(pair)) + "\n" for pair in model["merges"])
    return files


def unigram(rng, kind):
    """The files of a folder with Unigram, by name; `kind`: xlmr (the class XLMRobertaTokenizer), spm (its SentencePiece file alone), fast."""
    letters = list(LETTERS) + [rng.choice(CLASSES[category]) for category in ("Lo", "Ll", "Nd", "So", "Po", "Sm") for _ in range(10)]
    words = [word for word in WORDS if rng.random() < 0.6]
    found = ["▁"] + ["▁" + word for word in words] + [word[rng.randint(0, 2):] for word in words] + letters + ["▁" + letter for letter in LETTERS]
    found += ["".join(rng.choice(LETTERS) for _ in range(rng.randint(2, 4))) for _ in range(300)] + ["▁▁", "é", "e\u0301", "fi", "1", "/", "⁄"]
    if rng.random() < 0.3:
        found += [f"<0x{byte:02X}>" for byte in range(256) if rng.random() < 0.995]
    found = [piece for piece in found if piece.lower() != "dograt"]  # an added token
    pieces = [(piece, rng.choice((-1.0, -2.0, -2.5, round(rng.uniform(-12, -1), 4), rng.uniform(-12, -1)))) for piece in dict.fromkeys(found) if piece]
    user = ["[ENT]"] if rng.random() < 0.3 else []
    pool = [c for category in ("Lo", "Ll", "No", "So", "Sm", "Zs", "Lm") for c in CLASSES[category]]
    changed = rules(["ﬁ", "½", "²", "Ⅷ", "A\u030a", "e\u0301", "n\u0303", "Å", "\uff21", "ｶ\uff9e", "\u1100\u1161", "가", "—"] + rng.sample(pool, 300))
    SPECIAL[:] = list(changed)
    table = charsmap(changed)
    files = {"config.json": {"model_type": rng.choice(("xlm-roberta", "bert")) if kind != "fast" else rng.choice(("bert", "modernbert", "xlm-roberta"))}}
    config = {"tokenizer_class": "PreTrainedTokenizerFast" if kind == "fast" else rng.choice(("XLMRobertaTokenizer", "XLMRobertaTokenizerFast"))}
    if rng.random() < 0.4:
        config["mask_token"] = {"__type": "AddedToken", **{k: v for k, v in added("<mask>", **random_flags(rng)).items() if k != "special"}}
    if rng.random() < 0.1:
        config["add_prefix_space"] = rng.random() < 0.5
    if rng.random() < 0.15:
        config["split_special_tokens"] = True
    if rng.random() < 0.15:
        config[rng.choice(("additional_special_tokens", "extra_special_tokens"))] = ["[A]", "▁the", "<mask>"]
    if rng.random() < 0.1:
        config["cls_token"] = "▁the"
    if rng.random() < 0.2:
        files["special_tokens_map.json"] = {"mask_token": {k: v for k, v in added("<mask>", **random_flags(rng)).items() if k != "special"}, "unk_token": "<unk>"}
    if kind == "spm":
        own = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)] + [(name, 0.0, rng.choice((3, 4))) for name in user]
        own += [(piece, score, 1) for piece, score in pieces]
        if rng.random() < 0.2:
            own.insert(rng.randint(3, len(own)), rng.choice((("cat", -3.0, 1), ("<mask>", 0.0, 4), ("<pad>", 0.0, 3))))
        name = rng.choice(("sentencepiece.bpe.model", "sentencepiece.bpe.model", "tokenizer.model"))
        files[name] = sentencepiece(own, table if rng.random() < 0.8 else None)
        if rng.random() < 0.2:
            files.setdefault("sentencepiece.bpe.model", sentencepiece(own[:200]))  # beside tokenizer.model
        if rng.random() < 0.4:
            files["added_tokens.json"] = {"[NEW]": len(own) + 2, "dograt": len(own) + 3}
    else:
        if rng.random() < 0.2:
            pieces.insert(rng.randint(1, len(pieces)), ("cat", -3.0))  # the later one counts
        extra = [added("[ENT]", **random_flags(rng)), added("Dograt", special=False, **random_flags(rng))] if rng.random() < 0.5 else []
        ids = {"<s>": 0, "</s>": 2}
        precompiled = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(table).decode()}
        steps = [{"type": "Strip", "strip_left": rng.random() < 0.5, "strip_right": True}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": rng.choice(("▁", " "))},
                 {"type": "Replace", "pattern": {"String": rng.choice(("``", " ", "at"))}, "content": rng.choice(('"', "▁", ""))},
                 {"type": rng.choice(("NFC", "NFKC", "NFD", "NFKD", "Nmt", "Lowercase", "StripAccents"))}, {"type": "Lowercase"},
                 {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"Regex": rng.choice((r"\s+", "a{2,}", "[0-9]"))}, "content": "x"}]
        normalizer = rng.choice((None, precompiled, precompiled, {"type": "Sequence", "normalizers": [precompiled] + steps[:2]},
                                 {"type": "Sequence", "normalizers": rng.sample(steps, rng.randint(0, 4)) + ([precompiled] if rng.random() < 0.5 else [])}))
        scheme = {"type": "Metaspace", "replacement": "▁", **rng.choice(({"add_prefix_space": True}, {"add_prefix_space": True, "prepend_scheme": "always"},
                                                                          {"prepend_scheme": "always", "split": True}, {"prepend_scheme": "never", "split": False},
                                                                          {"prepend_scheme": "first", "split": rng.random() < 0.5}, {"str_rep": "▁", "add_prefix_space": True},
                                                                          {"prepend_scheme": "always", "split": False}))}
        if rng.random() < 0.05:
            scheme["replacement"] = rng.choice("_é")
        before = rng.choice((scheme, scheme, {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, scheme]}, {"type": "WhitespaceSplit"}, None))
        post = rng.choice((template("<s>", "</s>", ids, 2, 0), template("<s>", "</s>", ids, 1, 0),
                           {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": True, "add_prefix_space": True}))
        whole = files["tokenizer.json"] = tokenizer_json(pieces, normalizer, before, extra)
        whole["post_processor"] = post
        whole["model"].update(unk_id=rng.choice((3, 3, 3, 5)), byte_fallback=rng.random() < 0.3)
        if rng.random() < 0.3:
            files["sentencepiece.bpe.model"] = b"not read"  # beside tokenizer.json
        if rng.random() < 0.3:
            config["added_tokens_decoder"] = {str(entry["id"]): {k: v for k, v in entry.items() if k != "id"} for entry in whole["added_tokens"]}
    if rng.random() < 0.85 or files["config.json"]["model_type"] != "xlm-roberta" or kind == "fast":
        files["tokenizer_config.json"] = config
    return files


def write(name, files):
    folder = os.path.join(SCRATCH, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for file, content in files.items():
        text = content if isinstance(content, (str, bytes)) else json.dumps(content)
        with open(os.path.join(folder, file), "wb") as out:
            out.write(text if isinstance(text, bytes) else text.encode())
    return folder


def real_texts():
    path = os.environ.get("NVDP_TEXTS")
    if not path:
        return []
    with open(path, encoding="utf-8", errors="replace") as lines:
        return [line.rstrip("\n") for line in lines if line.strip()]


def texts_of(rng):
    own = real_texts()
    found = []
    for i in range(TEXTS):
        pick = lambda: rng.choice(own) if own and rng.random() < 0.3 else text_of(rng)
        found.append((pick(), pick() if i % 3 == 2 else None, rng.choice((6, 7, 16, 33, 64, 128, 512))))
    return found


def compare(name, files, texts):
    """Returns `equal`, `refused` with the message, or `differing` with an example."""
    folder = write(name, files)
    lines = os.path.join(SCRATCH, "lines.jsonl")
    with open(lines, "w") as out:
        for text, pair, length in texts:
            out.write(json.dumps({"text": text, "max_length": length, **({"pair": pair} if pair is not None else {})}) + "\n")
    with open(lines) as source:
        done = subprocess.run([PROGRAM, "tokenize", "--model", folder, "--jsonl", "--threads", "1"], stdin=source, capture_output=True, text=True)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    except Exception as error:
        theirs = f"{type(error).__name__}: {error}"
        return ("refused", f"{done.stderr.strip()} (theirs: {theirs[:100]})") if done.returncode == 3 else ("differing", f"they refuse it: {theirs[:300]}")
    if done.returncode != 0:
        named = any(file in done.stderr for file in files) and "'" in done.stderr and "expected" in done.stderr
        return ("refused", done.stderr.strip()) if named else ("differing", f"not refused by name: {done.stderr}")
    ours = [json.loads(line) for line in done.stdout.splitlines()]
    if len(ours) != len(texts):
        return "differing", f"{len(texts)} texts, {len(ours)} lines"
    for (text, pair, length), have in zip(texts, ours):
        # as a batch of one, since an empty second text counts as none otherwise
        batch = tokenizer([text], [pair] if pair is not None else None, truncation=True, max_length=length, return_token_type_ids=True)
        want = {key: batch[key][0] for key in ("input_ids", "token_type_ids")}
        same_types = "token_type_ids" not in tokenizer.model_input_names or have["token_type_ids"] == want["token_type_ids"]
        if have["input_ids"] != want["input_ids"] or not same_types:
            return "differing", f"{text!r} {pair!r} {length}: ours {have}, theirs {want['input_ids']} {want['token_type_ids']}"
    return "equal", ""


KINDS = [("wordpiece", "bert"), ("unigram", "xlmr"), ("wordpiece", "fast"), ("wordpiece", "mpnet"), ("unigram", "fast"), ("bpe", "roberta"), ("wordpiece", "fast"),
         ("unigram", "spm"), ("bpe", "fast"), ("wordpiece", "bert")]
MAKERS = {"wordpiece": wordpiece, "bpe": bpe, "unigram": unigram}
if os.environ.get("NVDP_KIND"):  # one model alone
    KINDS = [kind for kind in KINDS if kind[0] == os.environ["NVDP_KIND"]]
if importlib.util.find_spec("sentencepiece") is None:  # transformers cannot read the file
    KINDS = [("unigram", "xlmr") if kind == ("unigram", "spm") else kind for kind in KINDS]


def main():
    counts, examples, refused = {"equal": 0, "refused": 0, "differing": 0}, [], {}
    for i in range(FOLDERS):
        rng = random.Random(SEED * 1000 + i)
        kind = KINDS[i % len(KINDS)]
        SPECIAL.clear()
        files = MAKERS[kind[0]](rng, kind[1])
        outcome, what = compare(f"folder-{i}", files, texts_of(rng))
        counts[outcome] += 1
        if outcome == "differing":
            examples.append(f"folder-{i} ({kind[0]} {kind[1]}): {what}"[:1500])
        elif outcome == "refused":
            refused[f"folder-{i}"] = what.split(f"folder-{i}/")[-1][:160]
    print(json.dumps({**counts, "texts": TEXTS, "refusals": refused, "examples": examples[:5], "transformers": transformers.__version__,
                      "tokenizers": tokenizers.__version__}, ensure_ascii=False, indent=1))
    sys.exit(1 if counts["differing"] > 0 else 0)


main()
