"""The command line `llm`: a plug-in with the model `discreet`, which asks a vault or a server."""

from collections.abc import Iterator
from typing import Any

from discreet.adapters import open_source
from discreet.adapters.server_source import KEY
from discreet.errors import DiscreetError, MissingPart

try:
    import llm
    from pydantic import Field
except ImportError as error:
    raise MissingPart("The plug-in for llm needs llm", "llm") from error


class Discreet(llm.KeyModel):
    """The model `discreet`: an answer with what it cost. Each prompt is a question that stands alone."""

    model_id = "discreet"
    needs_key = "discreet"
    key_env_var = KEY
    can_stream = False
    supports_conversation = False

    class Options(llm.Options):
        """Where the question is asked."""

        vault: str = Field(default="", description="The folder of a vault.")
        url: str = Field(default="", description="The address of a server, in place of a vault.")
        model: str = Field(default="", description="The model: consensus, ...; at a server VAULT or VAULT:PRESET.")
        epsilon: float | None = Field(default=None, description="The most that the question may cost.")

    def get_key(self, explicit_key: str | None = None) -> str | None:
        """Return the key for a server, if there is one: a vault needs none."""
        key: str | None = llm.get_key(explicit_key, self.needs_key, self.key_env_var)
        return key

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any, key: str | None) -> Iterator[str]:
        """Ask, and yield the text. `llm logs --json` has the metadata (docs/extend.md).

        Raises:
            llm.ModelError: if the question is refused, or if no source can be opened; with the reason in words.
        """
        options = prompt.options
        if bool(options.vault) is bool(options.url):
            raise llm.ModelError("Name a vault (-o vault FOLDER) or a server (-o url URL), and not both.")
        given: dict[str, Any] = {"model": options.model, "epsilon": options.epsilon}
        try:
            source = open_source(options.vault or options.url, **given | ({"key": key or ""} if options.url else {}))
        except DiscreetError as error:
            raise llm.ModelError(str(error)) from None
        reply = source.ask(prompt.prompt)
        if reply.status == "refused":
            raise llm.ModelError(reply.text)
        response.response_json = reply.metadata
        yield reply.text


@llm.hookimpl
def register_models(register: Any) -> None:
    """Register the model."""
    register(Discreet())
