"""Calls made up for looking at reports: a short busy one that shows everything, and one of any length."""

import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agent.settings import TICK_US, CallSettings
from agent.timeline import codec, kinds
from agent.timeline import events as ev
from agent.timeline.log import Entry, Timeline

RATE_HZ = 8000
SECOND = 1_000_000
PEAK_STEP_US = 50_000

HOSTILE = '</script><img src=x onerror="document.title=1">\u2028<!-- ]]>'
"""What a caller may be called, or be heard to say."""


def tick(us: float) -> int:
    """The tick at or after `us`."""
    return -(-round(us) // TICK_US) * TICK_US


def timed(text: str) -> tuple[kinds.Word, ...]:
    """Words at a speaker's pace."""
    words, at = [], 60_000
    for text_ in text.split():
        length = 110_000 + 42_000 * len(text_)
        words.append(kinds.Word(text_, at, at + length))
        at += length + (170_000 if text_[-1] in ".,?!" else 25_000)
    return tuple(words)


@dataclass
class Call:
    """Collects events at any time and in any order; `entries` puts them on a timeline."""

    remote: str = "+49 30 901820"
    seed: int = 7
    now: int = 0
    _events: list[tuple[int, int, ev.Event, str, str]] = field(default_factory=list)
    _speech: list[tuple[int, int]] = field(default_factory=list)
    _voice: list[tuple[int, int]] = field(default_factory=list)
    _count: int = 0
    epoch: int = 0

    def add(self, at: float, event: ev.Event, key: str = "", cause: str = "") -> None:
        """Put an event at the tick after `at`; `key` names it for others to be caused by."""
        self._events.append((tick(at), len(self._events), event, key, cause))

    def open(self, answered: int = 2 * SECOND) -> None:
        started = ev.CallStarted(
            call_id="c-20260714-4f2a",
            node_id="n1",
            direction="inbound",
            line="memory",
            sample_rate_hz=RATE_HZ,
            far_end_delay_us=100_000,
            remote=self.remote,
            wall_anchor="2026-07-14T08:31:05+00:00",
            seed=self.seed,
            record="on",
            owns_floor=False,
            settings=CallSettings(),
            versions={"venus-line": "0.1.0", "schema": "1"},
        )
        self.add(0, started, "start")
        self.add(0, ev.PhaseChanged(kinds.Phase.RINGING, "the call arrived"), cause="start")
        self.add(400_000, ev.FrontendOpened("scripted", 1, 100_000, 24_000))
        self.add(answered, ev.LineAnswered(), "answered")
        self.add(answered, ev.PhaseChanged(kinds.Phase.ANSWERED, "the line was answered"), cause="answered")
        self.now = answered

    def caller(self, text: str, pause: int = 300_000, final: bool = True) -> int:
        """The caller speaks; returns the end of it."""
        start = self.now + pause
        words = timed(text)
        end = start + words[-1].end_us
        self._voice.append((start, end))
        self.add(start + 60_000, ev.VoiceStarted(kinds.Span(start, start + 60_000), -24.5), f"voice{start}")
        for at in range(start + 160_000, end, 100_000):
            self.add(at, ev.VoiceContinued(kinds.Span(start, at), -23.0), cause=f"voice{start}")
        for at in range(start + 700_000, end, 700_000):
            heard = " ".join(word.text for word in words if start + word.end_us <= at)
            if heard:
                self.add(at + 100_000, ev.Transcript(kinds.Span(start, at), heard, False, 0.7), cause=f"voice{start}")
        self.add(end + 200_000, ev.VoiceStopped(kinds.Span(start, end)), f"stop{start}", f"voice{start}")
        self.add(end + 240_000, ev.TurnProbability(kinds.Span(start, end), 0.94), f"turn{start}", f"stop{start}")
        if final:
            self.add(end + 320_000, ev.Transcript(kinds.Span(start, end), text, True, 0.93), f"text{start}", f"turn{start}")
        self.now = end
        return end

    def agent(
        self, text: str, pause: int = 640_000, role: kinds.Role = kinds.Role.ANSWER, cut_after: int | None = None,
        backchannel: bool = False, attempt: str | None = None, starve: bool = False, say: bool = False,
    ) -> str:  # fmt: skip
        """The agent speaks; `cut_after` words the caller takes the floor, with `backchannel` he only hums. Returns the id."""
        self._count += 1
        name, start = f"u{self._count}", tick(self.now + pause)
        words = timed(text)
        total = (words[-1].end_us + 80_000) * RATE_HZ // SECOND
        self._arrive(name, start, text, words, total, role, attempt, say)
        self.add(start, ev.UtteranceStarted(name, self.epoch, role, say), f"{name}.start", f"{name}.0")
        sent = words if cut_after is None else words[:cut_after]
        until = start + words[-1].end_us + 80_000 if cut_after is None else start + sent[-1].end_us + 40_000
        until = tick(until)
        ducks = self._overlap(name, start, until, words, None if starve else cut_after, backchannel)
        self._send(name, start, until, ducks)
        for index in range(3, len(sent) + 1, 3):
            part = " ".join(word.text for word in sent[index - 3 : index])
            at = start + sent[index - 1].end_us
            self.add(at, ev.WordsSent(name, index, sent[index - 1].end_us * RATE_HZ // SECOND, part))
        samples = (until - start) * RATE_HZ // SECOND
        outcome = kinds.Outcome.STARVED if starve else kinds.Outcome.CUT if cut_after is not None else kinds.Outcome.FINISHED
        text_sent, unsent = (" ".join(word.text for word in part) for part in (sent, words[len(sent) :]))
        heard = len(sent) - (2 if outcome == kinds.Outcome.CUT else 0)
        ended = ev.UtteranceEnded(name, outcome, samples, samples, len(sent), heard, text_sent, unsent)
        self.add(until, ended, f"{name}.end", f"{name}.yield" if outcome == kinds.Outcome.CUT else f"{name}.start")
        self.now = until
        return name

    def _arrive(
        self, name: str, start: int, text: str, words: tuple[kinds.Word, ...], total: int, role: kinds.Role, attempt: str | None,
        say: bool,
    ) -> None:  # fmt: skip
        if say:
            line = ev.SayRequested(name, role, True, text, words, kinds.Alignment.EXACT, total)
            self.add(start - TICK_US, line, f"{name}.0")
            return
        pieces = [words[index : index + 8] for index in range(0, len(words), 8)]
        cause = kinds.Cause(turn=self._count, attempt_id=attempt)
        for index, piece in enumerate(pieces):
            at, final = start - TICK_US + index * 400_000, index == len(pieces) - 1
            piece_text = " ".join(word.text for word in piece)
            event = ev.SpeechArrived(
                kinds.Span(max(0, at - 100_000), at), name, self.epoch, role, cause, piece_text, piece, kinds.Alignment.EXACT,
                total // len(pieces), final,
            )  # fmt: skip
            self.add(at, event, f"{name}.{index}")

    def _overlap(
        self, name: str, start: int, until: int, words: tuple[kinds.Word, ...], cut_after: int | None, backchannel: bool
    ) -> list[tuple[int, int]]:
        """Verdicts of the floor while the utterance goes out; returns the ducked stretches."""
        if cut_after is not None:
            onset = until - 600_000
            self.add(onset + 60_000, ev.FloorChanged(kinds.Verdict.DUCK, name, onset, "voice over speech"), f"{name}.duck")
            self.add(
                until, ev.FloorChanged(kinds.Verdict.YIELD, name, onset, "sustained speech"), f"{name}.yield", f"{name}.duck"
            )
            self.epoch += 1
            left = (start + words[-1].end_us - until) * RATE_HZ // SECOND
            self.add(until, ev.EpochChanged(self.epoch, until, left), cause=f"{name}.yield")
            return [(tick(onset + 60_000), until)]
        if backchannel:
            onset = start + words[len(words) // 2].start_us
            end = onset + 280_000
            self._voice.append((onset, end))
            voice = f"voice{onset}"
            self.add(onset + 60_000, ev.VoiceStarted(kinds.Span(onset, onset + 60_000), -30.0), voice)
            duck = ev.FloorChanged(kinds.Verdict.DUCK, name, onset, "voice over speech")
            self.add(onset + 60_000, duck, f"{name}.duck", voice)
            self.add(end + 100_000, ev.VoiceStopped(kinds.Span(onset, end)), cause=voice)
            self.add(end + 100_000, ev.Transcript(kinds.Span(onset, end), "mm-hm", True, 0.8), cause=voice)
            restore = ev.FloorChanged(kinds.Verdict.RESTORE, name, onset, "a backchannel")
            self.add(end + 120_000, restore, cause=f"{name}.duck")
            return [(tick(onset + 60_000), tick(end + 120_000))]
        return []

    def _send(self, name: str, start: int, until: int, ducks: list[tuple[int, int]]) -> None:
        self._speech.append((start, until))
        edges = sorted({start, until, *(at for duck in ducks for at in duck), *range(start, until, SECOND)})
        for from_us, to_us in itertools.pairwise(edges):
            gain = -12.0 if any(low <= from_us < high for low, high in ducks) else 0.0
            begin, count = (from_us - start) * RATE_HZ // SECOND, (to_us - from_us) * RATE_HZ // SECOND
            self.add(to_us, ev.Sent(kinds.Span(from_us, to_us), name, self.epoch, begin, count, gain), cause=f"{name}.start")

    def delegate(self, number: int, headlines: list[str], status: kinds.WorkStatus, takes: int, tell: str | None) -> None:
        """A delegation opened now, its work, and the telling of its outcome in the utterance `tell`."""
        start, work, request = self.now, f"w{number}", f"d{number}"
        self.add(start, ev.DelegateOpened(kinds.Span(start - 100_000, start), request), f"{request}.open")
        self.add(start + 300_000, ev.DelegateClosed(kinds.Span(start, start + 300_000), request, 64), f"{request}.close")
        self.add(start + 300_000, ev.DelegationCreated(work, request, start, 64), work, f"{request}.close")
        for index, headline in enumerate(headlines):
            phase = kinds.WorkPhase.NEEDS_INPUT if headline.endswith("?") else kinds.WorkPhase.RUNNING
            self.add(start + 400_000 + index * takes // max(1, len(headlines)), ev.WorkChanged(work, phase, headline), cause=work)
        end = start + takes
        self.add(end, ev.WorkEnded(work, status, 180), f"{work}.end", work)

        def deliver(when: float, state: kinds.DeliveryState, reason: str = "", heard: str = "") -> None:
            event = ev.DeliveryChanged(f"{work}.outcome", work, "outcome", state, reason, heard)
            self.add(when, event, cause=f"{work}.end")

        deliver(end, kinds.DeliveryState.READY)
        if tell is None:
            deliver(end + 2 * SECOND, kinds.DeliveryState.DROPPED, "the caller changed the subject")
            return
        deliver(end + 300_000, kinds.DeliveryState.DELIVERING)
        deliver(end + 5 * SECOND, kinds.DeliveryState.DELIVERED, "", tell)

    def close(self, reason: kinds.EndReason = kinds.EndReason.CALLER_HUNG_UP, answered: int = 2 * SECOND) -> None:
        end = tick(self.now + 900_000)
        self.add(end, ev.LineClosed(reason, "BYE"), "closed")
        self.add(end, ev.CallEnded(reason, "BYE", end - answered), cause="closed")
        self.add(end, ev.PhaseChanged(kinds.Phase.ENDED, "the line was closed"), cause="closed")
        losing = random.Random(self.seed)
        for at in range(answered, end - SECOND, SECOND):
            lost = 160 * losing.randint(1, 4) if losing.random() < 0.04 else 0
            level = -22.0 if any(low < at + SECOND and high > at for low, high in self._voice) else -62.0
            self.add(at + SECOND, ev.MediaReceived(kinds.Span(at, at + SECOND), RATE_HZ - lost, lost, 0, level))
        for at in range(answered, end - 5 * SECOND, 5 * SECOND):
            self.add(at + 5 * SECOND, ev.LineQuality(98_000 + losing.randint(0, 9000), 3100, losing.randint(0, 2), 250))
        self.now = end

    def entries(self) -> list[Entry]:
        """Everything on a checked timeline."""
        timeline = Timeline(kept=1)
        seqs: dict[str, int] = {}
        made: list[Entry] = []
        for t, _, event, key, cause in sorted(self._events, key=lambda item: item[:2]):
            entry = timeline.append(t, event, seqs.get(cause))
            made.append(entry)
            if key:
                seqs[key] = entry.seq
        return made

    def peaks(self) -> dict[str, object]:
        """An envelope that looks like speech wherever somebody spoke."""
        noise = random.Random(self.seed)
        sides = []
        for spans in (self._voice, self._speech):
            steps = [noise.randint(2, 9) for _ in range(self.now // PEAK_STEP_US + 1)]
            for low, high in spans:
                for step in range(low // PEAK_STEP_US, high // PEAK_STEP_US):
                    syllable = abs(((step * PEAK_STEP_US - low) / 210_000) % 2 - 1)
                    steps[step] = round(60 + 520 * syllable * noise.uniform(0.35, 1))
            sides.append(steps)
        return {"venus_peaks": 1, "step_us": PEAK_STEP_US, "full_scale": 1000, "caller": sides[0], "agent": sides[1]}

    def store(self, folder: Path, peaks: bool = True) -> Path:
        """Write the files of a record, all but the audio and the report."""
        folder.mkdir(parents=True, exist_ok=True)
        codec.write(folder / "timeline.jsonl", self.entries())
        if peaks:
            (folder / "peaks.json").write_text(json.dumps(self.peaks()))
        return folder


def busy_call(remote: str = "+49 30 901820", name: str = "Miller") -> Call:
    """About a minute: greeting, delegation, interruption, backchannel, digits, hold, gap, loss, faults, a cancelled work."""
    call = Call(remote)
    call.open()
    call.agent(
        "Good morning, this is the automated assistant of Hartmann Cycles. How can I help you?",
        80_000,
        kinds.Role.GREETING,
        say=True,
    )
    call.caller(f"Hi, I'd like to know whether my bike is ready. The name is {name}.", 500_000)
    headlines = ["looking up the repair", "asking the workshop"]
    call.delegate(1, headlines, kinds.WorkStatus.SUCCEEDED, 5_200_000, "Your bike is ready.")
    call.agent("One moment please, I'm looking that up for you.", 520_000, kinds.Role.FILLER)
    call.now += 1_100_000
    long = (
        "Your bike is ready. The brakes were replaced and the gears adjusted, and you can collect it until six o'clock today "
        "or from nine tomorrow morning."
    )
    call.agent(long, 500_000, cut_after=11, attempt="w1.outcome.1")
    call.now -= 600_000
    call.caller("Can I come tomorrow instead? I'm at work until seven.", 0)
    sure = "Of course. Tomorrow we are open from nine to five, and you can come by at any time without an appointment."
    call.agent(sure, 700_000, backchannel=True)
    call.caller("Good. And could you text me the address?", 420_000)
    call.delegate(2, ["sending a text message"], kinds.WorkStatus.SUCCEEDED, 3_000_000, "The message is on its way.")
    call.agent("Certainly. Please type the last four digits of your number.", 610_000)
    for index, digit in enumerate("1820"):
        call.add(call.now + 900_000 + index * 420_000, ev.DigitReceived(digit, "rfc4733"))
    call.now += 2_600_000
    call.add(call.now, ev.Gap(kinds.Span(tick(call.now) - 180_000, tick(call.now)), 180_000))
    call.agent("Thank you. The message is on its way.", 480_000, attempt="w2.outcome.1")
    call.add(call.now + 200_000, ev.LineHeld("far"))
    call.add(call.now + 3_600_000, ev.LineResumed("far"))
    call.now += 3_900_000
    call.caller("Sorry, I'm back. What does the repair cost?", 100_000)
    call.delegate(3, ["reading the invoice"], kinds.WorkStatus.UNKNOWN, 1_800_000, "I cannot see the invoice.")
    call.add(call.now + 900_000, ev.FaultReported("tool_timeout", "no reply within 1.5 s"))
    call.agent("I'm sorry, I cannot see the invoice at the moment.", 2_300_000, attempt="w3.outcome.1")
    call.agent("The workshop will tell you when you collect it", 260_000, cut_after=4, starve=True)
    call.add(call.now, ev.FaultDetected("starved", "u8 got no more audio for 1.0 s"))
    call.caller("All right, thank you, goodbye.", 300_000)
    call.agent("Goodbye, and have a good ride!", 450_000, kinds.Role.FAREWELL)
    call.close()
    return call


_QUESTIONS = [
    "Could you tell me when the next train to Potsdam leaves?",
    "And how much is that for two adults and a child?",
    "Is there a table free on Thursday evening, for four people?",
    "I'm not sure that I understood, could you say that again?",
    "Please change the delivery to next Tuesday.",
    "What documents do I have to bring?",
    "No, I meant the other branch, the one by the station.",
]
_ANSWERS = [
    "The next one leaves at seventeen minutes past three from platform two, and after that there is one every half hour.",
    "That comes to forty-two euros and sixty cents, with the family discount already taken off.",
    "On Thursday there is a table at half past six or at a quarter to nine. Which of the two would you like?",
    "Certainly. I said that the office is closed on Friday and open again on Monday from eight in the morning.",
    "I have moved it to Tuesday between ten and noon, and you will get a message on the evening before.",
    "Your passport, the form that we sent you, and a proof of your address that is not older than three months.",
]


def long_call(minutes: int = 40) -> Call:
    """A long conversation with everything in it now and then."""
    choose = random.Random(11)
    call = Call("sip:anna.schmidt@example.org", seed=11)
    call.open()
    call.agent("Hello, this is the automated assistant. What can I do for you?", 60_000, kinds.Role.GREETING, say=True)
    number = 0
    while call.now < minutes * 60 * SECOND - 30 * SECOND:
        call.caller(choose.choice(_QUESTIONS), choose.randint(200, 1400) * 1000)
        if choose.random() < 0.3:
            number += 1
            status = choose.choice(list(kinds.WorkStatus)[:4] + [kinds.WorkStatus.SUCCEEDED] * 4)
            tell = None if choose.random() < 0.2 else "Done."
            call.delegate(number, ["looking it up", "comparing two offers"], status, choose.randint(2, 9) * SECOND, tell)
            call.agent("One moment, I'm looking.", 500_000, kinds.Role.FILLER)
        text = choose.choice(_ANSWERS)
        roll = choose.random()
        if roll < 0.2:
            call.agent(text, choose.randint(400, 1100) * 1000, cut_after=choose.randint(3, 9))
            call.now -= 600_000
            call.caller("Sorry, one more thing.", 0)
        else:
            call.agent(text, choose.randint(400, 1100) * 1000, backchannel=roll < 0.4)
        if choose.random() < 0.04:
            call.add(call.now + 200_000, ev.FaultReported("llm_slow", "the first token took 2.4 s"))
    call.close()
    return call


def all_texts(entries: list[Entry]) -> Iterator[str]:
    """Every personal text of these timelines that a reader could recognise."""
    for entry in entries:
        event = entry.event
        for name in ("text", "remote", "text_sent", "text_unsent", "headline", "heard", "target"):
            value = getattr(event, name, "")
            if isinstance(value, str) and len(value) > 3:
                yield value
        if isinstance(event, ev.SpeechArrived | ev.SayRequested):
            yield from (word.text for word in event.words if len(word.text) > 6)
