"use strict";
// One painter per lane: `(ctx, lane, view, x, hit)`; `hit` registers what can be pointed at and what is to be said about it.

/** Items of a list sorted by `from_us` that may be in sight; `longest` is how far back one can begin. */
function inView(list, view, longest = 120e6) {
  return list.slice(lowerBound(list, view.from - longest, (item) => item.from_us), lowerBound(list, view.to, (item) => item.from_us));
}

/** A text that begins at its time, or at the edge while it goes on there; its room ends where the next one begins. */
function textPlace(item, next, view, x, endUs) {
  if (endUs < view.from) return [0, 0];
  const from = Math.max(x(item.from_us), view.left + 6);
  const until = next ? x(next.from_us) - 10 : Math.max(x(endUs), from + 220);
  return [from, Math.min(until, view.right - 6) - from];
}

/** How long an utterance would have been with what was never sent, clipped at the next one. */
function ghostEnd(said, next) {
  const last = said.words.length ? said.words.at(-1)[2] : said.to_us + 65000 * said.unsent.length;
  return Math.min(Math.max(last, said.to_us), next ? next.from_us - 40000 : Infinity);
}

function saysUtterance(said) {
  const words = said.words_heard < said.words_sent ? `; the caller had heard ${said.words_heard} of ${said.words_sent} words when they set in` : "";
  const when = said.cut_us !== null && said.outcome === "cut" ? ` at ${clock(said.to_us)}` : "";
  return {
    title: `Agent, ${said.role}${said.must_hear ? ", must be heard" : ""}`,
    time: said.parts.length ? `${clock(said.from_us)} – ${clock(said.to_us)}` : clock(said.at_us),
    text: said.sent,
    unheard: said.unsent,
    fate: said.fate ? said.fate + when + words : "",
  };
}

/** Every word at its own time, on one line, when there is room for that. */
function paintWords(ctx, said, y, x, limit) {
  let free = -Infinity;
  said.words.forEach(([word, from], index) => {
    const place = Math.max(x(from), free);
    const width = widthOf(ctx, word);
    if (place + width > limit) return;
    paintWord(ctx, word, place, y, width, index >= said.words_sent, theme.ink);
    free = place + width + 4;
  });
}

/** What was sent below what was sent, what was not below where it would have been; one after the other when that is too narrow. */
function paintSaid(ctx, y, view, x, said, next, ghostTo) {
  const [from, room] = textPlace(said, next, view, x, ghostTo);
  const cut = Math.max(x(said.to_us) + 4, view.left + 6), rest = from + room - cut;
  if (!said.unsent || rest < 40 || (said.sent && cut - from < 48)) {
    paintText(ctx, [[said.sent, false], [said.unsent, true]], from, y, room, 3, theme.ink);
    return;
  }
  paintText(ctx, [[said.sent, false]], from, y, cut - from - 8, 3, theme.ink, 40);
  paintText(ctx, [[said.unsent, true]], cut, y, rest, 3, theme.ink, 40);
}

function paintUtterance(ctx, lane, view, x, said, next, hit) {
  const y = lane.top + 7;
  const ghostTo = said.unsent ? ghostEnd(said, next) : said.to_us;
  for (const [from, to, gain] of said.parts) {
    ctx.globalAlpha = gain < -3 ? 0.42 : 1;
    bar(ctx, x(from), x(to), y, 6, theme.agent);
    ctx.globalAlpha = 1;
  }
  if (said.unsent) {
    const cut = x(said.to_us);
    if (x(ghostTo) - cut > 6) dashed(ctx, cut + 2, Math.max(cut + 6, x(ghostTo)), y, 6, theme.faint);
    ctx.fillStyle = said.outcome === "cut" ? theme.floor : theme.fault;
    if (x(ghostTo) - cut > 3) ctx.fillRect(Math.round(cut) - 1, y - 4, 2, 14);
    else ctx.fillRect(cut, y - 1, 1, 8);
  }
  ctx.font = `12px ${theme.sans}`;
  ctx.textAlign = "left";
  const perSecond = (view.right - view.left) / (view.to - view.from) * 1e6;
  if (perSecond > 105 && said.words.length) paintWords(ctx, said, y + 23, x, next ? x(next.from_us) - 6 : Infinity);
  else paintSaid(ctx, y + 22, view, x, said, next, ghostTo);
  hit({ x0: x(said.from_us), x1: Math.max(x(ghostTo), x(said.from_us) + 3), y0: lane.y, y1: lane.y + lane.height, seq: said.seq, us: said.from_us, says: saysUtterance(said) });
}

