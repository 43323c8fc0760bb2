"use strict";
// Every event, in a table that builds only the rows in sight.

const SEQ = 0, T = 1, CAUSE = 2, KIND = 3, FIRST = 4;
const tints = { call: "soft", media: "wire", line: "wire", dtmf: "wire", evidence: "caller", frontend: "agent", step: "agent", command: "agent", utterance: "agent", floor: "floor", delegation: "work", work: "work", delivery: "work", fault: "fault", record: "soft" };

/** A value as a person reads it, by the type of its field. */
function written(value, type, unit) {
  if (value === null) return "none";
  if (type === "Span") return `${clock(value[0], 3)} – ${clock(value[1], 3)}`;
  if (type.startsWith("list of ")) return value.map((item) => written(item, type.slice(8), "")).join("\n") || "none";
  if (type === "Word") return `${value[0]}  ${value[1] / 1000} – ${value[2] / 1000} ms`;
  if (data.types[type]) return data.types[type].map((name, index) => `${name}: ${plain(value[index])}`).join("\n");
  if (unit === "µs") return `${(value / 1e6).toFixed(3)} s`;
  if (typeof value === "object") return Object.entries(value).map(([name, item]) => `${name}: ${plain(item)}`).join("\n") || "none";
  return unit ? `${value} ${unit}` : String(value);
}

const plain = (value) => (Array.isArray(value) ? value.map(plain).join(", ") : String(value));

