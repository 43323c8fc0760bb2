"""The rehearsal script: one YAML file that says what the agent, the caller, the line and the works do in a call.

It is an interface to users: `docs/reference/rehearsal-script.md` describes it. Scalars are read as text and turned into what
the field asks for, so `say: 12:30`, `press: 0123` and `say: no` mean what they look like, and the key `on` is a key.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from agent.errors import Refused
from agent.frontends.script_sentences import sentence
from agent.frontends.yaml_lines import read_yaml
from agent.timeline.kinds import WorkPhase, WorkStatus

LONGEST_FILE = 1_000_000
"""Longest script that is read, bytes."""

LONGEST_NOISE_MS = 600_000
"""Longest burst of noise: as long as a sound file may be."""

Ms = Annotated[int, Field(ge=0, le=4 * 3600 * 1000)]
"""A time or a duration in milliseconds, up to four hours."""
Lasting = Annotated[int, Field(ge=1, le=4 * 3600 * 1000)]
"""A stretch of time in milliseconds that is not nothing."""
Nth = Annotated[int, Field(ge=1, le=100_000)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)]
Percent = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
Pitch = Annotated[float, Field(ge=60, le=500, allow_inf_nan=False)]
AgentTrigger = Literal["open", "turn_start", "turn_end", "inject", "yield"]
CallerTrigger = Literal["answered", "agent_utterance_start", "agent_utterance_end"]


class _Part(BaseModel):
    """Unknown keys are errors: a misspelt key must not be silently ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _exactly_one(part: _Part, names: tuple[str, ...], what: str) -> None:
    """A yes/no action counts only when it is yes."""
    given = [name for name in names if getattr(part, name)]
    if not given:
        raise ValueError(f"says nothing to do: give {what}, one of {', '.join(names)}")
    if len(given) > 1:
        raise ValueError(f"does several things at once ({', '.join(given)}): give each an entry of its own")


def _existing_file(path: Path | None, info: ValidationInfo) -> Path | None:
    """Sound files are found beside the script."""
    if path is None:
        return None
    folder = (info.context or {}).get("folder")
    found = Path(folder, path) if folder else path
    try:
        there = found.is_file()
    except OSError:  # a name too long for a file
        there = False
    if not there:
        raise ValueError(f"no sound file {found}")
    return found


def _belong(part: _Part, options: tuple[str, ...], acts: tuple[str, ...]) -> None:
    """Options that change nothing are errors, as misspelt ones are."""
    idle = [name for name in options if name in part.model_fields_set]
    if idle and not any(getattr(part, act) for act in acts):
        raise ValueError(f"`{idle[0]}` belongs to {', '.join(acts)} and does nothing here")


AGENT_ACTS = ("say", "wav", "backchannel", "delegate", "stay_silent", "lag_ms", "die")
AGENT_SPEECH = ("say", "wav", "backchannel")
CALLER_ACTS = ("say", "wav", "noise_ms", "press", "hang_up", "mute_ms", "vanish")


class AgentTurn(_Part):
    """One thing the scripted agent does: when (`on` with `nth`, or `at_ms`; then `after_ms` later), and what."""

    on: AgentTrigger | None = None
    """The event it waits for."""
    nth: Nth | Literal["every"] = 1
    """Which occurrence of the event, counted through the whole call from 1; `every` for each of them."""
    at_ms: Ms | None = None
    """Instead of `on`: a time of the call's clock, which starts when the call rings."""
    after_ms: Ms = 0
    """How much later than the trigger."""

    say: Text | None = None
    """Speak this."""
    wav: Path | None = None
    """Play this file (WAV or FLAC, beside the script); `text` says what is spoken in it."""
    backchannel: Text | None = None
    """Speak this as a backchannel: a short sign of listening that does not take the floor."""
    delegate: Text | None = None
    """Hand over this private request; it is never spoken."""
    stay_silent: bool = False
    """Do nothing: for an `inject` that is not to be answered by the default line."""
    lag_ms: Lasting | None = None
    """Stand still for so long: nothing is read and nothing comes out, then everything at once."""
    die: bool = False
    """The session is lost."""

    text: Text | None = None
    """What is spoken in `wav`."""
    takes_ms: Ms = 0
    """Time from the opening to the closing of a `delegate`."""
    chunk_ms: Ms = 200
    """Audio is delivered in pieces of at least this length, cut between words; 0: the whole utterance at once."""
    speed_x: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] = 5.0
    """How many times faster than real time speech is generated."""
    proactive: bool = False
    """The speech answers nobody: the agent speaks of its own accord."""
    words: Literal["exact", "estimated", "chunk"] | None = None
    """How well word times are known: exact (default for `say`), spread over the utterance by letters (default for `wav`), or
    only by piece; pieces are then cut inside words as well."""

    check_file = field_validator("wav")(_existing_file)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.on is None) == (self.at_ms is None):
            raise ValueError("give either `on` or `at_ms`: when does it happen?")
        if self.on is None and self.nth != 1:
            raise ValueError("`nth` counts the occurrences of `on`; `at_ms` happens once")
        _exactly_one(self, AGENT_ACTS, "an action")
        if (self.wav is None) != (self.text is None):
            raise ValueError("`wav` and `text` go together: `text` is what is spoken in the file")
        if self.wav is not None and self.words == "exact":
            raise ValueError("the times of the words in a `wav` are not known exactly: `words` is estimated or chunk")
        _belong(self, ("takes_ms",), ("delegate",))
        _belong(self, ("chunk_ms", "speed_x", "proactive", "words"), AGENT_SPEECH)
        return self


