# Generated from frontend.proto by `python -m agent.frontends.generate`; not edited by hand.
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MessageKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MESSAGE_KIND_UNSPECIFIED: _ClassVar[MessageKind]
    MESSAGE_KIND_RESULT: _ClassVar[MessageKind]
    MESSAGE_KIND_SAID: _ClassVar[MessageKind]

class Alignment(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ALIGNMENT_UNSPECIFIED: _ClassVar[Alignment]
    ALIGNMENT_EXACT: _ClassVar[Alignment]
    ALIGNMENT_ESTIMATED: _ClassVar[Alignment]
    ALIGNMENT_CHUNK: _ClassVar[Alignment]

class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROLE_UNSPECIFIED: _ClassVar[Role]
    ROLE_ANSWER: _ClassVar[Role]
    ROLE_GREETING: _ClassVar[Role]
    ROLE_NOTICE: _ClassVar[Role]
    ROLE_FILLER: _ClassVar[Role]
    ROLE_BACKCHANNEL: _ClassVar[Role]
    ROLE_APOLOGY: _ClassVar[Role]
    ROLE_FAREWELL: _ClassVar[Role]
MESSAGE_KIND_UNSPECIFIED: MessageKind
MESSAGE_KIND_RESULT: MessageKind
MESSAGE_KIND_SAID: MessageKind
ALIGNMENT_UNSPECIFIED: Alignment
ALIGNMENT_EXACT: Alignment
ALIGNMENT_ESTIMATED: Alignment
ALIGNMENT_CHUNK: Alignment
ROLE_UNSPECIFIED: Role
ROLE_ANSWER: Role
ROLE_GREETING: Role
ROLE_NOTICE: Role
ROLE_FILLER: Role
ROLE_BACKCHANNEL: Role
ROLE_APOLOGY: Role
ROLE_FAREWELL: Role

class InfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class FrontendInfo(_message.Message):
    __slots__ = ("name", "unit_us", "output_rate_hz", "owns_floor", "takes_video", "languages", "voice")
    NAME_FIELD_NUMBER: _ClassVar[int]
    UNIT_US_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_RATE_HZ_FIELD_NUMBER: _ClassVar[int]
    OWNS_FLOOR_FIELD_NUMBER: _ClassVar[int]
    TAKES_VIDEO_FIELD_NUMBER: _ClassVar[int]
    LANGUAGES_FIELD_NUMBER: _ClassVar[int]
    VOICE_FIELD_NUMBER: _ClassVar[int]
    name: str
    unit_us: int
    output_rate_hz: int
    owns_floor: bool
    takes_video: bool
    languages: _containers.RepeatedScalarFieldContainer[str]
    voice: str
    def __init__(self, name: _Optional[str] = ..., unit_us: _Optional[int] = ..., output_rate_hz: _Optional[int] = ..., owns_floor: _Optional[bool] = ..., takes_video: _Optional[bool] = ..., languages: _Optional[_Iterable[str]] = ..., voice: _Optional[str] = ...) -> None: ...

class HealthRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class HealthReport(_message.Message):
    __slots__ = ("slots", "frontend_free", "ears_free", "draining", "up_ms", "served", "version")
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    FRONTEND_FREE_FIELD_NUMBER: _ClassVar[int]
    EARS_FREE_FIELD_NUMBER: _ClassVar[int]
    DRAINING_FIELD_NUMBER: _ClassVar[int]
    UP_MS_FIELD_NUMBER: _ClassVar[int]
    SERVED_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    slots: int
    frontend_free: int
    ears_free: int
    draining: bool
    up_ms: int
    served: int
    version: str
    def __init__(self, slots: _Optional[int] = ..., frontend_free: _Optional[int] = ..., ears_free: _Optional[int] = ..., draining: _Optional[bool] = ..., up_ms: _Optional[int] = ..., served: _Optional[int] = ..., version: _Optional[str] = ...) -> None: ...

class DrainRequest(_message.Message):
    __slots__ = ("deadline_ms",)
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    deadline_ms: int
    def __init__(self, deadline_ms: _Optional[int] = ...) -> None: ...

class DrainReport(_message.Message):
    __slots__ = ("still_open",)
    STILL_OPEN_FIELD_NUMBER: _ClassVar[int]
    still_open: int
    def __init__(self, still_open: _Optional[int] = ...) -> None: ...

class RenderRequest(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: str
    def __init__(self, text: _Optional[str] = ...) -> None: ...

class RenderedLine(_message.Message):
    __slots__ = ("pcm", "rate_hz", "words", "alignment")
    PCM_FIELD_NUMBER: _ClassVar[int]
    RATE_HZ_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    ALIGNMENT_FIELD_NUMBER: _ClassVar[int]
    pcm: bytes
    rate_hz: int
    words: _containers.RepeatedCompositeFieldContainer[Word]
    alignment: Alignment
    def __init__(self, pcm: _Optional[bytes] = ..., rate_hz: _Optional[int] = ..., words: _Optional[_Iterable[_Union[Word, _Mapping]]] = ..., alignment: _Optional[_Union[Alignment, str]] = ...) -> None: ...

class FrontendInput(_message.Message):
    __slots__ = ("open", "unit", "inject", "yield_floor", "acknowledge")
    OPEN_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    INJECT_FIELD_NUMBER: _ClassVar[int]
    YIELD_FLOOR_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    open: Brief
    unit: Unit
    inject: BackendMessage
    yield_floor: YieldFloor
    acknowledge: Acknowledge
    def __init__(self, open: _Optional[_Union[Brief, _Mapping]] = ..., unit: _Optional[_Union[Unit, _Mapping]] = ..., inject: _Optional[_Union[BackendMessage, _Mapping]] = ..., yield_floor: _Optional[_Union[YieldFloor, _Mapping]] = ..., acknowledge: _Optional[_Union[Acknowledge, _Mapping]] = ...) -> None: ...

class FrontendOutput(_message.Message):
    __slots__ = ("opened", "listening", "speech", "delegation_opened", "delegation_closed")
    OPENED_FIELD_NUMBER: _ClassVar[int]
    LISTENING_FIELD_NUMBER: _ClassVar[int]
    SPEECH_FIELD_NUMBER: _ClassVar[int]
    DELEGATION_OPENED_FIELD_NUMBER: _ClassVar[int]
    DELEGATION_CLOSED_FIELD_NUMBER: _ClassVar[int]
    opened: Opened
    listening: Listening
    speech: Speech
    delegation_opened: DelegationOpened
    delegation_closed: DelegationClosed
    def __init__(self, opened: _Optional[_Union[Opened, _Mapping]] = ..., listening: _Optional[_Union[Listening, _Mapping]] = ..., speech: _Optional[_Union[Speech, _Mapping]] = ..., delegation_opened: _Optional[_Union[DelegationOpened, _Mapping]] = ..., delegation_closed: _Optional[_Union[DelegationClosed, _Mapping]] = ...) -> None: ...

class EarsInput(_message.Message):
    __slots__ = ("open", "unit")
    OPEN_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    open: Brief
    unit: Unit
    def __init__(self, open: _Optional[_Union[Brief, _Mapping]] = ..., unit: _Optional[_Union[Unit, _Mapping]] = ...) -> None: ...

class EarsOutput(_message.Message):
    __slots__ = ("opened", "transcript", "turn", "speaker")
    OPENED_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    SPEAKER_FIELD_NUMBER: _ClassVar[int]
    opened: Opened
    transcript: Transcript
    turn: TurnProbability
    speaker: SpeakerScore
    def __init__(self, opened: _Optional[_Union[Opened, _Mapping]] = ..., transcript: _Optional[_Union[Transcript, _Mapping]] = ..., turn: _Optional[_Union[TurnProbability, _Mapping]] = ..., speaker: _Optional[_Union[SpeakerScore, _Mapping]] = ...) -> None: ...

class Opened(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Span(_message.Message):
    __slots__ = ("from_us", "to_us")
    FROM_US_FIELD_NUMBER: _ClassVar[int]
    TO_US_FIELD_NUMBER: _ClassVar[int]
    from_us: int
    to_us: int
    def __init__(self, from_us: _Optional[int] = ..., to_us: _Optional[int] = ...) -> None: ...

class PastTurn(_message.Message):
    __slots__ = ("who", "text")
    WHO_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    who: str
    text: str
    def __init__(self, who: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class Brief(_message.Message):
    __slots__ = ("call_id", "persona", "language", "instructions", "facts", "capabilities", "history", "epoch", "pending", "scores_speaker", "unanswered")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    PERSONA_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    SCORES_SPEAKER_FIELD_NUMBER: _ClassVar[int]
    UNANSWERED_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    persona: str
    language: str
    instructions: str
    facts: _containers.RepeatedScalarFieldContainer[str]
    capabilities: _containers.RepeatedScalarFieldContainer[str]
    history: _containers.RepeatedCompositeFieldContainer[PastTurn]
    epoch: int
    pending: _containers.RepeatedScalarFieldContainer[str]
    scores_speaker: bool
    unanswered: str
    def __init__(self, call_id: _Optional[str] = ..., persona: _Optional[str] = ..., language: _Optional[str] = ..., instructions: _Optional[str] = ..., facts: _Optional[_Iterable[str]] = ..., capabilities: _Optional[_Iterable[str]] = ..., history: _Optional[_Iterable[_Union[PastTurn, _Mapping]]] = ..., epoch: _Optional[int] = ..., pending: _Optional[_Iterable[str]] = ..., scores_speaker: _Optional[bool] = ..., unanswered: _Optional[str] = ...) -> None: ...

class Unit(_message.Message):
    __slots__ = ("covers", "pcm", "evidence", "speaking", "said")
    COVERS_FIELD_NUMBER: _ClassVar[int]
    PCM_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    SPEAKING_FIELD_NUMBER: _ClassVar[int]
    SAID_FIELD_NUMBER: _ClassVar[int]
    covers: Span
    pcm: bytes
    evidence: _containers.RepeatedCompositeFieldContainer[Evidence]
    speaking: bool
    said: str
    def __init__(self, covers: _Optional[_Union[Span, _Mapping]] = ..., pcm: _Optional[bytes] = ..., evidence: _Optional[_Iterable[_Union[Evidence, _Mapping]]] = ..., speaking: _Optional[bool] = ..., said: _Optional[str] = ...) -> None: ...

class Evidence(_message.Message):
    __slots__ = ("voice_started", "voice_stopped", "transcript", "turn", "voice_paused", "voice_continued", "speaker")
    VOICE_STARTED_FIELD_NUMBER: _ClassVar[int]
    VOICE_STOPPED_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    VOICE_PAUSED_FIELD_NUMBER: _ClassVar[int]
    VOICE_CONTINUED_FIELD_NUMBER: _ClassVar[int]
    SPEAKER_FIELD_NUMBER: _ClassVar[int]
    voice_started: VoiceStarted
    voice_stopped: VoiceStopped
    transcript: Transcript
    turn: TurnProbability
    voice_paused: VoicePaused
    voice_continued: VoiceContinued
    speaker: SpeakerScore
    def __init__(self, voice_started: _Optional[_Union[VoiceStarted, _Mapping]] = ..., voice_stopped: _Optional[_Union[VoiceStopped, _Mapping]] = ..., transcript: _Optional[_Union[Transcript, _Mapping]] = ..., turn: _Optional[_Union[TurnProbability, _Mapping]] = ..., voice_paused: _Optional[_Union[VoicePaused, _Mapping]] = ..., voice_continued: _Optional[_Union[VoiceContinued, _Mapping]] = ..., speaker: _Optional[_Union[SpeakerScore, _Mapping]] = ...) -> None: ...

class VoiceStarted(_message.Message):
    __slots__ = ("covers", "level_dbov")
    COVERS_FIELD_NUMBER: _ClassVar[int]
    LEVEL_DBOV_FIELD_NUMBER: _ClassVar[int]
    covers: Span
    level_dbov: float
    def __init__(self, covers: _Optional[_Union[Span, _Mapping]] = ..., level_dbov: _Optional[float] = ...) -> None: ...

class VoicePaused(_message.Message):
    __slots__ = ("covers",)
    COVERS_FIELD_NUMBER: _ClassVar[int]
    covers: Span
    def __init__(self, covers: _Optional[_Union[Span, _Mapping]] = ...) -> None: ...

class VoiceContinued(_message.Message):
    __slots__ = ("covers", "level_dbov")
    COVERS_FIELD_NUMBER: _ClassVar[int]
    LEVEL_DBOV_FIELD_NUMBER: _ClassVar[int]
    covers: Span
    level_dbov: float
    def __init__(self, covers: _Optional[_Union[Span, _Mapping]] = ..., level_dbov: _Optional[float] = ...) -> None: ...

class VoiceStopped(_message.Message):
    __slots__ = ("covers",)
    COVERS_FIELD_NUMBER: _ClassVar[int]
    covers: Span
    def __init__(self, covers: _Optional[_Union[Span, _Mapping]] = ...) -> None: ...

class Transcript(_message.Message):
    __slots__ = ("covers", "text", "final", "confidence")
    COVERS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FINAL_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    covers: Span
    text: str
    final: bool
    confidence: float
    def __init__(self, covers: _Optional[_Union[Span, _Mapping]] = ..., text: _Optional[str] = ..., final: _Optional[bool] = ..., confidence: _Optional[float] = ...) -> None: ...

class TurnProbability(_message.Message):
    __slots__ = ("covers", "probability")
    COVERS_FIELD_NUMBER: _ClassVar[int]
    PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    covers: Span
    probability: float
    def __init__(self, covers: _Optional[_Union[Span, _Mapping]] = ..., probability: _Optional[float] = ...) -> None: ...

class SpeakerScore(_message.Message):
    __slots__ = ("covers", "score")
    COVERS_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    covers: Span
    score: float
    def __init__(self, covers: _Optional[_Union[Span, _Mapping]] = ..., score: _Optional[float] = ...) -> None: ...

class BackendMessage(_message.Message):
    __slots__ = ("attempt_id", "text", "kind")
    ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    attempt_id: str
    text: str
    kind: MessageKind
    def __init__(self, attempt_id: _Optional[str] = ..., text: _Optional[str] = ..., kind: _Optional[_Union[MessageKind, str]] = ...) -> None: ...

class YieldFloor(_message.Message):
    __slots__ = ("at_us", "epoch")
    AT_US_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    at_us: int
    epoch: int
    def __init__(self, at_us: _Optional[int] = ..., epoch: _Optional[int] = ...) -> None: ...

class Acknowledge(_message.Message):
    __slots__ = ("utterance_id", "samples")
    UTTERANCE_ID_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    utterance_id: str
    samples: int
    def __init__(self, utterance_id: _Optional[str] = ..., samples: _Optional[int] = ...) -> None: ...

class Listening(_message.Message):
    __slots__ = ("covers",)
    COVERS_FIELD_NUMBER: _ClassVar[int]
    covers: Span
    def __init__(self, covers: _Optional[_Union[Span, _Mapping]] = ...) -> None: ...

class Word(_message.Message):
    __slots__ = ("text", "start_us", "end_us")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    START_US_FIELD_NUMBER: _ClassVar[int]
    END_US_FIELD_NUMBER: _ClassVar[int]
    text: str
    start_us: int
    end_us: int
    def __init__(self, text: _Optional[str] = ..., start_us: _Optional[int] = ..., end_us: _Optional[int] = ...) -> None: ...

class Cause(_message.Message):
    __slots__ = ("turn", "attempt_id", "proactive")
    TURN_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    PROACTIVE_FIELD_NUMBER: _ClassVar[int]
    turn: int
    attempt_id: str
    proactive: bool
    def __init__(self, turn: _Optional[int] = ..., attempt_id: _Optional[str] = ..., proactive: _Optional[bool] = ...) -> None: ...

class Speech(_message.Message):
    __slots__ = ("covers", "utterance_id", "epoch", "text", "pcm", "words", "alignment", "role", "cause", "final")
    COVERS_FIELD_NUMBER: _ClassVar[int]
    UTTERANCE_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    PCM_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    ALIGNMENT_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    FINAL_FIELD_NUMBER: _ClassVar[int]
    covers: Span
    utterance_id: str
    epoch: int
    text: str
    pcm: bytes
    words: _containers.RepeatedCompositeFieldContainer[Word]
    alignment: Alignment
    role: Role
    cause: Cause
    final: bool
    def __init__(self, covers: _Optional[_Union[Span, _Mapping]] = ..., utterance_id: _Optional[str] = ..., epoch: _Optional[int] = ..., text: _Optional[str] = ..., pcm: _Optional[bytes] = ..., words: _Optional[_Iterable[_Union[Word, _Mapping]]] = ..., alignment: _Optional[_Union[Alignment, str]] = ..., role: _Optional[_Union[Role, str]] = ..., cause: _Optional[_Union[Cause, _Mapping]] = ..., final: _Optional[bool] = ...) -> None: ...

class DelegationOpened(_message.Message):
    __slots__ = ("covers", "delegation_id")
    COVERS_FIELD_NUMBER: _ClassVar[int]
    DELEGATION_ID_FIELD_NUMBER: _ClassVar[int]
    covers: Span
    delegation_id: str
    def __init__(self, covers: _Optional[_Union[Span, _Mapping]] = ..., delegation_id: _Optional[str] = ...) -> None: ...

class DelegationClosed(_message.Message):
    __slots__ = ("covers", "delegation_id", "request")
    COVERS_FIELD_NUMBER: _ClassVar[int]
    DELEGATION_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    covers: Span
    delegation_id: str
    request: str
    def __init__(self, covers: _Optional[_Union[Span, _Mapping]] = ..., delegation_id: _Optional[str] = ..., request: _Optional[str] = ...) -> None: ...
