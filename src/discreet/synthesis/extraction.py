"""What the model found in each text: its keywords, and its content as single facts that many texts may share.

The public model rewrites each text by itself as short sentences, greedily; the sentences are split into facts, such as
("treatment", "warm oil"). What was found is kept by the text's content, so no text is read twice. All of it is private,
like the vault.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from discreet.algorithms.text.normalize import ARTICLES, SENTENCE_END, head, words_of
from discreet.algorithms.text.phrases import is_denied_in, sentences_of
from discreet.engines.ray import RayModel
from discreet.errors import StoreError
from discreet.models.answers import write_answers
from discreet.models.length_buckets import in_order, map_in_buckets
from discreet.models.prompts import Layout, rewrite_layout
from discreet.models.protocol import VotingModel
from discreet.synthesis.base import Fact

# --- what was found before --------------------------------------------------------------------------------------------


Read = Callable[[Sequence[str]], Iterable[tuple[int, Any]]]


KEYWORDS, FACTS = "keywords.jsonl", "facts.jsonl"
"""The files of the keywords and facts of texts."""


class ExtractionCache:
    """The results of reading texts with the model, by content: a resumed run, or the next one, does not read again.

    Args:
        file: the file of the results (`open_extraction_cache`).
        about: how texts are read, as plain data. Results of another way are ignored.
        read: yields the position and the result of each text, as plain data.
        others: results of the same way that are kept elsewhere, by the names of the texts (`digest`).
    """

    def __init__(self, file: TextIO, about: Sequence[Any], read: Read, others: Mapping[str, Any] | None = None) -> None:
        self._file, self._about, self._read = file, list(about), read
        self._others = dict(others or {})

    def of(self, texts: Sequence[str], on_progress: Callable[[int], None]) -> list[Any]:
        """Return the result of each text; call `on_progress` with the number of texts that are done."""
        entries = self._known()
        fresh = sorted({text for text in texts if digest(text) not in entries})
        done = len(texts) - len(fresh)
        on_progress(done)
        for place, extracted in self._read(fresh):
            name = digest(fresh[place])
            line = json.dumps([*self._about, name, extracted])
            entries[name] = json.loads(line)[-1]
            self._keep(line)
            done += 1
            on_progress(done)
        return [entries[digest(text)] for text in texts]

    def _keep(self, line: str) -> None:
        try:
            self._file.write("\n" + line + "\n")
            self._file.flush()
        except OSError as error:
            raise StoreError(
                f"What was read of the documents could not be kept in {self._file.name}: {error.strerror}. Make room, "
                "and run the command again: it goes on where it stopped."
            ) from error

    def _known(self) -> dict[str, Any]:
        entries: dict[str, Any] = dict(self._others)
        self._file.seek(0)
        for line in filter(None, self._file.read().split("\n")):
            try:
                *about, name, value = json.loads(line)
            except (ValueError, TypeError, RecursionError):
                continue
            if about == self._about and isinstance(name, str):
                entries[name] = value
        return entries


@contextmanager
def open_extraction_cache(folder: Path) -> Iterator[Mapping[str, TextIO]]:
    """Open the files of the results by name, for a run; open them before the run lists the documents.

    If the files are removed during the run, its later results are lost with them.
    """
    files = {name: (folder / name).open("a+", encoding="ascii", errors="replace") for name in (KEYWORDS, FACTS)}
    try:
        yield files
    finally:
        for file in files.values():
            with suppress(OSError):  # on a full disk, what could not be written
                file.close()


def forget_extractions(folder: Path) -> None:
    """Remove the results of all texts, because a document is erased.

    Raises:
        StoreError: if a file cannot be removed; the error names it.
    """
    for name in (KEYWORDS, FACTS):
        try:
            (folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"{folder / name} holds words of documents and cannot be removed: {error.strerror}."
            ) from error


def digest(text: str) -> str:
    """Return the name of a text's content."""
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


# --- facts ------------------------------------------------------------------------------------------------------------


PARSED = 1
"""The version of the split into facts: kept facts of another version are not used."""
BLOCK = 32
"""The constant number of texts that are rewritten together: a result must not depend on the number of others."""
LONGEST_KIND = 4
"""The maximum number of words of a kind; a longer one begins a sentence without a kind."""
_IS = r"(?:is|are|was|were|(?:should|must|will|would|may|can|could) be)"
_LINK = re.compile(rf"\b{_IS}\b", re.IGNORECASE)
# "The diagnosis is Brindle Ear and the treatment should be warm oil": two sentences.
_AND = re.compile(rf",?\s+and\s+(?=the\s+(?:\S+\s+){{1,{LONGEST_KIND}}}?{_IS}\b)", re.IGNORECASE)
_COMMA = re.compile(r"[,;]\s+(?:and\s+|or\s+)?", re.IGNORECASE)


