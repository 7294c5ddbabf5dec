"""Texts to word counts, in any language and script."""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from sanne.errors import InputError
from sanne.progress import steps

_WORD = re.compile(r"\w\w+")  # two or more letters, digits or underscores
# Scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\U00020000-\U0003ffff"
)


def words(text: str) -> list[str]:
    """The words of a text, with upper and lower case and variants of a character made alike.

    A script without spaces gives pairs of neighbouring characters instead, as there is no telling where words end.
    """
    if text.isascii():
        return _WORD.findall(text.lower())
    found = []
    word, character = _patterns()
    for run in word.findall(unicodedata.normalize("NFKC", text).casefold()):
        characters = character.findall(run)
        if characters:
            found += [a + b for a, b in pairwise(characters)] or characters
        elif len(run) > 1:
            found.append(run)
    return found


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A word or an unspaced run, and a character of the latter, with the marks (vowel signs, accents) that follow."""
    marks = "".join(chr(code) for code in range(0x300, 0x20000) if unicodedata.category(chr(code)).startswith("M"))
    character, letters = f"[{_UNSPACED}][{marks}]*", f"[^\\W{_UNSPACED}]+"
    return re.compile(f"(?:{character})+|{letters}(?:[{marks}]+(?:{letters})?)*"), re.compile(character)


def count_words(texts: Iterable[str], max_words: int) -> tuple[list[str], Any]:
    """The most frequent words in alphabetical order, and a CSR matrix (texts, words) of how often each occurs."""
    vectorizer = CountVectorizer(analyzer=words, max_features=max_words)
    try:
        counts = vectorizer.fit_transform(steps(texts, of="reading texts", unit="text")).astype(np.float32)
    except ValueError:  # scikit-learn: empty vocabulary
        raise InputError("the text column holds no words at all: name another with text=, or leave it out") from None
    counts.sort_indices()
    return [str(word) for word in vectorizer.get_feature_names_out()], counts


def word_counter(vocabulary: list[str] | None) -> Any:
    """Counts the words of a vocabulary; None for None. Costly to create, cheap to use."""
    return None if vocabulary is None else CountVectorizer(analyzer=words, vocabulary=vocabulary)
