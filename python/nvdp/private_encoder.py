"""An encoder that gives away random samples of texts, counts them, and refuses what exceeds a text's budget."""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import secrets
import shutil
import struct
import tarfile
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Optional

import numpy as np

from ._lib import NvdpError, NvdpValueError, absolute, as_asked, chunks, converted, stream, text_list, text_pairs
from ._progress import Progress, showing
from ._similarity import Similarity, similarity
from .results import Certificate, Evaluation, Privacy
from .runs import KeepTexts, Run, forget_texts, train
from .shared import Shared

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .training_options import Arguments, PrivateEncodeArguments, ShardArguments, EvaluateArguments, PredictArguments, PrivacyArguments, ReleaseArguments

_MOVED = b"nvdp ledger moved\n"
"""The first line of a ledger's file if the ledger is elsewhere; the path follows. The library refuses to release by it."""
_BESIDE = ("ledger.key", "ledger.state")
"""Files that belong to the ledger and move with it: its key, and the state with which its readers compare it."""
_NOT_SAVED = {"ledger", *_BESIDE, "base", "state.ckpt"}
"""The parts of a run that are not copied: states on the way to the model, and the ledger, which is moved."""
_PUBLISHED = {"model", "labels.json", "decoder.safetensors", "dp-statement.txt"}
"""The parts of a run that push_to_hub() copies as they are. It rewrites run.json and result.json."""
_OF_TEXTS = {"hardware", "data", "test", "validation", "best_epoch", "early_stopped", "loss_g", "loss_d", "seconds", "score_seconds", "tokens_per_second", "sum"}
"""Keys of run.json and result.json that are left out: numbers computed from texts without noise, and the machine."""
_PATHS = {"data", "out", "input", "model", "from_base", "representations", "sensitive_from", "sensitive_list"}
"""Options whose values are names of the owner's files."""


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # not a child's
        shutil.rmtree(folder, ignore_errors=True)