def stated(
    model: VotingModel,
    texts: Sequence[str],
    tokens: int,
    text_tokens: int,
) -> Iterator[tuple[int, list[Fact]]]:
    """Yield the facts of each text, with the text's position, one text after the other.

    Args:
        model: the public model; on a cluster, workers read many texts at a time.
        texts: the texts.
        tokens: the maximum number of tokens that are written for a text: public.
        text_tokens: the number of tokens of a text that are read: public.
    """
    if isinstance(model, RayModel):
        found = model.read(partial(_by_a_worker, tokens=tokens, text_tokens=text_tokens), texts)
        yield from enumerate([(str(kind), str(value)) for kind, value in facts] for facts in found)
        return
    laid_out = rewrite_layout(model, text_tokens, tokens)

    def read(room: int, block: list[list[int]]) -> list[list[Fact]]:
        return _written(model, replace(laid_out, document_tokens=room), block, tokens)

    yield from map_in_buckets(model, texts, text_tokens, BLOCK, read)


def facts_of(written: str, whole: bool = True) -> list[Fact]:
    """Return the facts that a text states, each once, in its order.

    Args:
        written: sentences such as "The diagnosis is Brindle Ear."
        whole: whether the text is complete. The last fact of an incomplete text is ignored.
    """
    facts = [fact for sentence in _sentences(written) for fact in _facts(sentence)]
    return list(dict.fromkeys(fact for fact in (facts if whole else facts[:-1]) if fact[1]))


def found_in(text: str, facts: Iterable[tuple[str, str]]) -> tuple[Fact, ...]:
    """Return the facts whose words all occur in the text. The kind of a fact may be the model's own word.

    A value that a small model invents, or takes from the examples in its prompt, is left out. So is one that the text
    denies.
    """
    there, said = set(words_of(text)), sentences_of(text)
    pairs = ((kind, value) for kind, value in facts if there.issuperset(words_of(value)))
    return tuple(fact for fact in pairs if not is_denied_in(said, fact[1]))


def sentences(facts: Sequence[Fact]) -> str:
    """Write facts as a text that all may read; those of one kind together, in the given order."""
    kinds = list(dict.fromkeys(kind for kind, _ in facts))
    return " ".join(_sentence(kind, [value for own, value in facts if own == kind]) for kind in kinds)


def _sentence(kind: str, values: Sequence[str]) -> str:
    if not kind:
        return " ".join(f"{value[:1].upper()}{value[1:]}." for value in values)
    several = kind.endswith("s") and not kind.endswith(("ss", "is"))
    return f"The {kind} {'are' if several else 'is'} {', '.join(values)}."


def _sentences(written: str) -> list[str]:
    whole = [part for line in written.splitlines() for part in SENTENCE_END.split(line)]
    return [part for sentence in whole for part in _AND.split(sentence) if part.strip()]


def _facts(sentence: str) -> list[Fact]:
    link = _LINK.search(sentence)
    kind = " ".join(head(_plain(sentence[: link.start()]))) if link else ""
    if link is None or not 0 < len(kind.split()) <= LONGEST_KIND:
        return [("", " ".join(_plain(sentence)))]
    return [(kind, " ".join(_plain(value))) for value in _COMMA.split(sentence[link.end() :])]


def _plain(text: str) -> list[str]:
    """Return words without case, punctuation, and articles in front."""
    words = words_of(text)
    while words and words[0] in ARTICLES:
        words = words[1:]
    return words


def _written(model: VotingModel, laid_out: Layout, texts: Sequence[Sequence[int]], tokens: int) -> list[list[Fact]]:
    prompts = [laid_out.prompt(text) for text in texts] + [laid_out.prompt()] * (BLOCK - len(texts))
    written = write_answers(model, laid_out.shared, prompts, tokens, all_steps=False)
    return [facts_of(own.text, whole=own.ended) for own in written[: len(texts)]]


def _by_a_worker(model: VotingModel, texts: list[str], tokens: int, text_tokens: int) -> list[list[Fact]]:
    return in_order(stated(model, texts, tokens, text_tokens))