function paintWork(ctx, lane, x, work, hit) {
  const y = lane.top + 6 + work.row * 32;
  const created = x(work.from_us), ended = x(work.ended_us ?? lengthUs);
  ctx.fillStyle = theme.work;
  ctx.fillRect(x(work.opened_us), y + 20, created - x(work.opened_us), 1.5);
  work.phases.forEach(([at, phase], index) => {
    const from = x(at), to = index + 1 < work.phases.length ? x(work.phases[index + 1][0]) : ended;
    if (phase === "needs_input") bar(ctx, from, to, y + 18, 6, theme.hatch(ctx, theme.work));
    else bar(ctx, from, to - 1, y + 18, 6, theme.work);
  });
  const running = work.phases.length ? x(work.phases[0][0]) : ended;
  ctx.globalAlpha = 0.35;
  bar(ctx, created, running, y + 18, 6, theme.work);
  ctx.globalAlpha = 1;
  for (const telling of work.tellings) paintTelling(ctx, telling, y, x);
  const good = work.status === "succeeded", missed = ["failed", "unknown", "expired"].includes(work.status);
  if (work.status) dot(ctx, ended, y + 21, good ? theme.work : missed ? theme.fault : theme.faint, good);
  const told = work.tellings.filter((telling) => telling.of === "outcome").map((telling) => telling.states.at(-1)[1]);
  const headline = work.phases.at(-1)?.[2] || "work";
  const fate = [work.status || "still open", ...told].join(", ");
  ctx.font = `11.5px ${theme.sans}`;
  const from = Math.max(x(work.opened_us), timeline.view.left + 6);
  const next = timeline.works.find((other) => other.row === work.row && other.opened_us > work.opened_us);
  const room = Math.min(next ? x(next.opened_us) - 8 : timeline.view.right, timeline.view.right - 6) - from;
  ctx.fillStyle = missed ? theme.fault : theme.soft;
  if (room > leastRoom * 1.5 && work.to_us > timeline.view.from) ctx.fillText(fitted(ctx, `${headline} · ${fate}`, room), from, y + 11);
  const says = { title: `Work ${work.id}`, time: `${clock(work.from_us)} – ${clock(work.ended_us ?? lengthUs)}`, text: work.phases.map((phase) => phase[2]).join(" → "), unheard: "", fate };
  hit({ x0: x(work.opened_us), x1: x(work.to_us), y0: y, y1: y + 30, seq: work.seq, us: work.from_us, says });
}

/** From ready to told: waiting is a thin line, telling a thick one, its end a square (filled: all of it was heard). */
function paintTelling(ctx, telling, y, x) {
  telling.states.forEach(([at, state], index) => {
    const next = telling.states[index + 1];
    if (next) {
      ctx.fillStyle = theme.work;
      const height = state === "delivering" ? 3 : 1;
      ctx.fillRect(x(at), y + 21 - height / 2, x(next[0]) - x(at), height);
      return;
    }
    if (state === "ready" || state === "delivering") return;
    ctx.fillStyle = ctx.strokeStyle = state === "dropped" ? theme.faint : theme.work;
    ctx.lineWidth = 1.5;
    if (state === "delivered") ctx.fillRect(x(at) - 4, y + 17, 8, 8);
    else ctx.strokeRect(x(at) - 3.5, y + 17.5, 7, 7);
  });
}

