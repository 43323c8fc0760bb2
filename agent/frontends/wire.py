"""Between the types of `agent.frontends.base` and the messages of `frontend.proto`, in both directions.

What comes from the wire is checked: whatever the bytes were, the readers raise nothing but `Refused`.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from agent.errors import Refused
from agent.frontends import frontend_pb2 as pb
from agent.frontends.base import (
    UNIT_RATE_HZ,
    BackendMessage,
    Brief,
    DelegationClosed,
    DelegationOpened,
    Evidence,
    FrontendInfo,
    Heard,
    Listening,
    MessageKind,
    PastTurn,
    Speech,
    Step,
    Unit,
)
from agent.frontends.limits import check_info
from agent.line import Pcm
from agent.speech import SpokenLine
from agent.timeline.events import (
    SpeakerScore,
    Transcript,
    TurnProbability,
    VoiceContinued,
    VoicePaused,
    VoiceStarted,
    VoiceStopped,
)
from agent.timeline.kinds import Alignment, Cause, Role, Span, Word

LONGEST_MESSAGE = 4 * 1024 * 1024
"""Bytes, in each direction."""
LONGEST_PIECE = 2 * 1024 * 1024
"""Sound in one message, bytes: 43 s at 24 kHz. Longer speech is sent as several messages."""
LONGEST_SPAN_US = 10_000_000
"""Longest unit that a worker accepts."""
MOST_EVIDENCE = 1_000
"""Most pieces of evidence in a unit."""
MOST_WORDS = 10_000
"""Most words in a message."""
LATEST_US = 2**53
"""Times on the wire lie between 0 and this."""


# --- samples and spans ------------------------------------------------------------------------------------------------------


def _span(covers: Span) -> pb.Span:
    return pb.Span(from_us=covers.from_us, to_us=covers.to_us)


def _read_span(message: pb.Span) -> Span:
    if not 0 <= message.from_us <= message.to_us <= LATEST_US:
        raise Refused(
            f"a span from {message.from_us} to {message.to_us} µs: it must not end before it starts, nor start before 0"
        )
    return Span(message.from_us, message.to_us)


def _floats_to_bytes(pcm: npt.NDArray[np.float32]) -> bytes:
    return np.clip(np.rint(pcm * 32768), -32768, 32767).astype("<i2").tobytes()


def _samples(pcm: bytes) -> npt.NDArray[np.int16]:
    if len(pcm) % 2:
        raise Refused(f"{len(pcm)} bytes of sound: 16 bit samples have two bytes each")
    return np.frombuffer(pcm, "<i2").astype(np.int16, copy=False)


# --- to the worker ----------------------------------------------------------------------------------------------------------


def brief_to_wire(brief: Brief) -> pb.Brief:
    """The message of a brief."""
    return pb.Brief(
        call_id=brief.call_id,
        persona=brief.persona,
        language=brief.language,
        instructions=brief.instructions,
        facts=brief.facts,
        capabilities=brief.capabilities,
        history=[pb.PastTurn(who=turn.who, text=turn.text) for turn in brief.history],
        epoch=brief.epoch,
        pending=brief.pending,
        scores_speaker=brief.scores_speaker,
        unanswered=brief.unanswered,
    )


def read_brief(message: pb.Brief) -> Brief:
    """A brief from the wire."""
    return Brief(
        call_id=message.call_id,
        persona=message.persona,
        language=message.language,
        instructions=message.instructions,
        facts=tuple(message.facts),
        capabilities=tuple(message.capabilities),
        history=tuple(PastTurn(turn.who, turn.text) for turn in message.history),
        epoch=message.epoch,
        pending=tuple(message.pending),
        scores_speaker=message.scores_speaker,
        unanswered=message.unanswered,
    )


def unit_to_wire(unit: Unit) -> pb.Unit:
    """The message of a unit; its samples are rounded to 16 bit."""
    return pb.Unit(
        covers=_span(unit.covers),
        pcm=_floats_to_bytes(unit.pcm),
        evidence=[_evidence_to_wire(evidence) for evidence in unit.evidence],
        speaking=unit.speaking,
        said=unit.said,
    )


def read_unit(message: pb.Unit) -> Unit:
    """A unit from the wire. Raises `Refused` when its samples do not match its length, or anything in it makes no sense."""
    covers = _read_span(message.covers)
    lasts_us = covers.to_us - covers.from_us
    pcm = _samples(message.pcm)
    if not 0 < lasts_us <= LONGEST_SPAN_US or len(pcm) * 1_000_000 != lasts_us * UNIT_RATE_HZ:
        raise Refused(f"a unit of {lasts_us} µs with {len(pcm)} samples: 16 of them make a millisecond")
    if len(message.evidence) > MOST_EVIDENCE:
        raise Refused(f"{len(message.evidence)} pieces of evidence in one unit: at most {MOST_EVIDENCE}")
    evidence = tuple(_read_evidence(one) for one in message.evidence)
    return Unit(covers, pcm.astype(np.float32) / np.float32(32768), evidence, message.speaking, message.said)


def _evidence_to_wire(evidence: Evidence) -> pb.Evidence:
    covers = _span(evidence.covers)
    match evidence:
        case VoiceStarted():
            return pb.Evidence(voice_started=pb.VoiceStarted(covers=covers, level_dbov=evidence.level_dbov))
        case VoicePaused():
            return pb.Evidence(voice_paused=pb.VoicePaused(covers=covers))
        case VoiceContinued():
            return pb.Evidence(voice_continued=pb.VoiceContinued(covers=covers, level_dbov=evidence.level_dbov))
        case VoiceStopped():
            return pb.Evidence(voice_stopped=pb.VoiceStopped(covers=covers))
        case Transcript():
            return pb.Evidence(transcript=_transcript(evidence))
        case TurnProbability():
            return pb.Evidence(turn=_turn(evidence))
        case SpeakerScore():
            return pb.Evidence(speaker=_speaker(evidence))


def _transcript(heard: Transcript) -> pb.Transcript:
    return pb.Transcript(covers=_span(heard.covers), text=heard.text, final=heard.final, confidence=heard.confidence)


def _turn(heard: TurnProbability) -> pb.TurnProbability:
    return pb.TurnProbability(covers=_span(heard.covers), probability=heard.probability)


def _speaker(heard: SpeakerScore) -> pb.SpeakerScore:
    return pb.SpeakerScore(covers=_span(heard.covers), score=heard.score)


def _read_evidence(message: pb.Evidence) -> Evidence:
    match message.WhichOneof("evidence"):
        case "voice_started":
            started = message.voice_started
            return VoiceStarted(_read_span(started.covers), _number(started.level_dbov, "a level"))
        case "voice_paused":
            return VoicePaused(_read_span(message.voice_paused.covers))
        case "voice_continued":
            continued = message.voice_continued
            return VoiceContinued(_read_span(continued.covers), _number(continued.level_dbov, "a level"))
        case "voice_stopped":
            return VoiceStopped(_read_span(message.voice_stopped.covers))
        case "transcript":
            return _read_transcript(message.transcript)
        case "turn":
            return _read_turn(message.turn)
        case "speaker":
            return _read_speaker(message.speaker)
    raise Refused("evidence of a kind that this version does not know")


def _read_transcript(message: pb.Transcript) -> Transcript:
    confidence = _number(message.confidence, "a confidence")
    return Transcript(_read_span(message.covers), message.text, message.final, confidence)


def _read_turn(message: pb.TurnProbability) -> TurnProbability:
    return TurnProbability(_read_span(message.covers), _number(message.probability, "a probability"))


def _read_speaker(message: pb.SpeakerScore) -> SpeakerScore:
    return SpeakerScore(_read_span(message.covers), _number(message.score, "a score"))


def _number(value: float, what: str) -> float:
    if not np.isfinite(value):
        raise Refused(f"{what} that is no number")
    return value


_MESSAGE_KIND = {one: f"MESSAGE_KIND_{one.name}" for one in MessageKind}
_READ_MESSAGE_KIND = {pb.MessageKind.Value(name): one for one, name in _MESSAGE_KIND.items()}


def message_to_wire(message: BackendMessage) -> pb.BackendMessage:
    """The message of a backend message."""
    return pb.BackendMessage(attempt_id=message.attempt_id, text=message.text, kind=_MESSAGE_KIND[message.kind])


def read_message(message: pb.BackendMessage) -> BackendMessage:
    """A backend message from the wire."""
    kind = _READ_MESSAGE_KIND.get(message.kind)
    if kind is None:
        raise Refused(f"a backend message of kind {message.kind}: that is neither a result nor something said")
    return BackendMessage(message.attempt_id, message.text, kind)


# --- from the worker --------------------------------------------------------------------------------------------------------


def info_to_wire(info: FrontendInfo) -> pb.FrontendInfo:
    """The message of a frontend's declaration."""
    return pb.FrontendInfo(
        name=info.name,
        unit_us=info.unit_us,
        output_rate_hz=info.output_rate_hz,
        owns_floor=info.owns_floor,
        takes_video=info.takes_video,
        languages=info.languages,
        voice=info.voice,
    )


