"""Makes unigram/: two folders with tokenizers of the kind Unigram, and the ids that transformers gives with them. Its functions
make such files for other tests too.

    python3 -m venv V && V/bin/pip install transformers tokenizers sentencepiece protobuf && V/bin/python make_unigram.py

Made with transformers 5.23, tokenizers 0.23, sentencepiece 0.2.3. All text here is made up for this purpose.
"""
import base64
import json
import os
import struct
import unicodedata

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "unigram")
CORPUS = """The ferry left the harbour at noon, and the gulls followed it as far as the lighthouse.
She asked for two tickets; the clerk said that there were only twelve seats left on the train.
Nobody had told the gardener that the roses would be moved before the winter, and he was not pleased.
Le facteur est arrivé à huit heures, mais la boîte était déjà pleine de lettres.
Der Bäcker öffnet früh; die Straße ist dann noch leer, und über den Dächern wird es hell.
El niño corrió hacia la montaña con su cometa, y mañana volverá.
Мост через реку закрыт, поэтому поезд идёт через старый город.
Η θάλασσα ήταν ήρεμη το πρωί και τα καΐκια έφυγαν νωρίς.
東京の朝は早い。電車は人でいっぱいだ。
今天下午下雨了，我们在家里喝茶。
""".splitlines()
TEXTS = """The gulls followed the ferry.
the  gulls   followed the ferry
 leading and trailing
unhappily unbelievable lighthouses tickets' 1234 3.14
La boîte à lettres était pleine; cafe\u0301 crème brûlée, Åse A\u030ase
Straße STRASSE ﬁnal ﬂow ½ ² Ⅷ ①ﬁ\u0301 Ａ１ ½\u0301x
поезд идёт Поезд
θάλασσα Θ
東京の朝は早い。 中文没有空格 ｶﾞｽ 한국어
😀 👩‍👩‍👧 🇫🇷 x😀😀y
tab\there\u00a0nbsp\u3000wide\u200bzero\u2028line\x01control\u00ad
▁ ▁▁ a▁b ▁the
<s> </s> <mask> x<mask>y  <mask>  z <pad><unk> <MASK>
the[ENT]the [ENT] [ent]
q zzzz ЖЖЖ ~~~ \\ | ^ `` ''
""".splitlines()


def charsmap(rules):
    """SentencePiece's table of rules, {text: replacement}: the size of a double array, the array, the replacements."""
    root, blob = {}, b""
    for text, to in sorted(rules.items()):
        node = root
        for byte in text.encode():
            node = node.setdefault(byte, {})
        node[0] = len(blob)
        blob += to.encode() + b"\0"
    units, used, todo, first = [0] * 256, {0}, [(root, 0)], 1
    while todo:
        node, at = todo.pop()
        while first in used:
            first += 1
        base = first ^ min(node)
        while not base or any(base ^ label in used for label in node):
            base += 1
        units[at] |= (base ^ at) << 10 | (0 in node) << 8
        for label, child in node.items():
            place = base ^ label
            used.add(place)
            units += [0] * (place + 256 - len(units))
            if label:
                units[place] = label
                todo.append((child, place))
            else:
                units[place] = child | 1 << 31
    return struct.pack(f"<{len(units) + 1}I", 4 * len(units), *units) + blob


def rules(characters):
    """Rules as in SentencePiece's nmt_nfkc: compatible forms of some characters, spaces, and control characters."""
    found = {"\t": " ", "\n": " ", "\r": " ", "\u00a0": " ", "\u200b": " ", "\u2028": " ", "\u3000": " ", "\ufeff": " ", "\x01": "", "\x1c": "", "\u00ad": ""}
    for c in characters:
        form = unicodedata.normalize("NFKC", c)
        if form != c:
            found[c] = form
    return found


def protobuf(*fields):
    """A message of (number, value): bytes, a float, or an integer."""
    def varint(value):
        return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)
    out = b""
    for number, value in fields:
        if isinstance(value, bytes):
            out += varint(number << 3 | 2) + varint(len(value)) + value
        elif isinstance(value, float):
            out += varint(number << 3 | 5) + struct.pack("<f", value)
        else:
            out += varint(number << 3) + varint(value)
    return out


def sentencepiece(pieces, table=None):
    """SentencePiece's file with (text, score, type): 1 usual, 2 unknown, 3 control, 4 defined by the user."""
    return protobuf(*((1, protobuf((1, piece.encode()), (2, score), *([(3, type)] if type != 1 else []))) for piece, score, type in pieces),
                    (2, protobuf((3, 1), (4, len(pieces)), (40, 0))), *([(3, protobuf((1, b"nmt_nfkc"), (2, table)))] if table is not None else []))


