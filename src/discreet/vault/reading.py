"""The part of a vault that reads the statements of its texts, and has a schema proposed."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from discreet.errors import UsageError
from discreet.generation.capabilities import require_scores
from discreet.planning.askable import is_empty
from discreet.retrieval.attribute_schema import AttributeSchema
from discreet.synthesis.readings import check_reader, read_all
from discreet.synthesis.schema_proposal import propose_schema
from discreet.system.progress import by_steps
from discreet.system.sharing import taking_turns
from discreet.system.words import quoted
from discreet.vault.components import VaultParts
from discreet.vault.schema_setting import public_texts_of, schema_of, settle_schema


@taking_turns()
class VaultReading(VaultParts):
    """A vault whose texts a model reads once. One thread at a time is inside."""

    def read(
        self,
        progress: Callable[[int, int], None] | None = None,
        *,
        ray: str | None = None,
        schema: AttributeSchema | str | Path | None = None,
        drop_schema: bool = False,
    ) -> int:
        """Read the statements of all texts with the model, each text by itself. Return the number of texts.

        Lists and statements about attributes need it. Nothing is released, so nothing is paid. Run it again after an
        interruption, or after documents were added: what was read is not read again. Under another schema, all texts
        are read again, and the former reading counts until then.

        Args:
            progress: called with the number of texts that are read, and that of all texts.
            ray: the address of a Ray cluster on which the model runs.
            schema: the attributes that the model looks for, or their file; it is kept as the vault's. The vault's own
                if None.
            drop_schema: whether the vault has no schema from now on, so that the model writes what a text states.

        Raises:
            UsageError: if no `add` has ended yet, if there is no such file, or if the model cannot read so.
            BadData: if the file holds no schema.
        """
        if is_empty(self.path):  # by a public mark: whether votes are read before is public, and depends on no document
            raise UsageError(
                f"The vault at {self.path} has no documents yet. Add some, then read them: discreet add "
                f"{quoted(self.path)} FILES. Nothing was read."
            )
        if schema is not None and drop_schema:
            raise UsageError("A schema is given and dropped at once. Give a schema, or --no-schema.")
        given = AttributeSchema.read(Path(schema)) if isinstance(schema, str | Path) else schema
        model = self.components.model
        # First: a schema that this model cannot read by would break each later reading, too.
        check_reader(model, ray, schema=given is not None or (not drop_schema and schema_of(self.path) is not None))
        kept = settle_schema(self.path, given, drop=drop_schema)
        with by_steps() as told:
            on_text = progress or partial(told, "Reading the documents")
            return read_all(self.components.readings, self.store, model, on_text, ray, kept)

    def propose_schema(self, public: str | Path) -> AttributeSchema:
        """Return a schema that the model proposes from public texts. No document of the vault has any influence.

        Args:
            public: a JSONL file with a "text" on every line.

        Raises:
            UsageError: if there is no such file, or if it lies in a vault.
            BadData: if it holds no texts, if one of them is a document of this vault, or if they share no attribute.
        """
        texts = public_texts_of(Path(public), self.store)
        return propose_schema(require_scores(self.components.model, "read"), texts)