def read_info(message: pb.FrontendInfo) -> FrontendInfo:
    """A declaration from the wire. Raises `Refused` when no call could be run with it."""
    info = FrontendInfo(
        name=message.name,
        unit_us=message.unit_us,
        output_rate_hz=message.output_rate_hz,
        owns_floor=message.owns_floor,
        takes_video=message.takes_video,
        languages=tuple(message.languages),
        voice=message.voice,
    )
    check_info(info)
    return info


def step_to_wire(step: Step) -> Iterator[pb.FrontendOutput]:
    """The messages of a step: one, or several for speech longer than `LONGEST_PIECE`."""
    covers = _span(step.covers)
    match step:
        case Listening():
            yield pb.FrontendOutput(listening=pb.Listening(covers=covers))
        case Speech():
            yield from (pb.FrontendOutput(speech=speech) for speech in _speech_to_wire(step))
        case DelegationOpened():
            yield pb.FrontendOutput(delegation_opened=pb.DelegationOpened(covers=covers, delegation_id=step.delegation_id))
        case DelegationClosed():
            closed = pb.DelegationClosed(covers=covers, delegation_id=step.delegation_id, request=step.request)
            yield pb.FrontendOutput(delegation_closed=closed)


def _speech_to_wire(step: Speech) -> Iterator[pb.Speech]:
    """Text and words go with the first piece, `final` with the last."""
    pcm = np.asarray(step.pcm, "<i2").tobytes()
    pieces = [pcm[at : at + LONGEST_PIECE] for at in range(0, len(pcm), LONGEST_PIECE)] or [b""]
    for number, piece in enumerate(pieces):
        first, last = number == 0, number == len(pieces) - 1
        yield pb.Speech(
            covers=_span(step.covers),
            utterance_id=step.utterance_id,
            epoch=step.epoch,
            text=step.text if first else "",
            pcm=piece,
            words=[pb.Word(text=word.text, start_us=word.start_us, end_us=word.end_us) for word in step.words if first],
            alignment=_ALIGNMENT[step.alignment],
            role=_ROLE[step.role],
            cause=pb.Cause(turn=step.cause.turn, attempt_id=step.cause.attempt_id, proactive=step.cause.proactive),
            final=step.final and last,
        )


