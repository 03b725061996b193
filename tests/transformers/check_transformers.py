#!/usr/bin/env python3
"""The program beside `transformers`, `tokenizers` and `sentence-transformers` themselves, on GLUE's texts.

    check_transformers.py hidden|sentences|tokens|saved|encoders PROGRAM MODEL GLUE SCRATCH [ROWS]

hidden: states of every layer, and the pooled one, of 200 pairs.  sentences: embeddings of 200 texts under several
folders of sentence-transformers.  tokens: ids of ROWS texts and pairs of every file (0: of all).  saved: what
`nvdp train` wrote, its logits and its score.  encoders: the same as hidden and saved, of random models of every other class.
Prints the largest differences as one JSON object.  Exits with 1 where they
are too large, with 77 where a package is missing."""
import base64
import json
import os
import shutil
import subprocess
import sys

os.environ.update(OMP_WAIT_POLICY="passive", HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error",
                  TOKENIZERS_PARALLELISM="false")
try:
    import h5py
    import numpy as np
    import torch
    import transformers
    if sys.argv[1] == "sentences":
        import sentence_transformers
except ImportError as missing:
    print(f"skipped: {missing}", file=sys.stderr)
    sys.exit(77)

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
from make_unigram import charsmap, rules, tokenizer_json
from make_unigram import trained as trained_pieces

torch.set_num_threads(1)  # texts come one by one
WHAT, PROGRAM, MODEL, GLUE, SCRATCH = sys.argv[1:6]
ROWS = int(sys.argv[6]) if len(sys.argv) > 6 else 0
# float32 on both sides, in another order of summation; states are of the size of 1.
STATES = 1e-5
LENGTH = 128
COLUMNS = {"CoLA": ("sentence",), "SST-2": ("sentence",), "MRPC": ("#1 String", "#2 String"),
           "QNLI": ("question", "sentence"), "QQP": ("question1", "question2"), "RTE": ("sentence1", "sentence2"),
           "STS-B": ("sentence1", "sentence2"), "WNLI": ("sentence1", "sentence2")}
PAIRS = ("MRPC", "QNLI", "QQP", "RTE", "STS-B")


def path(name):
    return os.path.join(SCRATCH, name)


def texts_of(task, file):
    """A file's texts, as tuples of one or two; rows that lack a column are left out."""
    with open(f"{GLUE}/{task}/{file}", encoding="utf-8-sig", newline="\n") as lines:
        rows = [line.rstrip("\r\n").split("\t") for line in lines]
    if task == "CoLA" and file != "test.tsv":
        return [(row[3],) for row in rows if len(row) == 4]
    columns = [rows[0].index(name) for name in COLUMNS[task]]
    return [tuple(row[i] for i in columns) for row in rows[1:] if len(row) > max(columns)]


def difference_of(theirs, ours):
    """The largest, in parts of the number where that is over 1."""
    return (np.abs(theirs - ours) / np.maximum(1, np.abs(theirs))).max().item()


