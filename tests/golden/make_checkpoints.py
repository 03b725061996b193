"""Makes roberta/, distilbert/, tokens.json, and the folders of IDS: small checkpoints with random weights, and what transformers
and tokenizers compute with them.

    python3 -m venv V && V/bin/pip install torch transformers tokenizers && V/bin/python make_checkpoints.py [NAME...]

NAME: a folder of IDS, instead of all.

Made with torch 2.13, transformers 5.23, tokenizers 0.23.  All text here is made up for this purpose.
"""
import json
import os
import random
import shutil
import sys

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, ByteLevelBPETokenizer, BertWordPieceTokenizer
from tokenizers.processors import BertProcessing
from transformers import (AutoModelForSequenceClassification, DistilBertConfig, ElectraConfig, DistilBertForSequenceClassification,
                          ModernBertConfig, MPNetConfig, PreTrainedTokenizerFast, RobertaConfig, RobertaForSequenceClassification, RobertaTokenizer,
                          XLMRobertaConfig)
from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = """The harbour was quiet when the ferry came in, and nobody had told the children that it wouldn't stop.
She'd been waiting for three hours; they're always late in November, aren't they?
I can't say who's right. We've read the report, you've read it, and he'll read it tomorrow if I'm not mistaken.
In 1987 the bridge cost 2,450,000 francs, about 12 % more than planned (see page 31).
A cat sat on the mat, the other cat sat on the other mat, and the dog's bone lay between them.
What a dull film! The actors mumble, the plot limps, the music hums along; I left after 40 minutes.
A warm, funny and surprisingly honest film about two brothers who share one bicycle.
He said: "Don't touch that," and then he touched it himself.
Der schöne Fußgänger überquerte die Straße, während der Bäcker Brötchen zählte.
Le garçon a mangé la crème brûlée près de la fenêtre, où l'élève dormait.
El niño pequeño soñó con una montaña y un pingüino.
Write to nobody@example.org or look at https://example.org/a/b?c=1&d=2#top for nothing at all.
The quick test: x += 1; if (x >= 10) { return x * 2; } else { x--; }
Rain, rain and more rain. The river rose by 3.5 metres; the town's mayor wasn't there.
Nothing is known about the sender, and that is how it should remain."""
PIECES = ["the", " the", "cat", " sat", "don't", "it's", "we've", "I'm", "you'll", "she'd", "they're", "'S", "'T", "''s", "'", " '", "' ",
          " ", "  ", "   ", "\t", "\n", "\r\n", "\v", "\f", "\n\n\n", " \n", "\t ", "\u00a0", "\u2003", "\u3000", "\u2028", "\u0085", "\u200b", "\ufeff",
          "0", "12", "345", " 6", "½", "²", "Ⅷ", "٣", "१२", "é", "e\u0301", "n\u0303", "ö", "ß", "Å", "A\u030a", "ﬁ", "İ", "ı", "Σ", "ς", "ǅ",
          "中", "文字", "日本語", "かな", "한국어", "ไทย", "हिन्दी", "עברית", "العربية", "Ελλάδα", "привет", "😀", "👩\u200d👩\u200d👧", "🇫🇷", "👍🏽", "❤\ufe0f",
          "\ufffd", "\u00ad", "\u202e", "\x00", "\x01", "\x1c", "\x7f", "\x9f", "!", "...", "?!", "--", "–", "—", "“", "”", "’s", "‘", "%", "€", "$5", "<", ">",
          "<s>", "</s>", "<pad>", "<unk>", "<mask>", " <mask>", "  <mask> ", "<mask>.", "<mas", "< mask>", "mask>", "a_b", "x=y", "http://a.b/c?d=e", "#", "##ing", "@",
          "\\", "/", "|", "^", "~", "`", "antidisestablishmentarianism", "AAAAAAAA", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "Fußgänger", "œuvre", "naïve"]


def corpus():
    return CORPUS.split("\n")