function dot(ctx, x, y, colour, filled) {
  ctx.beginPath();
  ctx.arc(x, y, 4.5, 0, 7);
  ctx.fillStyle = filled ? colour : theme.panel;
  ctx.fill();
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.5;
  ctx.stroke();
}

const floorWords = { agent: "agent", caller: "caller", ducked: "ducked", held: "held" };
const floorSays = { agent: "The agent has the floor", caller: "The caller has the floor", ducked: "Both speak: the agent is ducked", held: "The agent holds, at the end of a word" };
const markNames = { loss: "Loss", gap: "Gap", underrun: "Underrun", hold: "Hold", dtmf: "Key", dtmf_sent: "Keys sent", transfer: "Transfer", frontend: "Frontend", lag: "Lag", fault: "Fault", record: "Record", answered: "Line", ended: "Line" };

/** A mark of the line from `x0` to `x1`; its name only between `free` and `room`. Returns what is free after it. */
function paintMark(ctx, mark, y, x0, x1, free, room) {
  const colour = mark.weight === "fault" ? theme.fault : theme.wire;
  const key = mark.kind.startsWith("dtmf");
  const name = key ? mark.text : mark.kind === "fault" ? mark.text.split(":")[0] : mark.kind;
  ctx.font = key ? `600 12px ${theme.mono}` : `11.5px ${theme.sans}`;
  const width = widthOf(ctx, name);
  let start = x0 + 8;
  if (mark.kind === "hold") bar(ctx, x0, x1, y, 16, theme.line, 3);
  else if (["loss", "underrun", "gap"].includes(mark.kind)) {
    ctx.globalAlpha = mark.kind === "loss" ? 0.5 : 1;
    bar(ctx, x0, x1, y, 16, theme.hatch(ctx, colour), 3);
    ctx.globalAlpha = 1;
    start = x1 + 6;
    if (x1 - x0 < 6 && mark.kind !== "gap") return free;
  } else if (key && x0 >= free && width <= room + 6 - x0) {
    ctx.fillStyle = colour;
    ctx.fillText(name, x0, y + 12);
    return x0 + width;
  } else bar(ctx, x0, x0 + 1.5, y, 16, colour, 1);
  if (start < free || start + width > Math.max(room, mark.kind === "hold" ? x1 : 0)) return free;
  ctx.fillStyle = colour;
  ctx.fillText(name, start, y + 12);
  return start + width + 4;
}