def spread(items, count):
    return items if count == 0 or len(items) <= count else [items[i * len(items) // count] for i in range(count)]


def write_lines(name, texts):
    with open(path(name), "w") as out:
        for text in texts:
            line = {"text": text[0], **({"pair": text[1]} if len(text) > 1 else {})}
            out.write(json.dumps(line) + "\n")
    return path(name)


def nvdp(*words, **files):
    done = subprocess.run([PROGRAM, *words, "--quiet"], capture_output=True, text=True, **files)
    if done.returncode != 0:
        sys.exit(f"nvdp {' '.join(words)}: {done.stderr}")
    return done.stdout


def finish(passed, **found):
    print(json.dumps({**found, "transformers": transformers.__version__}))
    sys.exit(0 if passed else 1)


def some_pairs():
    return [pair for task in PAIRS for pair in spread(texts_of(task, "dev.tsv"), 40)]


def hidden():
    pairs = some_pairs()
    out = path("hidden.h5")
    nvdp("encode", "--model", MODEL, "--jsonl", write_lines("pairs.jsonl", pairs), "--out", out, "--all-layers",
         "--max-length", str(LENGTH), "--pool", "none")
    model = transformers.AutoModel.from_pretrained(MODEL).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(MODEL)
    worst, pooled = [0.0] * (model.config.num_hidden_layers + 1), 0.0
    with h5py.File(out) as file, torch.no_grad():
        ours = [file[f"hidden_{layer}"][:] for layer in range(len(worst))]
        for i, (text, pair) in enumerate(pairs):
            begin, end = file["offset"][i:i + 2]
            theirs = model(**tokenizer(text, pair, truncation=True, max_length=LENGTH, return_tensors="pt"),
                           output_hidden_states=True)
            for layer, states in enumerate(theirs.hidden_states):
                worst[layer] = max(worst[layer], difference_of(states[0].numpy(), ours[layer][begin:end]))
            pooled = max(pooled, difference_of(theirs.pooler_output[0].numpy(), file["pooler_output"][i]))
    finish(max(worst) <= STATES and pooled <= STATES, pairs=len(pairs), layers=worst, pooled=pooled)


def variant(name, modules, pooling):
    """MODEL as another folder of sentence-transformers; the weights are linked."""
    folder = path(name)
    inside = os.path.join(folder, modules[0]["path"])
    os.makedirs(inside)
    for file in ("config.json", "model.safetensors", "vocab.txt", "tokenizer_config.json", "sentence_bert_config.json"):
        os.symlink(os.path.abspath(f"{MODEL}/{file}"), os.path.join(inside, file))
    os.makedirs(os.path.join(folder, "1_Pooling"))
    modules = [{**module, "idx": i, "name": str(i)} for i, module in enumerate(modules)]
    for file, content in (("modules.json", modules), ("1_Pooling/config.json", pooling)):
        with open(os.path.join(folder, file), "w") as out:
            json.dump(content, out)
    return folder


def sentences():
    def module(kind, where):
        return {"path": where, "type": f"sentence_transformers.models.{kind}"}

    plain = [module("Transformer", "0_Transformer"), module("Pooling", "1_Pooling")]
    width = {"word_embedding_dimension": 384}
    folders = {"as it is": MODEL,
               "mean": variant("mean", plain, {**width, "pooling_mode_mean_tokens": True}),
               "cls": variant("cls", plain, {**width, "pooling_mode_cls_token": True}),
               "max, normalized": variant("max", plain + [module("Normalize", "2_Normalize")],
                                          {"embedding_dimension": 384, "pooling_mode": "max"})}
    saved = path("saved-again")
    sentence_transformers.SentenceTransformer(MODEL, device="cpu").save(saved)
    if not os.path.exists(saved + "/vocab.txt"):  # tokenizer.json alone
        shutil.copy(MODEL + "/vocab.txt", saved)
    folders["as it is saved again"] = saved
    texts = [text for pair in some_pairs()[::2] for text in pair]
    texts[7] = " ".join(texts[7:60])  # longer than max_seq_length
    lines = write_lines("texts.jsonl", [(text,) for text in texts])
    worst = {}
    for name, folder in folders.items():
        found = json.loads(nvdp("encode", "--model", folder, "--jsonl", lines, "--out", path(name + ".h5"), "--json"))
        model = sentence_transformers.SentenceTransformer(folder, device="cpu")
        if found["max_length"] != model.max_seq_length:
            sys.exit(f"{name}: {found}, max_seq_length {model.max_seq_length}")
        with h5py.File(path(name + ".h5")) as file:
            theirs = model.encode(texts, convert_to_numpy=True, show_progress_bar=False)
            worst[name] = difference_of(theirs, file["sentence_embedding"][:])
    finish(max(worst.values()) <= STATES, texts=len(texts), largest=worst,
           sentence_transformers=sentence_transformers.__version__)


def tokens():
    tokenizer = transformers.AutoTokenizer.from_pretrained(MODEL)
    files, count, different = 0, 0, []
    for task in COLUMNS:
        for file in sorted(os.listdir(f"{GLUE}/{task}")):
            if file not in ("train.tsv", "dev.tsv", "test.tsv"):
                continue
            texts = spread(texts_of(task, file), ROWS)
            with open(write_lines("lines.jsonl", texts)) as lines:
                printed = nvdp("tokenize", "--model", MODEL, "--jsonl", "--max-length", str(LENGTH), stdin=lines)
            ours = [json.loads(line) for line in printed.splitlines()]
            theirs = tokenizer(*zip(*texts), truncation=True, max_length=LENGTH) if len(texts[0]) > 1 else tokenizer(
                [text[0] for text in texts], truncation=True, max_length=LENGTH)
            files += 1
            count += len(texts)
            for i, text in enumerate(texts):
                want = {key: theirs[key][i] for key in ("input_ids", "token_type_ids")}
                if ours[i] != want:
                    different.append(f"{task}/{file}: {text}")
            if len(ours) != len(texts):
                sys.exit(f"{task}/{file}: {len(texts)} texts, {len(ours)} lines")
    finish(not different, files=files, texts=count, different=len(different), examples=different[:3])


def small_task(task, counts):
    """The first rows of a task's files: a folder for --data."""
    folder = path(task + "-data")
    os.mkdir(folder)
    for file, count in counts.items():
        with open(f"{GLUE}/{task}/{file}", encoding="utf-8") as lines, open(f"{folder}/{file}", "w") as out:
            out.writelines(list(lines)[:1 + count])
    return folder


def saved():
    found, largest = {}, 0.0
    for task, metric in (("RTE", "accuracy"), ("STS-B", "pearson")):
        run, data = path(task), small_task(task, {"train.tsv": 96, "dev.tsv": 96})
        nvdp("train", "--task", task.replace("-", "").lower(), "--data", data, "--model", MODEL, "--method", "base", "--epochs",
             "1", "--batch", "16", "--lr", "1e-4", "--max-length", str(LENGTH), "--out", run, "--no-cache")
        with open(f"{data}/dev.tsv", encoding="utf-8") as lines:
            rows = [line.rstrip("\r\n").split("\t") for line in lines]
        at = [rows[0].index(name) for name in COLUMNS[task]]
        texts, labels = [tuple(row[i] for i in at) for row in rows[1:]], [row[-1] for row in rows[1:]]
        nvdp("encode", "--model", run + "/model", "--jsonl", write_lines("dev.jsonl", texts), "--out", path(task + ".h5"),
             "--max-length", str(LENGTH))
        model, loading = transformers.AutoModelForSequenceClassification.from_pretrained(run + "/model",
                                                                                         output_loading_info=True)
        if any(loading.values()):
            sys.exit(f"{run}/model: {loading}")
        model.eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(run + "/model")
        with h5py.File(path(task + ".h5")) as file, torch.no_grad():
            theirs = np.concatenate([
                model(**tokenizer(text, pair, truncation=True, max_length=LENGTH, return_tensors="pt")).logits.numpy()
                for text, pair in texts])
            difference = difference_of(theirs, file["logits"][:])
        if metric == "accuracy":
            score = np.mean([model.config.id2label[best] == label for best, label in zip(theirs.argmax(1), labels)])
        else:
            score = np.corrcoef(theirs[:, 0], [float(label) for label in labels])[0, 1]
        ours = json.loads(nvdp("eval", run, "--json"))["metrics"][metric]["mean"]
        found[task] = {"logits": difference, metric: float(score), "ours": ours}
        largest = max(largest, difference, abs(score - ours))
    finish(largest <= STATES, **found)


def random_models():
    """Models of the other types, and the names of their special tokens; XLM-RoBERTa has a Unigram tokenizer."""
    small = {"hidden_size": 96, "num_hidden_layers": 4, "num_attention_heads": 3, "intermediate_size": 200, "vocab_size": 30522}
    bert = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    roberta = ("<pad>", "[UNK]", "<s>", "</s>", "<mask>")
    return {"mpnet": (transformers.MPNetConfig(**small, max_position_embeddings=200), roberta),
            "electra": (transformers.ElectraConfig(**small, embedding_size=40), bert),
            "modernbert": (transformers.ModernBertConfig(**small, max_position_embeddings=200, local_attention=32, pad_token_id=0,
                                                         cls_token_id=101, sep_token_id=102, bos_token_id=101, eos_token_id=102,
                                                         classifier_pooling="mean"), bert),
            # transformers 5 writes layer_types and rope_parameters; more rows than pieces; layers of one LayerNorm less
            "modernbert-other": (transformers.ModernBertConfig(
                **{**small, "num_hidden_layers": 5, "vocab_size": 30528}, max_position_embeddings=200, local_attention=7, pad_token_id=0,
                cls_token_id=101, sep_token_id=102, bos_token_id=101, eos_token_id=102, global_attn_every_n_layers=2,
                hidden_activation="silu", norm_bias=True, attention_bias=True, mlp_bias=True, classifier_bias=True, decoder_bias=False,
                rope_parameters={"full_attention": {"rope_type": "default", "rope_theta": 5000.0},
                                 "sliding_attention": {"rope_type": "default", "rope_theta": 300.0}}), bert),
            "modernbert-one": (transformers.ModernBertConfig(
                **{**small, "num_hidden_layers": 1}, max_position_embeddings=200, local_attention=1, pad_token_id=0, cls_token_id=101,
                sep_token_id=102, bos_token_id=101, eos_token_id=102, hidden_activation="relu"), bert),
            "xlm-roberta": (transformers.XLMRobertaConfig(**small, max_position_embeddings=200, type_vocab_size=1), None)}


def write_random(name, config, specials):
    """A folder with a random model of classification and MODEL's vocabulary with these special tokens; None: with Unigram."""
    folder = path(name)
    torch.manual_seed(3)
    model = transformers.AutoModelForSequenceClassification.from_config(config)
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.add_(0.1 * torch.randn_like(tensor))
    model.save_pretrained(folder)
    if specials is None:
        texts = [text[0] for text in texts_of("MRPC", "train.tsv")[:500]]
        table = base64.b64encode(charsmap(rules("ﬁﬂ½²"))).decode()
        with open(folder + "/tokenizer.json", "w") as file:
            json.dump(tokenizer_json(trained_pieces(2000, texts), {"type": "Precompiled", "precompiled_charsmap": table}, {"type": "Metaspace", "replacement": "▁"}), file)
    else:
        with open(f"{MODEL}/vocab.txt", encoding="utf-8") as file:
            pieces = file.read().splitlines()
        for old, new, place in zip(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), specials, (1, 2, 3, 4, 5)):
            pieces.remove(old)
            pieces.insert(place if specials[0] != "[PAD]" else place - 1, new)
        with open(folder + "/vocab.txt", "w", encoding="utf-8") as file:
            file.write("\n".join(pieces) + "\n")
        with open(folder + "/tokenizer_config.json", "w") as file:
            json.dump({**dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), specials)),
                       "do_lower_case": True}, file)
        if config.model_type == "modernbert":  # its class reads tokenizer.json alone
            fast = transformers.BertTokenizerFast.from_pretrained(folder)
            os.remove(folder + "/vocab.txt")
            transformers.PreTrainedTokenizerFast(tokenizer_object=fast.backend_tokenizer, **fast.special_tokens_map).save_pretrained(folder)
    return folder, model.base_model.eval()