class _Folder:
    """A temporary folder, which is removed with the last object that uses it, or at exit."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="nvdp-")  # only its owner can read it
        self.remove = weakref.finalize(self, _remove, self.path, os.getpid())


class PrivateEncoder:
    """An encoder with a bottleneck: what leaves it is one random sample per text, drawn with noise of the operating system.

    encode() and release() are releases. The ledger counts every sample of every text before it is drawn, and a text beyond its
    budget (one sample, or `certified_releases`) is refused with NvdpError, status ERR_STATE. The refusal is for the owner of the texts:
    it tells that a text was shared before. The guarantee covers what encode() and release() return. All else here is for the owner:
    predict() and predict_proba(), whose noise comes from a seed, and `run`, whose posteriors() are vectors without noise.

    Whoever releases needs the ledger, which is in one folder. A copy of this object (pickle, joblib, copy) predicts and measures, and
    refuses to release until attach(folder) names that folder. Forked processes share object and ledger, and release.

    model: directory of a public encoder, which fit() starts from. threads: number of threads; None: one per processor.
    """

    def __init__(self, model: str | PathLike[str] | None = None, *, threads: int | None = None):
        self._model = None if model is None else absolute(model, "model")
        self._threads = threads
        self._run: Run | None = None
        self._kept: _Folder | None = None
        self._copy_of: Path | None = None  # the run whose ledger counts, if this object is a copy

    @classmethod
    def from_pretrained(cls, folder: str | PathLike[str], *, threads: int | None = None, revision: str | None = None,
                        token: str | None = None) -> PrivateEncoder:  # fmt: skip
        """Opens a folder of save_pretrained(), a run's directory, or the directory of a public encoder, which is to be fitted.

        A name OWNER/NAME that is no folder is downloaded with huggingface_hub (revision, token). A downloaded encoder predicts and
        measures and never releases: several receivers would each have a ledger. attach(folder) names the owner's folder.
        """
        path = Path(absolute(folder, "folder"))
        if not path.exists() and (hub := _hub(str(folder))) is not None:
            made = cls.from_pretrained(hub.snapshot_download(str(folder), revision=revision, token=token), threads=threads)
            made._copy_of = Path(str(folder)) if made._run is not None else None
            return made
        for run in path / "run", path:
            if (run / "run.json").is_file():
                _finish_move(run)
                made = cls(threads=threads)
                made._run = Run(run, threads=threads)
                if run != path and not (run / "ledger").exists():  # save_pretrained() writes one
                    made._copy_of = run
                return made
        if (path / "config.json").is_file():
            return cls(path, threads=threads)
        raise NvdpError(f"{path}: expected a folder of save_pretrained(), a run (run.json) or an encoder (config.json), found none", "ERR_IO")

    def fit(self, texts: Any = None, labels: Any = None, *, pairs: Any = None, out: str | PathLike[str] | None = None,
            preset: str | None = "auto", dev: Any = 0.1, regression: bool = False, text_column: str = "text",
            label_column: str = "label", pair_column: str | None = None, keep_texts: KeepTexts = "dev", progress: Progress = None,
            **options: Unpack[Arguments]) -> PrivateEncoder:  # fmt: skip
        """Trains the encoder on texts and labels, as nvdp.train, and returns this object. Options: nvdp.TrainingOptions.

        texts, labels, pairs, dev, text_column, label_column, pair_column, preset, regression, progress: as in nvdp.train.
        out: a new run directory, in which an interrupted training goes on (nvdp.resume). None: a temporary directory, which is
            removed with this object, and the ledger with it: save_pretrained() keeps the encoder.
        keep_texts: "dev": the texts held out, on which privacy() and evaluate() measure; True: all; False: none. With False and
            "dev", no cache of texts is written either. Keyed digests of the training's texts stay in the run (seen_texts.bin), by which
            a later training knows what the model has seen: who has the run can test guesses.
        """
        given: dict[str, Any] = {"model": self._model, "threads": self._threads, **options}
        if given["model"] is None and "from_base" not in given:
            raise NvdpValueError("model: expected the directory of a public encoder, found none; give it to PrivateEncoder or from_pretrained")
        if keep_texts not in (True, False, "dev"):
            raise NvdpValueError(f"keep_texts: expected True, False or 'dev', found {keep_texts!r}")
        if keep_texts is not True:
            given.setdefault("cache", None)
        kept = _Folder() if out is None else None
        try:
            run = train(texts, labels, pairs=pairs, out=out if kept is None else os.path.join(kept.path, "run"), preset=preset, dev=dev,
                        text_column=text_column, label_column=label_column, pair_column=pair_column, regression=regression,
                        progress=progress, **given)  # fmt: skip
        except KeyboardInterrupt:
            if kept is None:
                raise
            kept.remove()
            raise KeyboardInterrupt("stopped; nothing of the training is kept: with out=DIR it could go on") from None
        except BaseException:
            if kept is not None:
                kept.remove()
            raise
        if texts is not None:
            forget_texts(run, keep_texts)
        if kept is not None:
            shutil.rmtree(run.path / "base", ignore_errors=True)  # the way to the model
            (run.path / "state.ckpt").unlink(missing_ok=True)
        self._run, self._kept, self._copy_of = run, kept, None
        return self

    # --- what leaves ---

    @property
    def can_release(self) -> bool:
        """True if encode() and release() can work: the encoder is trained, its ledger is in its own folder, and this object is not a copy."""
        return self._run is not None and self._copy_of is None and not _owner_of(self._run.path)

    def attach(self, folder: str | PathLike[str]) -> PrivateEncoder:
        """Uses the folder of this encoder that has the ledger (of save_pretrained(), or a run's directory), and returns this object, which
        then releases. For a copy that pickle or joblib loaded: all that attach the folder are counted together, in any process."""
        found = PrivateEncoder.from_pretrained(folder, threads=self._threads)
        if found.run.info.fingerprint != self.run.info.fingerprint:
            raise NvdpValueError(f"folder: expected the encoder of which this is a copy, found another one in {found.run.path}")
        if not found.can_release:
            raise NvdpError(f"{found.run.path}: expected a ledger, found that it is in {_owner_of(found.run.path)}; attach that folder", "ERR_STATE")
        self._run, self._kept, self._copy_of = found.run, None, None
        return self

    def _check_copy(self, way_on: str) -> None:
        if self._copy_of is not None:
            raise NvdpError(f"expected the encoder with the ledger, found a copy, which does not count samples and releases none: {way_on}. "
                            f"The ledger was in {self._copy_of}", "ERR_STATE")  # fmt: skip

    def release(self, texts: Iterable[str], out: str | PathLike[str] | None = None, *, pairs: Iterable[str] | None = None,
                labels: Iterable[Any] | None = None, samples: int = 1, batch_size: int = 32, show_progress_bar: bool | None = None,
                **options: Unpack[ReleaseArguments]) -> Shared:  # fmt: skip
        """Gives away `samples` random samples of each text: draws them, counts them in the ledger, and returns them as a shared file.

        out: the file: .h5, .safetensors or .parquet; None: a temporary one, which lasts as long as the result (Shared.save keeps it).
        labels: written to the file if given. options: persons, budget_samples, duplicates, sign, card, overwrite ... (Run.export).
        Each occurrence of a text has samples of its own, which add up in the ledger.
        Raises ERR_STATE, before anything is drawn, for a text without samples left in its budget, and in a copy.
        """
        self._check_copy("attach(folder) names the folder that has it")
        kept = _Folder() if out is None else None
        path = absolute(out, "out") if out is not None else os.path.join(kept.path, "shared.h5") if kept else ""
        with showing(self.run._context, show_progress_bar):
            given: dict[str, Any] = {"samples": samples, "batch": batch_size, "measure_texts": 2, **options}
            self.run.export(texts, path, pairs=pairs, labels=labels, **given)
        return Shared(path)._keep(kept)

    def release_shards(self, texts: Iterable[str], folder: str | PathLike[str], *, pairs: Iterable[str] | None = None,
                       labels: Iterable[Any] | None = None, persons: Iterable[str | None] | None = None, shard_size: int = 65536,
                       first_shard: int = 0, ending: str = "h5", show_progress_bar: bool | None = None, **options: Unpack[ShardArguments]) -> list[Path]:  # fmt: skip
        """Gives away one sample per text of any iterable, a generator too, in files of `shard_size` texts: FOLDER/shard-00000.h5 ...
        Returns the files. Memory: one shard of texts and vectors. All shards are counted in one ledger.

        ending: "h5", "safetensors" or "parquet". show_progress_bar: None: in a terminal or notebook.

        If a shard is refused, the shards before it are complete; `first_shard` is the number of the next, for the texts that are left.
        options: samples, budget_samples, duplicates, sign ... (release). A text that stands in several shards needs budget_samples.
        """
        parts = {name: part for name, part in (("labels", labels), ("pairs", pairs), ("persons", persons)) if part is not None}
        columns = [stream(texts, "texts", "str"), *(stream(part, name, "labels") for name, part in parts.items())]
        options.setdefault("model_id", secrets.token_hex(16))  # links the files of one release
        place = Path(absolute(folder, "folder"))
        made: list[Path] = []
        place.mkdir(parents=True, exist_ok=True)
        for number, chunk in enumerate(chunks(columns, shard_size, "shard_size"), first_shard):
            path = place / f"shard-{number:05d}.{ending.lstrip('.')}"
            try:
                given: dict[str, Any] = {**dict(zip(parts, chunk[1:])), **options}
                self.release(chunk[0], path, show_progress_bar=show_progress_bar, **given)
            except NvdpError as reason:
                raise type(reason)(f"{path}: {reason}; released before: {len(made)} shards", reason.status) from None
            made.append(path)
        return made

    def encode(self, sentences: str | Iterable[str], *, pairs: str | Iterable[str] | None = None, batch_size: int = 32,
               pooling: Optional[str] = "mean", normalize_embeddings: bool = False, convert_to_numpy: bool = True,
               convert_to_tensor: bool = False, dtype: Any = None, truncate_dim: int | None = None, precision: str = "float32",
               prompt: str | None = None, show_progress_bar: bool | None = None, budget_samples: int = 0,
               duplicates: Optional[Literal["refuse", "each"]] = None) -> Any:  # fmt: skip
        """Gives away one random sample of each row, as a vector: [N, p] float32, or [p] for a str.

        The arguments are those of sentence-transformers, the result is not: it is noisy, differs in every call, and each call is another
        release, which the ledger counts. A text that was given away before is refused (ERR_STATE) unless budget_samples allows it: keep
        the result. Equal texts have samples of their own, and the ledger counts each: that they are equal shows only as far as the noise
        allows. The sample's guarantee covers everything that is computed from it, such as this vector.

        pooling: "mean", the mean of the sample's vectors by their weights; None: the vectors themselves, one [M, p] array per text,
            and all that a reader can learn (release() has the weights too).
        normalize_embeddings: vectors of length 1. batch_size: texts of one pass of the encoder.
        convert_to_tensor: a torch tensor; dtype: "float32", "float16", "float64", "bfloat16" (tensors only) or a dtype.
        truncate_dim: number of leading columns to return. precision: "float32", or "int8", "uint8", "binary", "ubinary", as
            sentence-transformers quantizes; the ranges of "int8" are those of the returned rows.
        prompt: refused unless empty: the ledger would count a text with a prompt as another text, with a budget of its own.
        budget_samples: samples per text that this call allows in all, counted over all releases; 0: as the run promised.
        duplicates: what to do about a text that occurs in several rows of the call, as `nvdp export --duplicates`.
        """
        if pooling not in ("mean", None):
            raise NvdpValueError(f"pooling: expected 'mean' or None, found {pooling!r}")
        if prompt:
            raise NvdpValueError(f"prompt: expected none, found {prompt!r}: with a prompt, the ledger would count the text as another one, with a budget of its own")
        if pooling is None and (truncate_dim is not None or precision != "float32"):
            raise NvdpValueError("pooling: expected 'mean' with truncate_dim or precision, found None")
        asked = normalize_embeddings, convert_to_numpy, convert_to_tensor, dtype, truncate_dim, precision
        none = as_asked(np.zeros((0, self.dim), np.float32), False, *asked)  # an error must not cost a release
        one = isinstance(sentences, str)
        texts, second = text_pairs(text_list([sentences] if one else sentences, "sentences"), [pairs] if isinstance(pairs, str) and one else pairs)
        if not texts:
            return none if pooling else []
        shared = self.release(texts, pairs=second, batch_size=batch_size, show_progress_bar=show_progress_bar, budget_samples=budget_samples,
                              duplicates=duplicates)  # fmt: skip
        if pooling is None:
            found: Any = [converted(shared.sample(i)[0].copy(), convert_to_tensor, dtype) for i in range(len(shared))]
            return found[0] if one else found
        return as_asked(shared.mean()[:, 0], one, *asked)

    def encode_document(self, sentences: str | Iterable[str], **options: Unpack[PrivateEncodeArguments]) -> Any:
        """Gives away one random sample of each row, as encode(): [N, p] float32, or [p] for a str. options: as of encode()."""
        return self.encode(sentences, **options)

    def encode_query(self, sentences: str | Iterable[str], *, noise: bool = True, **options: Unpack[PrivateEncodeArguments]) -> Any:
        """Returns a vector of each query: [N, p] float32, or [p] for a str. Whoever sees the vector learns about the query, so it is a release as
        encode(), and the ledger counts it: the same query again needs budget_samples.

        noise=False: the mean of what encode() would draw, without noise. The vector is not private, nothing is proven of it, and the ledger
        does not count it: for queries and stores of your own. It works in a copy that does not release, so that the receiver of samples can
        search them. It needs a method without weights (a certified one, vib-...); others raise ERR_UNSUPPORTED.
        options: as of encode(); without noise normalize_embeddings, convert_to_numpy, convert_to_tensor, dtype, truncate_dim and precision.
        """
        if noise:
            return self.encode(sentences, **options)
        one = isinstance(sentences, str)
        names: dict[str, Any] = {"normalize_embeddings": False, "convert_to_numpy": True, "convert_to_tensor": False, "dtype": None, "truncate_dim": None, "precision": "float32"}
        if wrong := options.keys() - names - {"batch_size", "show_progress_bar"}:
            raise TypeError(f"{min(wrong)}: expected {', '.join(names)} with noise=False")
        found = self.run.posteriors(text_list([sentences] if one else sentences, "sentences"))
        if found.alpha is not None:
            raise NvdpError("noise: expected True for a method with weights that depend on the text, found False", "ERR_UNSUPPORTED")
        rows = np.full(len(found), found.length) if found.length else np.diff(found.offset.astype(np.intp))
        sums = [part.sum(axis=0) for part in np.split(found.mu, found.offset[1:-1].astype(np.intp))[: len(found)]]
        means = np.array(sums, np.float32).reshape(-1, self.dim) / rows[:, None].astype(np.float32)
        asked: list[Any] = [options.get(name, fallback) for name, fallback in names.items()]
        return as_asked(means, one, *asked)

    def similarity(self, embeddings1: Any, embeddings2: Any = None, *, noise: bool = True) -> Similarity:
        """Estimates the inner products of texts' means from vectors of encode(), with standard deviations [N, M]: nvdp.similarity with the
        noise that this encoder adds. embeddings1: [N, p], embeddings2: [M, p]; None: the first ones, with themselves; as they were
        returned, at most cut to truncate_dim. noise=False: embeddings1 are of encode_query(noise=False).

        The noise's variance must be the same for all texts: a certified encoder, vib-fixed or vib-learned; others raise ERR_UNSUPPORTED.
        """
        variance = self._noise()[: np.shape(embeddings1)[-1] if np.ndim(embeddings1) else None]
        return similarity(embeddings1, embeddings2, variance=variance if noise else 0.0, variance2=variance)

    def _noise(self) -> np.ndarray:
        """Returns the [p] variances of the noise in a vector of encode()."""
        found = self.run.posteriors(["text", "two other words"])
        same = np.all(found.logvar == (found.logvar[0] if found.length == 1 else 0))  # padding has variance 1
        if found.alpha is not None or found.length is None or not same:
            raise NvdpError(f"similarity: expected the same noise for every text, as of a certified encoder, found method {found.method} with noise "
                            "that depends on the text", "ERR_UNSUPPORTED")  # fmt: skip
        return np.asarray(np.exp(found.logvar[0]) / (found.length * self.run.info.kappa))

    def get_sentence_embedding_dimension(self) -> int:
        """Returns p, the length of a vector, as sentence-transformers names it."""
        return self.dim

    def encode_iter(self, sentences: Iterable[str], *, chunk_size: int = 16384, **options: Unpack[PrivateEncodeArguments]) -> Iterator[Any]:
        """Yields encode()'s vector of each text of any iterable, a generator too. Memory: one chunk of texts. options: as of encode().
        Each chunk is a release: a text that stands in several chunks needs budget_samples."""
        for (chunk,) in chunks([stream(sentences, "sentences", "str")], chunk_size, "chunk_size"):
            yield from self.encode(chunk, **options)

    # --- for the owner ---

    @property
    def run(self) -> Run:
        """The trained run: its scores, posteriors and measures, for the owner of the texts."""
        if self._run is None:
            raise NvdpError("this encoder is not trained: call fit(texts, labels), or open a saved one with from_pretrained(folder)", "ERR_STATE")
        return self._run

    @property
    def labels(self) -> list[Any] | None:
        """The classes, in the order of predict_proba(); None: scores."""
        return self.run.info.labels

    @property
    def dim(self) -> int:
        """p, the length of a vector."""
        return int(self.run.info.latent_dim)

    @property
    def guarantee(self) -> str:
        """The guarantee of a text's samples that the run promised (one, or `certified_releases`) in one line, or why no guarantee is
        useful. Samples beyond that, by budget_samples or in several rows, add up: nvdp.verify with the ledger has their sum."""
        return self.run.guarantee

    def predict(self, texts: Iterable[str], pairs: Iterable[str] | None = None, **options: Unpack[PredictArguments]) -> np.ndarray:
        """Returns the [N] classes, or scores, of texts, for their owner: not a release. options: samples, seed, batch (Run.predict)."""
        found = self.run.predict(texts, pairs, **options)
        return np.array([one.get("label", one.get("score")) for one in found])

    def predict_proba(self, texts: Iterable[str], pairs: Iterable[str] | None = None, **options: Unpack[PredictArguments]) -> np.ndarray:
        """Returns [N, C] probabilities of the classes in `labels`, for the owner of the texts: not a release."""
        if self.labels is None:
            raise NvdpError("predict_proba: expected an encoder of classes, found one of scores; use predict", "ERR_UNSUPPORTED")
        found = self.run.predict(texts, pairs, **options)
        return np.array([list(one.probabilities.values()) for one in found]).reshape(-1, len(self.labels))

    def evaluate(self, texts: Any = None, labels: Any = None, pairs: Any = None, **options: Unpack[EvaluateArguments]) -> Evaluation:
        """Scores the classifier on texts, or on the texts held out in training (Run.evaluate)."""
        return self.run.evaluate(texts, labels, pairs, **options)

    def privacy(self, texts: Iterable[str] | None = None, pairs: Iterable[str] | None = None, **options: Unpack[PrivacyArguments]) -> Privacy:
        """Measures the privacy of texts, or of the texts held out in training, in nats (Run.privacy). `guarantee` and
        certificate() say what is proven over all texts, seen or not."""
        return self.run.privacy(texts, pairs, **options)

    def certificate(self, **options: Unpack[PrivacyArguments]) -> Certificate:
        """Returns the proven guarantee over all texts: `epsilon` at `delta` for `releases` samples of a text (one by default), `theorem`,
        `statement` ... (Run.certificate)."""
        return self.run.certificate(**options)

    # --- a folder ---

    def save_pretrained(self, folder: str | PathLike[str], *, keep_texts: bool = True, can_release: bool = True) -> PrivateEncoder:
        """Saves everything to a new folder, from which from_pretrained() works on any machine; README.md there says what it has.
        This object uses the folder from then on.

        The budget of a text must not double, so the ledger is moved and not copied: the folder counts on where this encoder stopped,
        and the place it came from refuses to release. can_release=False: a copy that predicts and measures, and refuses to release;
        the ledger, and this object, stay where they are.
        keep_texts: copy the texts that fit() kept, for measures; False: none.
        """
        source, target = self.run.path, Path(absolute(folder, "folder"))
        if can_release:
            self._check_copy("save that one, attach(folder) first, or use can_release=False")
        if target == source or target in source.parents or source in target.parents:
            raise NvdpValueError(f"folder: expected a folder apart from the run {source}, found {target}")
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise NvdpValueError(f"folder: {target}: expected a new or empty folder, found one with files")
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as aside:
            made = Path(aside) / "made"  # mode 0700, as the folder around it
            made.mkdir(mode=0o700)
            shutil.copytree(source, made / "run", ignore=lambda where, names: _NOT_SAVED & set(names) if Path(where) == source else [])
            texts = Path(f"{source}.data")
            if keep_texts and texts.is_dir():
                shutil.copytree(texts, made / "run.data")
            _describe(made, self.run, (made / "run.data").is_dir(), can_release)
            (made / "run" / "ledger").write_bytes(_mark_of(source))
            made.rename(target)
        if can_release:
            try:
                _move_ledger(source, target / "run")
            except BaseException:
                if not (source / "ledger").read_bytes().startswith(_mark_of(target / "run")):
                    shutil.rmtree(target)
                raise
            self._run, self._kept = Run(target / "run", threads=self._threads), None
        return self

    def push_to_hub(self, repo_id: str, *, private: bool = True, public_training_texts: bool = False, token: str | None = None,
                    commit_message: str = "Add a private encoder") -> str:  # fmt: skip
        """Uploads a copy that predicts and measures and does not release, with huggingface_hub. Returns the repository's address.

        The copy has the model, its settings and a card with epsilon; no ledger, no texts, no digests, scores, counts or paths.
        Epsilon is about texts that are embedded. The weights themselves can reveal texts that the model was trained on, unless training was
        differentially private (training_privacy). So a public repository is refused, unless training was private or
        public_training_texts=True declares that its texts are public.

        repo_id: the repository, OWNER/NAME, which is made if there is none. private: only its members read it; refused for one that exists
        and is public. token, commit_message: of huggingface_hub.
        """
        hub = _hub(repo_id)
        if hub is None:
            raise NvdpError(f"repo_id: expected OWNER/NAME and the package huggingface_hub (pip install huggingface_hub), found {repo_id!r}", "ERR_ARGUMENT")
        secret = self.run.training_privacy is None and not public_training_texts
        if secret and not private:
            raise NvdpValueError("private: expected True, as the weights may reveal the texts of training, which was not differentially private, found False; "
                                 "public_training_texts=True declares that they are public")  # fmt: skip
        api, kept = hub.HfApi(token=token), _Folder()
        publish(self.run, Path(kept.path))
        address = str(api.create_repo(repo_id, private=private, exist_ok=True))
        if (private or secret) and not api.repo_info(repo_id).private:
            raise NvdpValueError(f"private: expected a repository that only its members can read, found {address}, which is public; nothing was uploaded")
        api.upload_folder(repo_id=repo_id, folder_path=kept.path, commit_message=commit_message)
        return address

    def __reduce__(self) -> Any:
        run = None if self._run is None else self._run.path
        content = None if self._kept is None else _without_ledger(self._kept.path)
        source = self._copy_of or (None if run is None else Path(_owner_of(run) or run))
        return _copied, (content, run, source, self._model, self._threads)

    def __repr__(self) -> str:
        if self._run is None:
            return f"nvdp.PrivateEncoder({self._model!r}): not trained; fit(texts, labels) trains it"
        kept = "" if self._kept is None else " in a temporary folder (save_pretrained keeps it)"
        info = self.run.info
        return (f"nvdp.PrivateEncoder({str(self.run.path)!r}){kept}: a random sample per text, vectors of {info.latent_dim} numbers, method "
                f"{info.method}. {self.guarantee}")  # fmt: skip


# --- copies, which do not release ---


def _without_ledger(folder: str) -> bytes:
    """Returns an archive of a folder with a run, without what save_pretrained() does not copy either."""
    left, content = {f"./run/{name}" for name in _NOT_SAVED}, io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.add(folder, ".", filter=lambda one: None if one.name in left else one)
    return content.getvalue()


def _copied(content: Optional[bytes], run: Optional[Path], source: Optional[Path], model: Optional[str], threads: Optional[int]) -> PrivateEncoder:
    made = PrivateEncoder(model, threads=threads)
    if run is None or source is None:
        return made
    made._copy_of = source
    if content is not None:
        made._kept = _Folder()
        run = Path(made._kept.path, "run")
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            safe: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            archive.extractall(made._kept.path, **safe)
        (run / "ledger").write_bytes(_mark_of(source))
    made._run = Run(run, threads=threads)
    return made


# --- the ledger moves, so that nothing is counted twice or not at all ---


def _mark_of(owner: Path) -> bytes:
    """Returns the content of a file that says in which run the ledger is."""
    return _MOVED + os.fsencode(owner) + b"\n"


def _owner_of(run: Path) -> str:
    """Returns in which run the ledger is, "" for the given one."""
    try:
        content = (run / "ledger").read_bytes()
    except FileNotFoundError:
        return ""
    return os.fsdecode(content[len(_MOVED) :]).strip() if content.startswith(_MOVED) else ""


def _move_ledger(source: Path, target: Path) -> None:
    """Replaces the mark in a copy of a run by the run's ledger, and the ledger in the run by a mark. Whoever waits for its lock finds
    the mark. A death before that leaves the source as it was; after it, from_pretrained() does the rest."""
    file = os.open(source / "ledger", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        # of this open file alone: closing another one in this process does not end it
        fcntl.fcntl(file, fcntl.F_OFD_SETLKW, struct.pack("hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        content = {"ledger.moved": os.pread(file, os.fstat(file).st_size, 0)}
        content.update({name: (source / name).read_bytes() for name in _BESIDE if (source / name).exists()})
        if content["ledger.moved"].startswith(_MOVED):
            where = os.fsdecode(content["ledger.moved"][len(_MOVED) :]).strip()
            raise NvdpError(f"{source}: the ledger is at {where}, which alone may release; save that one, or use can_release=False", "ERR_STATE")
        for name, part in content.items():  # an empty ledger is a new one
            with os.fdopen(os.open(target / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as copy:
                copy.write(part)
                copy.flush()
                os.fsync(copy.fileno())
        mark = _mark_of(target)
        os.pwrite(file, mark, 0)
        os.fsync(file)
        os.replace(target / "ledger.moved", target / "ledger")
        os.ftruncate(file, len(mark))
        for name in _BESIDE:
            (source / name).unlink(missing_ok=True)
    finally:
        os.close(file)


def _finish_move(target: Path) -> None:
    """Does what is left of a move that was killed behind the mark in its source."""
    if (target / "ledger.moved").is_file():
        mark = (target / "ledger").read_bytes()
        source = Path(os.fsdecode(mark[len(_MOVED) :].rstrip(b"\n")), "ledger")
        if mark.startswith(_MOVED) and source.is_file() and source.read_bytes().startswith(_mark_of(target)):
            os.replace(target / "ledger.moved", target / "ledger")


# --- what others read ---


def _hub(name: str) -> Any:
    """Returns the module huggingface_hub; None if it is not installed, or if the name is not one of its repositories."""
    known = re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*", name) and find_spec("huggingface_hub")
    return import_module("huggingface_hub") if known else None


def _cleaned(record: Any) -> Any:
    """Returns a run's record without paths, and without digests of the texts of its trainings."""
    if isinstance(record, dict):
        return {name: "not published" if name in _PATHS and isinstance(part, str) else _cleaned(part)
                for name, part in record.items() if name not in ("sha256", "files", "digests", "run")}  # fmt: skip
    if isinstance(record, list):
        return [_cleaned(part) for part in record]
    return "not published" if isinstance(record, str) and os.sep in record and not record.startswith("run/") else record


def publish(run: Run, folder: Path) -> None:
    """Writes a copy of a run for others to an empty folder: it predicts and does not release."""
    shutil.copytree(run.path, folder / "run", ignore=lambda where, names: set(names) - _PUBLISHED if Path(where) == run.path else [])
    for name in "run.json", "result.json":
        record = json.loads((run.path / name).read_text("utf-8"))
        (folder / "run" / name).write_text(json.dumps(_cleaned({key: part for key, part in record.items() if key not in _OF_TEXTS}), indent=2), "utf-8")
    (folder / "run" / "ledger").write_bytes(_mark_of(Path("of the owner, not published")))
    _describe(folder, run, False, False, published=True)


def _describe(folder: Path, run: Run, texts: bool, can_release: bool, published: bool = False) -> None:
    """Writes the files by which people, and sentence-transformers, read the folder."""
    parts = [
        "---\nlibrary_name: sentence-transformers\npipeline_tag: feature-extraction\ntags: [sentence-transformers, nvdp, privacy]\n---",
        "# A private encoder",
        f"{run.guarantee}",
        "Who has this folder can guess texts and test the guesses on samples." if published else
        "Keep this folder to yourself, as the texts: who has it can guess texts and test the guesses.",
        "- `SentenceTransformer(\"FOLDER\")`, with the package nvdp: `encode` draws a random sample of each text, and the ledger counts it.",
        "- `run/`: the model, its scores and settings. `nvdp.PrivateEncoder.from_pretrained` and `nvdp.Run(\"run\")` open it." if not published else
        "- `run/`: the model and its settings. `nvdp.PrivateEncoder.from_pretrained` opens it.",
        "- `run.data/`: texts of the training that privacy() and evaluate() measure on, readable." if texts else
        "- No texts: privacy() and evaluate() need texts, with labels to evaluate.",
        "- `run/ledger`, `run/ledger.key`, `run/ledger.state`: what was released. Two copies of this folder that both release double the budget: move it, "
        "do not copy it." if can_release else "- This copy releases nothing: it predicts and measures." if published else
        "- This copy releases nothing: `run/ledger` says where the ledger is.",
    ]  # fmt: skip
    (folder / "README.md").write_text("\n\n".join(parts[:4]) + "\n\n" + "\n".join(parts[4:]) + "\n", "utf-8")
    module = {"idx": 0, "name": "0", "path": "", "type": "nvdp.sentence_transformers.Bottleneck"}
    config: dict[str, Any] = {"model_type": "SentenceTransformer", "prompts": {}, "default_prompt_name": None, "similarity_fn_name": "dot"}
    for name, content in ("modules.json", [module]), ("config_sentence_transformers.json", config):
        (folder / name).write_text(json.dumps(content, indent=2), "utf-8")