const eventTable = {
  box: byId("rows"),
  shown: data.events,
  opened: new Map(),
  texts: [],
  effects: null,
  target: null,

  start() {
    const counts = new Map();
    for (const event of data.events) counts.set(event[KIND], (counts.get(event[KIND]) || 0) + 1);
    byId("kind").append(el("option", { value: "" }, "Every kind"));
    data.kinds.forEach((kind, index) => byId("kind").append(el("option", { value: String(index) }, `${kind.kind}  (${counts.get(index)})`)));
    this.sizer = el("div", { "aria-hidden": "true" });
    this.box.append(this.sizer);
    this.box.addEventListener("scroll", () => this.paint(), { passive: true });
    this.box.addEventListener("keydown", (event) => this.key(event));
    byId("search").addEventListener("input", () => this.filter());
    for (const id of ["kind", "origin"]) byId(id).addEventListener("change", () => this.filter());
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    addEventListener("hashchange", () => this.fromAddress());
    this.filter();
  },

  // --- which ---

  text(event) {
    this.texts[event[SEQ]] ??= `${data.kinds[event[KIND]].kind} ${event[SEQ]} ${JSON.stringify(event.slice(FIRST))}`.toLowerCase();
    return this.texts[event[SEQ]];
  },

  filter() {
    const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const kind = byId("kind").value, origin = byId("origin").value;
    this.shown = data.events.filter((event) =>
      (kind === "" || event[KIND] === Number(kind))
      && (origin === "" || data.kinds[event[KIND]].origin === origin)
      && words.every((word) => this.text(event).includes(word)));
    const all = data.events.length.toLocaleString("en");
    byId("matches").textContent = this.shown.length === data.events.length ? `${all} events` : `${this.shown.length.toLocaleString("en")} of ${all} events`;
    byId("table").setAttribute("aria-rowcount", String(this.shown.length + 1));
    this.box.scrollTop = 0;
    this.paint();
  },

  find(seq) { return lowerBound(this.shown, seq, (event) => event[SEQ]); },

  // --- where ---

  get rowHeight() { return narrowPage.matches ? 67 : 41; },

  /** Where row `index` begins: rows of one height, and below some of them their fields. */
  offset(index) {
    let extra = 0;
    for (const [seq, height] of this.opened) {
      const place = this.find(seq);
      if (place < index && this.shown[place]?.[SEQ] === seq) extra += height;
    }
    return index * this.rowHeight + extra;
  },

  indexAt(top) {
    let low = 0, high = this.shown.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.offset(middle) <= top) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  },

  // --- painting ---

  paint() {
    const first = Math.max(0, this.indexAt(this.box.scrollTop) - 4);
    const last = Math.min(this.shown.length, this.indexAt(this.box.scrollTop + this.box.clientHeight) + 5);
    const focused = document.activeElement?.closest?.(".line")?.dataset.seq;
    const lines = [];
    for (let index = first; index < last; index++) lines.push(this.line(index));
    this.sizer.style.height = `${this.offset(this.shown.length)}px`;
    this.box.replaceChildren(this.sizer, ...lines);
    if (!this.shown.length) this.box.append(el("p", { class: "none" }, "No event matches. Search in fewer words or choose every kind."));
    this.measure(lines);
    if (focused !== undefined) this.box.querySelector(`[data-seq="${focused}"] .kind`)?.focus({ preventScroll: true });
  },

  /** Opened rows are as high as their fields turn out to be. */
  measure(lines) {
    let changed = false;
    for (const line of lines) {
      const seq = Number(line.dataset.seq), fields = line.querySelector(".fields");
      if (!fields || this.opened.get(seq) === fields.offsetHeight) continue;
      this.opened.set(seq, fields.offsetHeight);
      changed = true;
    }
    if (!changed) return;
    for (const line of lines) line.style.top = `${this.offset(Number(line.dataset.index))}px`;
    this.sizer.style.height = `${this.offset(this.shown.length)}px`;
  },

  line(index) {
    const event = this.shown[index], kind = data.kinds[event[KIND]], seq = event[SEQ];
    const open = this.opened.has(seq);
    const name = el("button", { class: "kind", type: "button", "aria-expanded": String(open), title: kind.origin }, kind.kind);
    name.style.setProperty("--tint", `var(--${tints[kind.kind.split(".")[0]] || "soft"})`);
    const row = el("div", { class: "row", role: "row", "aria-rowindex": String(index + 2) },
      el("span", { class: "number", role: "cell" }, eventLink(seq, String(seq))),
      el("span", { class: "time", role: "cell" }, clock(event[T], 2)),
      el("span", { class: "name", role: "cell" }, name),
      el("span", { class: "what", role: "cell" }, ...this.what(event, kind)),
      el("span", { class: "cause", role: "cell" }, event[CAUSE] === null ? "" : el("a", { href: `#seq=${event[CAUSE]}`, title: `caused by event ${event[CAUSE]}` }, `← ${event[CAUSE]}`)));
    row.addEventListener("click", (click) => { if (!click.target.closest("a")) this.toggle(seq); });
    const line = el("div", { class: `line ${kind.origin}${seq === this.target ? " target" : ""}`, "data-seq": String(seq), "data-index": String(index) }, row);
    line.style.top = `${this.offset(index)}px`;
    if (open) line.append(this.fields(event, kind));
    return line;
  },

  /** The fields in short: texts first, as they say most. */
  what(event, kind) {
    const parts = kind.fields.map(([name, type, unit, personal], index) => ({ name, type, unit, personal, value: event[FIRST + index] }))
      .filter(({ type, value }) => type !== "Span" && type !== "CallSettings" && !type.startsWith("list of ") && value !== "" && value !== null && typeof value !== "object")
      .sort((a, b) => b.personal - a.personal);
    return parts.flatMap(({ name, type, unit, personal, value }) => (personal ? [el("b", {}, remote.of(value))] : [el("i", {}, name), written(value, type, unit)]));
  },

  fields(event, kind) {
    const list = el("dl");
    kind.fields.forEach(([name, type, unit], index) => list.append(el("dt", {}, name), el("dd", {}, remote.of(written(event[FIRST + index], type, unit)))));
    if (!kind.fields.length) list.append(el("dt", {}, "no fields"));
    const links = el("p", { class: "links-out" });
    const seek = el("a", { href: `#seq=${event[SEQ]}` }, "Go there in the timeline");
    seek.addEventListener("click", () => player.seek(event[T]));
    links.append(seek);
    if (event[CAUSE] !== null) links.append("Caused by ", eventLink(event[CAUSE], String(event[CAUSE])));
    const caused = this.causedBy(event[SEQ]);
    if (caused.length) links.append("Caused ", ...caused.slice(0, 24).map((seq) => eventLink(seq, String(seq))), caused.length > 24 ? `and ${caused.length - 24} more` : "");
    return el("div", { class: "fields" }, el("p", { class: "says" }, `${kind.says} ${kind.origin === "input" ? "An input event." : "A derived event."}`), list, links);
  },

  causedBy(seq) {
    if (!this.effects) {
      this.effects = new Map();
      for (const event of data.events) {
        if (event[CAUSE] === null) continue;
        if (!this.effects.has(event[CAUSE])) this.effects.set(event[CAUSE], []);
        this.effects.get(event[CAUSE]).push(event[SEQ]);
      }
    }
    return this.effects.get(seq) || [];
  },

  // --- acting ---

  toggle(seq) {
    if (this.opened.has(seq)) this.opened.delete(seq);
    else this.opened.set(seq, 0);
    this.paint();
  },

  key(event) {
    const line = event.target.closest(".line");
    if (!line || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
    event.preventDefault();
    const index = Number(line.dataset.index) + (event.key === "ArrowDown" ? 1 : -1);
    if (!this.shown[index]) return;
    const top = this.offset(index), bottom = this.offset(index + 1);
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    if (bottom > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = bottom - this.box.clientHeight;
    this.paint();
    this.box.querySelector(`[data-seq="${this.shown[index][SEQ]}"] .kind`)?.focus({ preventScroll: true });
  },

  /** `#seq=123` in the address: that event, opened, in the middle of the table. */
  fromAddress() {
    const match = /^#seq=(\d+)$/.exec(location.hash);
    if (!match || !data.events[Number(match[1])]) return;
    const seq = Number(match[1]);
    if (this.shown[this.find(seq)]?.[SEQ] !== seq) {
      byId("search").value = byId("kind").value = byId("origin").value = "";
      this.filter();
    }
    this.target = seq;
    if (!this.opened.has(seq)) this.opened.set(seq, 0);
    this.box.scrollTop = Math.max(0, this.offset(this.find(seq)) - this.box.clientHeight / 3);
    this.paint();
    player.seek(data.events[seq][T]);
    byId("events").scrollIntoView({ behavior: reducedMotion.matches ? "auto" : "smooth" });
  },
};
