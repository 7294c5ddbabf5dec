"""Remarks on vectors that say less about a node than they seem to."""

NO_LINKS = "this node has no links: its vector is made of its own text or features, if it has any"
NO_WORDS = "none of the words of its text is known to the model"
NOTHING = "nothing is known about this node: its vector is the same as that of any such node"


def note_on(*, linked: bool, known: bool = True, text: str | None = None) -> str | None:
    """The remark on a node, if there is any; `known`: whether the model finds something in its text or features."""
    notes = [NO_WORDS] if text and text.strip() and not known else []
    if not linked:
        notes.append(NO_LINKS if known else NOTHING)
    return "; ".join(notes) or None