const lanePainters = {
  wave(ctx, lane, view, x) {
    const middle = Math.round(lane.y + lane.height / 2), half = lane.height / 2 - 7;
    paintWave(ctx, envelopes.caller, view, view.left, view.right, middle - 0.5, -half, theme.caller);
    paintWave(ctx, envelopes.agent, view, view.left, view.right, middle + 0.5, half, theme.agent);
  },

  caller(ctx, lane, view, x, hit) {
    const y = lane.top + 7;
    for (const [from, to] of story.voices) {
      if (to >= view.from && from <= view.to) bar(ctx, x(from), x(to), y, 6, theme.caller);
    }
    const shown = inView(story.heard, view);
    shown.forEach((heard, index) => {
      const next = shown[index + 1] || story.heard[story.heard.indexOf(heard) + 1];
      const [from, room] = textPlace(heard, next, view, x, heard.to_us);
      ctx.font = `${heard.final ? "" : "italic "}12px ${theme.sans}`;
      ctx.textAlign = "left";
      paintText(ctx, [[heard.text, false]], from, y + 22, room, 3, heard.final ? theme.ink : theme.soft);
      const says = { title: "Caller", time: `${clock(heard.from_us)} – ${clock(heard.to_us)}`, text: heard.text, unheard: "", fate: heard.final ? "" : "the recogniser did not come to an end" };
      hit({ x0: x(heard.from_us), x1: Math.max(x(heard.to_us), x(heard.from_us) + 3), y0: lane.y, y1: lane.y + lane.height, seq: heard.seq, us: heard.from_us, says });
    });
  },

  agent(ctx, lane, view, x, hit) {
    const shown = inView(story.utterances, view);
    const after = story.utterances[story.utterances.indexOf(shown.at(-1)) + 1];
    shown.forEach((said, index) => paintUtterance(ctx, lane, view, x, said, shown[index + 1] || after, hit));
  },

  floor(ctx, lane, view, x, hit) {
    const y = lane.top + 9;
    ctx.textAlign = "left";
    for (const stretch of inView(story.floor, view)) {
      const x0 = x(stretch.from_us), x1 = x(stretch.to_us);
      const fills = { agent: theme.agent, caller: theme.caller, ducked: theme.hatch(ctx, theme.agent), held: theme.wash };
      bar(ctx, x0, x1, y, 16, fills[stretch.holder], 3);
      if (stretch.holder === "held") dashed(ctx, x0, x1, y, 16, theme.agent);
      ctx.font = `500 10.5px ${theme.sans}`;
      ctx.fillStyle = ["agent", "caller"].includes(stretch.holder) ? theme["on-accent"] : theme.ink;
      const from = Math.max(x0, view.left) + 6, word = floorWords[stretch.holder];
      if (stretch.holder !== "ducked" && widthOf(ctx, word) + 8 < x1 - from) ctx.fillText(word, from, y + 11.5);
      hit({ x0, x1, y0: lane.y, y1: lane.y + lane.height, us: stretch.from_us, says: { title: floorSays[stretch.holder], time: `${clock(stretch.from_us)} – ${clock(stretch.to_us)}`, text: "", unheard: "", fate: lasting(stretch.to_us - stretch.from_us) } });
    }
    for (const taken of story.yields) {
      const place = x(taken.t_us);
      if (place < view.left - 8 || place > view.right + 8) continue;
      ctx.fillStyle = theme.floor;
      if (x(taken.t_us + 1e6) - place > 6) {
        ctx.beginPath();
        ctx.moveTo(place - 5, y - 7);
        ctx.lineTo(place + 5, y - 7);
        ctx.lineTo(place, y);
        ctx.fill();
        ctx.fillRect(Math.round(place) - 1, y - 7, 2, 26);
      } else ctx.fillRect(place, y - 6, 1, 24);
      const says = { title: "The caller took the floor", time: clock(taken.t_us, 2), text: "", unheard: "", fate: `${lasting(taken.t_us - taken.onset_us)} after they set in: ${taken.reason}` };
      hit({ x0: place - 4, x1: place + 4, y0: lane.y, y1: lane.y + lane.height, seq: taken.seq, us: taken.t_us, says });
    }
  },

  work(ctx, lane, view, x, hit) {
    for (const work of timeline.works) {
      if (work.to_us >= view.from && work.opened_us <= view.to) paintWork(ctx, lane, x, work, hit);
    }
  },

  wire(ctx, lane, view, x, hit) {
    const y = lane.top + 9;
    const shown = story.marks.filter((mark) => mark.to_us >= view.from && mark.from_us <= view.to);
    let free = -Infinity;
    shown.forEach((mark, index) => {
      const x0 = x(mark.from_us), x1 = Math.max(x(mark.to_us), x0 + 2);
      const room = (shown[index + 1] ? x(shown[index + 1].from_us) : view.right) - 6;
      free = paintMark(ctx, mark, y, Math.max(x0, view.left), x1, free, room);
      const time = mark.to_us > mark.from_us ? `${clock(mark.from_us)} – ${clock(mark.to_us)}` : clock(mark.from_us, 2);
      hit({ x0, x1, y0: lane.y, y1: lane.y + lane.height, seq: mark.seq, us: mark.from_us, says: { title: markNames[mark.kind] || mark.kind, time, text: mark.text, unheard: "", fate: "" } });
    });
  },
};