class Agent(_Part):
    """The scripted frontend."""

    unit_ms: Annotated[int, Field(ge=20, le=2_000, multiple_of=20)] = 100
    """Length of the units it is fed with: whole ticks of 20 ms."""
    rate_hz: Literal[8_000, 16_000, 24_000, 48_000] = 24_000
    """Rate of its speech."""
    owns_floor: bool = False
    """It decides about interruptions itself; the floor arbiter is only a guard."""
    pitch_hz: Pitch = 130.0
    """Its voice."""
    result_line: Annotated[str, Field(max_length=2_000)] = "I have the result now."
    """Spoken for an injected message that no turn is `on`; empty: nothing is. The message itself is private and never spoken."""
    turns: Annotated[tuple[AgentTurn, ...], Field(max_length=2_000)] = ()

    @field_validator("rate_hz", mode="before")
    @classmethod
    def _number(cls, value: object) -> object:
        return _whole(value)


class CallerAct(_Part):
    """One thing the far end does: when (`at_ms`, or `after` with `nth` and `delay_ms`), and what."""

    at_ms: Ms | None = None
    """A time of the call's clock, which starts when the call rings."""
    after: CallerTrigger | None = None
    """Instead of `at_ms`: the event it waits for."""
    nth: Nth = 1
    """Which occurrence of `after`, from 1."""
    delay_ms: Ms = 0
    """How much later than `after`."""

    say: Text | None = None
    """Speak this."""
    wav: Path | None = None
    """Play this file (WAV or FLAC, beside the script); `text` says what is spoken in it."""
    noise_ms: Annotated[int, Field(ge=1, le=LONGEST_NOISE_MS)] | None = None
    """A burst of noise of this length, at `level_dbfs`."""
    press: Annotated[str, Field(pattern=r"^[0-9*#A-D]{1,64}$")] | None = None
    """Press these keys."""
    hang_up: bool = False
    """End the call properly."""
    mute_ms: Lasting | None = None
    """Send silence for so long, whatever is being said."""
    vanish: bool = False
    """Stop sending without a word: the network is gone."""

    text: Text | None = None
    """What is spoken in `wav`; without it the recogniser reads nothing."""
    level_dbfs: Annotated[float, Field(ge=-90, le=0, allow_inf_nan=False)] | None = None
    """Peak of what is played; without it −12 for speech and noise, files as they are."""

    check_file = field_validator("wav")(_existing_file)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.after is None) == (self.at_ms is None):
            raise ValueError("give either `at_ms` or `after`: when does it happen?")
        if self.after is None and (self.nth != 1 or self.delay_ms):
            raise ValueError("`nth` and `delay_ms` belong to `after`; `at_ms` happens once, at that time")
        _exactly_one(self, CALLER_ACTS, "an act")
        if self.text is not None and self.wav is None:
            raise ValueError("`text` says what is spoken in a `wav`; to speak a text use `say`")
        _belong(self, ("level_dbfs",), ("say", "wav", "noise_ms"))
        return self

    @property
    def spoken(self) -> str:
        """What a recogniser would read of it; empty for everything but speech."""
        return self.say or self.text or ""


class Caller(_Part):
    """The far end."""

    pitch_hz: Pitch = 210.0
    """Its voice."""
    says: Annotated[tuple[CallerAct, ...], Field(max_length=2_000)] = ()