def in_version_4(folder):
    """A folder's twin whose ModernBERT is described as transformers 4 does."""
    twin = folder + "-4"
    shutil.copytree(folder, twin)
    with open(twin + "/config.json") as file:
        config = json.load(file)
    types, rope = config.pop("layer_types"), config.pop("rope_parameters")
    config["global_attn_every_n_layers"] = (types + ["full_attention"]).index("full_attention", 1)
    config["global_rope_theta"] = rope["full_attention"]["rope_theta"]
    config["local_rope_theta"] = rope["sliding_attention"]["rope_theta"]
    with open(twin + "/config.json", "w") as file:
        json.dump(config, file)
    return twin


def hidden_of(folder, model):
    """The largest difference of the states of any layer, for pairs of ids that MODEL's tokenizer gives."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(MODEL)
    batches = [tokenizer(*pair, truncation=True, max_length=LENGTH) for pair in some_pairs()]
    typed = getattr(model.config, "type_vocab_size", 1) > 1
    keep = 10  # none of the ids of special tokens, which may be a type's padding
    lines = [{"input_ids": [max(id, keep) for id in batch["input_ids"]],
              "token_type_ids": batch["token_type_ids"] if typed else [0] * len(batch["input_ids"])} for batch in batches]
    with open(path("ids.jsonl"), "w") as out:
        out.writelines(json.dumps(line) + "\n" for line in lines)
    out, worst = folder + "/hidden.h5", 0.0
    nvdp("encode", "--model", folder, "--jsonl", path("ids.jsonl"), "--out", out, "--all-layers", "--pool", "none")
    with h5py.File(out) as file, torch.no_grad():
        for i, line in enumerate(lines):
            begin, end = file["offset"][i:i + 2]
            given = {key: torch.tensor([ids]) for key, ids in line.items() if key == "input_ids" or typed}
            for layer, states in enumerate(model(**given, output_hidden_states=True).hidden_states):
                worst = max(worst, difference_of(states[0].numpy(), file[f"hidden_{layer}"][begin:end]))
    return worst


def trained(name, folder):
    """Trains a model, and compares its probabilities with those of the class that reads it."""
    run, data = path(name + "-run"), path("SST-2-data")
    if not os.path.exists(data):
        small_task("SST-2", {"train.tsv": 64, "dev.tsv": 48})
    nvdp("train", "--task", "sst2", "--data", data, "--model", folder, "--method", "base", "--epochs", "1", "--batch", "16", "--lr",
         "1e-4", "--max-length", str(LENGTH), "--out", run, "--no-cache")
    model, loading = transformers.AutoModelForSequenceClassification.from_pretrained(run + "/model", output_loading_info=True)
    if any(loading.values()):
        sys.exit(f"{run}/model: {loading}")
    tokenizer = transformers.AutoTokenizer.from_pretrained(run + "/model")
    with open(f"{data}/dev.tsv", encoding="utf-8") as lines:
        texts = [row.split("\t")[0] for row in list(lines)[1:]]
    with open(path("predict.txt"), "w") as out:
        out.writelines(text + "\n" for text in texts)
    ours = [json.loads(line) for line in nvdp("predict", run, "--input", path("predict.txt")).splitlines()]
    worst = 0.0
    with torch.no_grad():
        for text, mine in zip(texts, ours):
            given = tokenizer(text, truncation=True, max_length=LENGTH, return_tensors="pt")
            theirs = torch.softmax(model.eval()(**given).logits[0].double(), 0)
            worst = max(worst, abs(theirs.max().item() - mine["probability"]))
    return worst


def private(name, folder, before):
    """Trains VTDP above one frozen layer. transformers loads the encoder, whose frozen layer is the one `before`."""
    run, data = path(name + "-private"), path("SST-2-data")
    layers = before.config.num_hidden_layers
    nvdp("train", "--task", "sst2", "--data", data, "--model", folder, "--method", "vtdp", "--freeze-layers", "1", "--epochs", "1",
         "--batch", "16", "--lr", "1e-4", "--max-length", "32", "--out", run, "--no-cache")
    model, loading = transformers.AutoModel.from_pretrained(run + "/model", output_loading_info=True)
    lacking = [key for key in loading["missing_keys"] if "pooler" not in key]  # BERT's pooler, which no private method has
    if lacking or loading["mismatched_keys"]:
        sys.exit(f"{run}/model: {loading}")
    with torch.no_grad():
        old, new = (of.eval()(torch.arange(10, 40)[None], output_hidden_states=True).hidden_states for of in (before, model))
    if layers > 1 and torch.equal(old[-1], new[-1]):
        sys.exit(f"{run}/model: the layers above were not trained")
    return difference_of(old[1].numpy(), new[1].numpy())


def encoders():
    found, largest = {}, 0.0
    for name, (config, specials) in random_models().items():
        folder, model = write_random(name, config, specials)
        found[name] = {"states": hidden_of(folder, model)}
        found[name]["probabilities"] = trained(name, folder)
        found[name]["private"] = private(name, folder, model)
        if config.model_type == "modernbert":
            found[name]["version 4"] = hidden_of(in_version_4(folder), model)
        largest = max(largest, *found[name].values())
    finish(largest <= STATES, **found)


{"hidden": hidden, "sentences": sentences, "tokens": tokens, "saved": saved, "encoders": encoders}[WHAT]()
