"use strict";
// The conversation in reading order, also the text alternative of the drawing.

const conversation = {
  list: byId("talk"),
  items: [],

  start() {
    const lines = [...this.noteLines(), ...this.callerLines(), ...this.agentLines()].sort((a, b) => a.us - b.us);
    for (const line of lines) {
      const when = el("button", { class: "when", type: "button", "aria-label": `Go to ${clock(line.us)}` }, clock(line.us));
      when.addEventListener("click", () => player.seek(line.us));
      const item = el("li", { class: line.class }, when, el("div", { class: "said" }, ...line.parts));
      this.list.append(item);
      this.items.push({ us: line.us, item });
    }
    if (!lines.length) this.list.append(el("li", { class: "note" }, el("div", { class: "said" }, el("p", {}, "Nobody said anything."))));
    player.onMove((us) => this.mark(us));
  },

  callerLines() {
    const lines = story.heard.map((heard) => ({
      us: heard.from_us,
      class: "caller",
      parts: [el("p", heard.final ? {} : { class: "quiet" }, el("span", { class: "unseen" }, "Caller: "), heard.text), heard.final ? null : el("p", { class: "fate" }, "the recogniser did not come to an end")],
    }));
    for (const [from, to] of story.voices) {
      const read = story.heard.some((heard) => heard.from_us < to && heard.to_us > from);
      if (!read && to - from >= 300000) lines.push({ us: from, class: "caller", parts: [el("p", { class: "quiet" }, `speaks for ${lasting(to - from)}; nobody wrote it down`)] });
    }
    return lines;
  },

  agentLines() {
    return story.utterances.filter((said) => said.sent || said.unsent || said.parts.length).map((said) => {
      const { fate } = saysUtterance(said);
      const text = said.sent || said.unsent ? saidText(said.sent, said.unsent) : el("span", { class: "quiet" }, `speaks for ${lasting(said.to_us - said.from_us)}`);
      const role = said.role === "answer" ? "" : said.role + (said.must_hear ? ", must be heard" : "");
      const kind = said.outcome === "finished" || !said.outcome ? "" : said.outcome === "cut" ? " cut" : " lost";
      const below = [role, fate].filter(Boolean).join(" · ");
      return { us: said.from_us, class: "agent", parts: [el("p", {}, el("span", { class: "unseen" }, "Agent: "), text), below ? el("p", { class: `fate${kind}` }, below) : null] };
    });
  },

  noteLines() {
    const note = (us, text, kind) => ({ us, class: `note ${kind}`, parts: [el("p", {}, text)] });
    const notes = [];
    for (const mark of story.marks) {
      if (["loss", "underrun", "lag"].includes(mark.kind)) continue;
      const before = notes.at(-1);
      if (mark.kind === "dtmf" && before && before.keys && mark.from_us - before.last < 3e6) {
        before.keys += ` ${mark.text}`;
        before.last = mark.from_us;
        before.parts = [el("p", {}, `The caller pressed ${before.keys}`)];
        continue;
      }
      const texts = { answered: "The line was answered", ended: data.headline, dtmf: `The caller pressed ${mark.text}`, dtmf_sent: `We pressed ${mark.text}` };
      const text = texts[mark.kind] || mark.text[0].toUpperCase() + mark.text.slice(1);
      const made = note(mark.from_us, text, mark.weight === "fault" ? "fault" : "");
      notes.push(mark.kind === "dtmf" ? { ...made, keys: mark.text, last: mark.from_us } : made);
    }
    for (const work of story.works) {
      const headline = work.phases[0]?.[2] || "a request";
      notes.push(note(work.from_us, `Work begins: ${headline}`, "work"));
      if (work.ended_us === null) continue;
      const waited = `after ${lasting(work.ended_us - work.from_us)}`;
      for (const telling of work.tellings.filter((told) => told.of === "outcome")) {
        const [at, state, reason] = telling.states.at(-1);
        if (state === "dropped") notes.push(note(at, `The outcome was not told${reason ? `: ${reason}` : ""}`, "fault"));
        if (state === "partial") notes.push(note(at, "The outcome was told in part", "work"));
      }
      notes.push(note(work.ended_us, `Work ${work.status} ${waited}: ${work.phases.at(-1)?.[2] || headline}`, ["failed", "unknown", "expired"].includes(work.status) ? "fault" : "work"));
    }
    return notes;
  },

  /** Shows which line is being heard, and keeps it in sight while playing. */
  mark(us) {
    const index = lowerBound(this.items, us + 1, (line) => line.us) - 1;
    const item = this.items[index]?.item;
    if (item === this.current) return;
    this.current?.classList.remove("current");
    this.current = item;
    if (!item) return;
    item.classList.add("current");
    if (!player.playing) return;
    const top = item.offsetTop - this.list.clientHeight / 3;
    this.list.scrollTo({ top, behavior: reducedMotion.matches ? "auto" : "smooth" });
  },
};