def texts():
    """Single pieces, then random sequences of them, every fourth with a pair."""
    rng = random.Random(7)
    out = [(piece, None) for piece in PIECES] + [(line, None) for line in corpus()] + [("", None), ("x" * 120, None), ("x" * 100, None)]
    for i in range(190):
        pick = lambda: "".join(rng.choice(PIECES) for _ in range(rng.randint(2, 9)))
        out.append((pick(), pick() if i % 4 == 0 else None))
    return out


def make_roberta(folder):
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(corpus(), vocab_size=480, min_frequency=2, show_progress=False,
                            special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    bpe.save_model(folder)
    tokenizer = RobertaTokenizer.from_pretrained(folder, mask_token=AddedToken("<mask>", lstrip=True, special=True))
    tokenizer.backend_tokenizer.save(os.path.join(folder, "tokenizer.json"))
    config = RobertaConfig(vocab_size=len(tokenizer), hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40,
                           max_position_embeddings=34, type_vocab_size=1, layer_norm_eps=1e-5, num_labels=3)
    return tokenizer, RobertaForSequenceClassification(config)


def make_distilbert(folder):
    wordpiece = BertWordPieceTokenizer(lowercase=True)
    wordpiece.train_from_iterator(corpus(), vocab_size=300, min_frequency=2, show_progress=False)
    wordpiece.post_processor = BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    wordpiece.save(os.path.join(folder, "tokenizer.json"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=os.path.join(folder, "tokenizer.json"), pad_token="[PAD]", unk_token="[UNK]",
                                        cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")
    config = DistilBertConfig(vocab_size=len(tokenizer), dim=24, n_layers=2, n_heads=3, hidden_dim=40, max_position_embeddings=32,
                              activation="gelu", num_labels=3)
    return tokenizer, DistilBertForSequenceClassification(config)


def randomise(model):
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            noise = 0.25 * torch.randn(tensor.shape, generator=generator)
            one = 1 if "norm.weight" in name.lower() else 0
            tensor.copy_((noise + one).float())


# Checkpoints whose texts are random ids. Those with special tokens also get a vocab.txt of letters.
SMALL = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20, "vocab_size": 29,
         "num_labels": 3}
MODERN = {**{key: size for key, size in SMALL.items() if key != "num_hidden_layers"}, "max_position_embeddings": 32,
          "local_attention": 8, "pad_token_id": 0, "cls_token_id": 1, "sep_token_id": 2, "bos_token_id": 1, "eos_token_id": 2}
IDS = {"mpnet": lambda: MPNetConfig(**SMALL, max_position_embeddings=34, layer_norm_eps=1e-5),
       "electra": lambda: ElectraConfig(**SMALL, max_position_embeddings=32, embedding_size=7),
       "xlm_roberta": lambda: XLMRobertaConfig(**SMALL, max_position_embeddings=34, type_vocab_size=1, layer_norm_eps=1e-5),
       "modernbert": lambda: ModernBertConfig(**MODERN, num_hidden_layers=4, classifier_pooling="mean"),
       "modernbert_biases": lambda: ModernBertConfig(**MODERN, num_hidden_layers=2, layer_types=["full_attention"] * 2, norm_bias=True,
                                                     attention_bias=True, mlp_bias=True, classifier_bias=True)}
SPECIALS = {"mpnet": {"cls_token": "<s>", "pad_token": "<pad>", "sep_token": "</s>", "unk_token": "[UNK]", "mask_token": "<mask>"},
            "electra": {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}}
SPECIALS["modernbert"] = SPECIALS["electra"]


def random_batch(config):
    generator = torch.Generator().manual_seed(5)
    lengths = torch.tensor([13, 7, 2, 26, 1])
    mask = (torch.arange(26) < lengths[:, None]).long()
    ids = torch.randint(4, config.vocab_size, mask.shape, generator=generator)
    batch = {"input_ids": torch.where(mask > 0, ids, config.pad_token_id), "attention_mask": mask}
    if getattr(config, "type_vocab_size", 1) > 1:
        batch["token_type_ids"] = torch.randint(0, 2, mask.shape, generator=generator) * mask
    return batch


def texts_batch(tokenizer):
    lines = ["She can't say who's right.", "A warm film.", "Rain, rain and more rain.", "x", "the river rose"]
    return tokenizer(lines, padding=True, truncation=True, max_length=24, return_tensors="pt")


def expect(folder, batch, model, **more):
    """The model's float64 outputs and gradients for five texts."""
    labels = torch.tensor([0, 2, 1, 1, 0])
    pooled = {}
    inner = model.classifier.out_proj if hasattr(model.classifier, "out_proj") else model.classifier
    inner.register_forward_pre_hook(lambda module, args: pooled.update(pooled=args[0]))
    model.double().eval()
    types = {key: batch[key] for key in ("token_type_ids",) if key in batch and "token_type_ids" in model.forward.__code__.co_varnames}
    output = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], **types, labels=labels, output_hidden_states=True)
    output.loss.backward()
    out = {"input_ids": batch["input_ids"], "token_type_ids": types.get("token_type_ids", torch.zeros_like(batch["input_ids"])),
           "attention_mask": batch["attention_mask"], "labels": labels, "logits": output.logits, "loss": output.loss.reshape(1),
           "pooled": pooled["pooled"], **more}
    out.update({f"hidden.{i}": hidden for i, hidden in enumerate(output.hidden_states)})
    out.update({f"grad.{name}": tensor.grad.float() for name, tensor in model.named_parameters()})
    save_file({name: tensor.detach().contiguous().clone() for name, tensor in out.items()}, os.path.join(folder, "expected.safetensors"))