class LineConditions(_Part):
    """The line between them."""

    rate_hz: Literal[8_000, 16_000, 24_000, 48_000] = 16_000
    codec: Literal["l16", "ulaw", "alaw"] = "l16"
    loss_pct: Percent = 0.0
    """Frames lost on the way, in each direction."""
    jitter_ms: Annotated[int, Field(ge=0, le=1_000)] = 0
    """Largest extra delay of a frame; frames may overtake one another."""
    skew_ppm: Annotated[float, Field(ge=-1_000, le=1_000, allow_inf_nan=False)] = 0.0
    """How much faster the far end's clock runs."""
    echo_db: Annotated[float, Field(ge=-90, le=0, allow_inf_nan=False)] | None = None
    """The agent's own sound comes back at this level; without it there is no echo."""
    echo_ms: Annotated[int, Field(ge=0, le=1_000)] = 60
    """How much later the echo comes back."""
    delay_ms: Annotated[int, Field(ge=0, le=2_000)] = 50
    """From one end to the other."""

    @field_validator("rate_hz", mode="before")
    @classmethod
    def _number(cls, value: object) -> object:
        return _whole(value)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.codec != "l16" and self.rate_hz != 8_000:
            raise ValueError(f"{self.codec} runs at 8000 Hz: set `rate_hz: 8000` or `codec: l16`")
        return self


class RehearsedLine(_Part):
    """A line kept ready. In the script a plain text stands for one that may be interrupted; an empty text is never spoken."""

    text: Annotated[str, Field(max_length=2_000)]
    must_hear: bool = False

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        return {"text": value} if isinstance(value, str) else value


class ReadyLines(_Part):
    """What the call itself says, whatever its frontend."""

    greeting: RehearsedLine = RehearsedLine(text="Hello, this is the automated assistant. How can I help you?", must_hear=True)
    apology: RehearsedLine = RehearsedLine(text="I am sorry, something went wrong on my side.")
    recovery: RehearsedLine = RehearsedLine(text="One moment, please.")
    farewell: RehearsedLine = RehearsedLine(text="Goodbye.")


class WorkNews(_Part):
    """What is heard of a running work, `after_ms` after it was accepted. `headline` is public and short."""

    after_ms: Ms
    phase: WorkPhase = WorkPhase.RUNNING
    headline: Annotated[str, Field(max_length=200)] = ""


class Work(_Part):
    """What becomes of the n-th delegated request. `text` is private: the agent tells it in its own words."""

    after_ms: Ms = 1_000
    """From acceptance to the outcome."""
    status: WorkStatus = WorkStatus.SUCCEEDED
    text: Annotated[str, Field(max_length=2_000)] = ""
    updates: Annotated[tuple[WorkNews, ...], Field(max_length=100)] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        late = [news.after_ms for news in self.updates if news.after_ms > self.after_ms]
        if late:
            raise ValueError(f"an update after {late[0]} ms comes after the outcome at {self.after_ms} ms")
        return self


class Script(_Part):
    """A whole rehearsal."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,79}$")]
    about: Annotated[str, Field(max_length=2_000)] = ""
    """What it shows, for the reader."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Of everything random in it: loss, jitter, noise."""
    limit_ms: Annotated[int, Field(ge=100, le=4 * 3600 * 1000)] = 120_000
    """The caller hangs up by then at the latest."""
    agent: Agent = Agent()
    caller: Caller = Caller()
    line: LineConditions = LineConditions()
    lines: ReadyLines = ReadyLines()
    work: Annotated[tuple[Work, ...], Field(max_length=1_000)] = ()


def _whole(value: object) -> object:
    """Literals of numbers do not accept the text that YAML scalars are read as."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10 else value


def load_script(source: Path | str) -> Script:
    """Read a script: a `Path` is a file, a `str` is the YAML itself.

    Raises `Refused` with one sentence naming the place: "demo.yaml: agent.turns[2].say: …, line 14".
    """
    name, text, folder = ("script", source, None) if isinstance(source, str) else (source.name, _read(source), source.parent)
    try:
        data, lines = read_yaml(text)
        return Script.model_validate(data, context={"folder": folder})
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise Refused(f"{name}: not valid YAML: {error.problem or error.context}, line {line}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise Refused(f"{name}: not valid YAML: the character #x{error.character:04x} may not stand there, line {line}") from None
    except yaml.YAMLError as error:
        raise Refused(f"{name}: not valid YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise Refused(f"{name}: not valid YAML: brackets are nested too deep") from None
    except ValidationError as error:
        raise Refused(f"{name}: {sentence(error, lines)}") from None


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(LONGEST_FILE + 1)
    except OSError as error:
        raise Refused(f"cannot read {path}: {error.strerror}") from None
    if len(raw) > LONGEST_FILE:
        raise Refused(f"{path} is longer than {LONGEST_FILE} bytes: no rehearsal needs that much")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(f"{path} is not UTF-8 text (byte {error.start}): save it as UTF-8") from None