def template(cls, sep, ids, times=1, second=1):
    def special(token, kind):
        return {"SpecialToken": {"id": token, "type_id": kind}}
    text = [special(cls, 0), {"Sequence": {"id": "A", "type_id": 0}}]
    return {"type": "TemplateProcessing", "single": text + [special(sep, 0)],
            "pair": text + [special(sep, 0)] * times + [{"Sequence": {"id": "B", "type_id": second}}, special(sep, second)],
            "special_tokens": {token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in (cls, sep)}}


def tokenizer_json(pieces, normalizer, pre_tokenizer, extra=()):
    """A tokenizer.json with <s>, <pad>, </s>, <unk>, the (text, score), <mask>; `extra`: added tokens behind them."""
    vocab = [(name, 0.0) for name in ("<s>", "<pad>", "</s>", "<unk>")] + list(pieces) + [("<mask>", 0.0)]
    ids = {piece: i for i, (piece, _) in enumerate(vocab)}
    listed = [{"id": ids[name], "content": name, "single_word": False, "lstrip": name == "<mask>", "rstrip": False, "normalized": False, "special": True}
              for name in ("<s>", "<pad>", "</s>", "<unk>", "<mask>")]
    listed += [{"id": len(vocab) + i, **token} for i, token in enumerate(extra)]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": listed, "normalizer": normalizer, "pre_tokenizer": pre_tokenizer,
            "post_processor": template("<s>", "</s>", ids, 2, 0), "decoder": {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True},
            "model": {"type": "Unigram", "unk_id": 3, "vocab": vocab, "byte_fallback": False}}


def trained(size, corpus):
    """Pieces and scores that `tokenizers` finds for a corpus."""
    import tokenizers
    made = tokenizers.Tokenizer(tokenizers.models.Unigram())
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    made.train_from_iterator(corpus, tokenizers.trainers.UnigramTrainer(vocab_size=size, show_progress=False, special_tokens=["<unk>"], unk_token="<unk>"))
    return [(piece, score) for piece, score in json.loads(made.to_str())["model"]["vocab"] if piece != "<unk>"]


def write(folder, files):
    os.makedirs(os.path.join(HERE, folder), exist_ok=True)
    for name, content in files.items():
        with open(os.path.join(HERE, folder, name), "wb") as out:
            out.write(content if isinstance(content, bytes) else json.dumps(content, ensure_ascii=False).encode())


def main():
    import transformers
    pieces = [(piece, round(score, 5)) for piece, score in trained(420, CORPUS)]
    table = charsmap(rules("ﬁﬂ½²Ⅷ①Ａ１ｶ" + "ÅÄÖ") | {"A\u030a": "Å", "e\u0301": "é", "ｶ\uff9e": "ガ"})
    own = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3), ("[ENT]", 0.0, 4)] + [(piece, score, 1) for piece, score in pieces]
    write("spm", {"config.json": {"model_type": "xlm-roberta"}, "sentencepiece.bpe.model": sentencepiece(own, table)})
    entity = {"content": "[ENT]", "single_word": False, "lstrip": False, "rstrip": True, "normalized": False, "special": False}
    bytes_too = [(f"<0x{byte:02X}>", -20.0) for byte in range(256)]
    whole = tokenizer_json(pieces + bytes_too, {"type": "Sequence", "normalizers": [
        {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(table).decode()}, {"type": "Replace", "pattern": {"String": "``"}, "content": '"'},
        {"type": "Strip", "strip_left": False, "strip_right": True}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}]},
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}, [entity])
    whole["model"]["byte_fallback"] = True
    write("fast", {"config.json": {"model_type": "bert"}, "tokenizer.json": whole, "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast"}})
    cases = []
    for folder in ("spm", "fast"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(os.path.join(HERE, folder))
        for i, text in enumerate(TEXTS):
            pair = TEXTS[i - 1] if i % 3 == 2 else None
            length = (512, 12)[i % 5 == 4]
            batch = tokenizer([text], [pair] if pair is not None else None, truncation=True, max_length=length)
            cases.append({"folder": folder, "text": text, "pair": pair, "max_length": length, "ids": batch["input_ids"][0]})
    write(".", {"ids.json": b"[" + b",\n".join(json.dumps(case, ensure_ascii=False).encode() for case in cases) + b"]\n"})


if __name__ == "__main__":
    main()