def make_ids(name):
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    config = IDS[name]()
    model = AutoModelForSequenceClassification.from_config(config)
    randomise(model)
    model.save_pretrained(folder)
    if name in SPECIALS:
        with open(os.path.join(folder, "vocab.txt"), "w") as file:
            file.writelines(f"{piece}\n" for piece in (*SPECIALS[name].values(), *"aeinorst", *(f"##{c}" for c in "abcdehilmnoprstu")))
        with open(os.path.join(folder, "tokenizer_config.json"), "w") as file:
            json.dump({**SPECIALS[name], **({"tokenizer_class": "PreTrainedTokenizerFast"} if name == "modernbert" else {"do_lower_case": True})},
                      file, indent=2)
            file.write("\n")
        if name == "modernbert":  # its class reads tokenizer.json alone
            pieces = open(os.path.join(folder, "vocab.txt")).read().split("\n")[:-1]
            BertWordPieceTokenizer({piece: i for i, piece in enumerate(pieces)}, lowercase=True).save(os.path.join(folder, "tokenizer.json"), pretty=False)
            os.remove(os.path.join(folder, "vocab.txt"))
    more = {}
    if name == "mpnet":  # the bucket of each distance
        more["buckets"] = MPNetEncoder.relative_position_bucket(torch.arange(-200, 201))
    expect(folder, random_batch(config), model, **more)


def main():
    for name in sys.argv[1:] or IDS:
        make_ids(name)
    if len(sys.argv) > 1:
        return
    tokenizers = {}
    for name, make in (("roberta", make_roberta), ("distilbert", make_distilbert)):
        folder = os.path.join(HERE, name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        tokenizers[name], model = make(folder)
        randomise(model)
        model.save_pretrained(folder)
        expect(folder, texts_batch(tokenizers[name]), model)
    entries = []
    for text, pair in texts():
        entry = {"text": text, **({"pair": pair} if pair is not None else {})}
        for name, tokenizer in tokenizers.items():
            args = (text,) if pair is None else (text, pair)
            entry[name] = tokenizer(*args)["input_ids"]
        entries.append(json.dumps(entry, separators=(",", ":")))
    with open(os.path.join(HERE, "tokens.json"), "w") as file:
        file.write('{"texts":[\n' + ",\n".join(entries) + "\n]}\n")


main()