LONGEST_LINE = 2_000
"""Characters of a line that is rendered ahead."""


def line_to_wire(line: SpokenLine) -> pb.RenderedLine:
    """The message of a rendered line."""
    return pb.RenderedLine(
        pcm=np.asarray(line.pcm, "<i2").tobytes(),
        rate_hz=line.rate_hz,
        words=[pb.Word(text=word.text, start_us=word.start_us, end_us=word.end_us) for word in line.words],
        alignment=_ALIGNMENT[line.alignment],
    )


def read_line(message: pb.RenderedLine, text: str, role: Role, must_hear: bool) -> SpokenLine:
    """A rendered line from the wire."""
    if message.alignment not in _READ_ALIGNMENT or not 8_000 <= message.rate_hz <= 48_000:
        raise Refused(f"a line at {message.rate_hz} Hz, or of an alignment that this version does not know")
    if len(message.words) > MOST_WORDS:
        raise Refused(f"{len(message.words)} words in one line: at most {MOST_WORDS}")
    words = tuple(_read_word(word) for word in message.words)
    return SpokenLine(text, _samples(message.pcm), message.rate_hz, words, role, must_hear, _READ_ALIGNMENT[message.alignment])


_ALIGNMENT = {one: f"ALIGNMENT_{one.name}" for one in Alignment}
_READ_ALIGNMENT = {pb.Alignment.Value(name): one for one, name in _ALIGNMENT.items()}
_ROLE = {one: f"ROLE_{one.name}" for one in Role}
_READ_ROLE = {pb.Role.Value(name): one for one, name in _ROLE.items()}


def read_step(message: pb.FrontendOutput) -> Step:
    """A step from the wire. Raises `Refused` for what this version does not know and for what makes no sense."""
    match message.WhichOneof("output"):
        case "listening":
            return Listening(_read_span(message.listening.covers))
        case "speech":
            return _read_speech(message.speech)
        case "delegation_opened":
            opened = message.delegation_opened
            return DelegationOpened(_read_span(opened.covers), opened.delegation_id)
        case "delegation_closed":
            closed = message.delegation_closed
            return DelegationClosed(_read_span(closed.covers), closed.delegation_id, closed.request)
    raise Refused("a step of a kind that this version does not know: use media process and worker of the same version")


def _read_speech(message: pb.Speech) -> Speech:
    if message.alignment not in _READ_ALIGNMENT or message.role not in _READ_ROLE:
        raise Refused("speech of an alignment or a role that this version does not know")
    if len(message.words) > MOST_WORDS:
        raise Refused(f"{len(message.words)} words in one piece of speech: at most {MOST_WORDS}")
    pcm: Pcm = _samples(message.pcm)
    return Speech(
        covers=_read_span(message.covers),
        utterance_id=message.utterance_id,
        epoch=message.epoch,
        text=message.text,
        pcm=pcm,
        words=tuple(_read_word(word) for word in message.words),
        alignment=_READ_ALIGNMENT[message.alignment],
        role=_READ_ROLE[message.role],
        cause=_read_cause(message.cause),
        final=message.final,
    )


def _read_word(message: pb.Word) -> Word:
    if not 0 <= message.start_us <= message.end_us <= LATEST_US:
        raise Refused(f"a word from {message.start_us} to {message.end_us} µs")
    return Word(message.text, message.start_us, message.end_us)


def _read_cause(message: pb.Cause) -> Cause:
    return Cause(
        turn=message.turn if message.HasField("turn") else None,
        attempt_id=message.attempt_id if message.HasField("attempt_id") else None,
        proactive=message.proactive,
    )


def heard_to_wire(heard: Heard) -> pb.EarsOutput:
    """The message of what the ears learned."""
    match heard:
        case Transcript():
            return pb.EarsOutput(transcript=_transcript(heard))
        case TurnProbability():
            return pb.EarsOutput(turn=_turn(heard))
        case SpeakerScore():
            return pb.EarsOutput(speaker=_speaker(heard))


def read_heard(message: pb.EarsOutput) -> Heard:
    """What the ears learned, from the wire."""
    match message.WhichOneof("output"):
        case "transcript":
            return _read_transcript(message.transcript)
        case "turn":
            return _read_turn(message.turn)
        case "speaker":
            return _read_speaker(message.speaker)
    raise Refused("evidence of a kind that this version does not know")
