"use strict";
// The timeline: what is in sight, its lanes, and moving about in it.

const shortestViewUs = 500000;
const mostWorkRows = 4;

/** Works in rows so that none lies over another; beyond `mostWorkRows` they do. */
function packWorks(works) {
  const rowEnds = [];
  return works.map((work) => {
    const told = work.tellings.flatMap((telling) => telling.states.map((state) => state[0]));
    const to = Math.max(work.ended_us ?? lengthUs, ...told);
    let row = rowEnds.findIndex((end) => end <= work.opened_us);
    if (row < 0) row = rowEnds.length < mostWorkRows ? rowEnds.length : mostWorkRows - 1;
    rowEnds[row] = to + 1500000;
    return { ...work, to_us: to, row };
  });
}

const timeline = {
  board: byId("board"),
  canvas: byId("lanes"),
  overview: byId("overview"),
  view: { from: 0, to: lengthUs, left: 0, right: 0 },
  lanes: [],
  hits: [],
  selected: null,
  works: packWorks(story.works),
  whole: null,

  // --- layout ---

  layOut() {
    const narrow = narrowPage.matches;
    const caption = narrow ? 15 : 0;
    const rows = 1 + Math.max(-1, ...this.works.map((work) => work.row));
    const heights = [
      ["wave", "", envelopes.caller ? (narrow ? 104 : 132) : 0],
      ["caller", "Caller", 18 + 3 * lineHeight + caption],
      ["agent", "Agent", 18 + 3 * lineHeight + caption],
      ["floor", "Floor", 34 + caption],
      ["work", "Work", rows ? rows * 32 + 8 + caption : 0],
      ["wire", "Line", 34 + caption],
    ];
    let y = 28;
    this.lanes = heights.filter(([, , height]) => height).map(([key, label, height]) => {
      const lane = { key, label, y, height, top: y + caption };
      y += height;
      return lane;
    });
    this.height = y + 4;
    this.view.left = narrow ? 0 : 76;
    this.view.right = this.board.clientWidth;
    this.whole = null;
    this.sized(this.canvas, this.height);
    this.sized(this.overview, 52);
    this.paint();
  },

  sized(canvas, height) {
    const ratio = window.devicePixelRatio || 1;
    const width = this.board.clientWidth;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
  },

  x(us) {
    const { from, to, left, right } = this.view;
    return left + (us - from) / (to - from) * (right - left);
  },

  at(x) {
    const { from, to, left, right } = this.view;
    return from + (x - left) / (right - left) * (to - from);
  },

  show(from, to) {
    const span = Math.min(Math.max(to - from, shortestViewUs), lengthUs);
    const start = Math.min(Math.max(0, from), lengthUs - span);
    Object.assign(this.view, { from: start, to: start + span });
    pointing.hide();
    this.repaint();
  },

  zoom(factor, around = this.inSight(player.us) ? player.us : (this.view.from + this.view.to) / 2) {
    const span = Math.min(Math.max((this.view.to - this.view.from) * factor, shortestViewUs), lengthUs);
    const share = (around - this.view.from) / (this.view.to - this.view.from);
    this.show(around - share * span, around - share * span + span);
  },

  pan(us) { this.show(this.view.from + us, this.view.to + us); },

  inSight(us) { return us >= this.view.from && us <= this.view.to; },

  bring(us) {
    const span = this.view.to - this.view.from;
    if (us < this.view.from + span * 0.04 || us > this.view.to - span * 0.1) this.show(us - span * 0.25, us + span * 0.75);
  },

  // --- painting ---

  repaint() {
    if (this.due) return;
    this.due = requestAnimationFrame(() => { this.due = 0; this.paint(); });
  },

  paint() {
    const ctx = this.canvas.getContext("2d");
    const { view } = this;
    const x = (us) => this.x(us);
    this.hits = [];
    ctx.clearRect(0, 0, view.right, this.height);
    ctx.save();
    ctx.beginPath();
    ctx.rect(view.left, 0, view.right - view.left, this.height);
    ctx.clip();
    paintRuler(ctx, view, x, 0, this.height);
    this.paintBands(ctx);
    for (const lane of this.lanes) lanePainters[lane.key](ctx, lane, view, x, (hit) => this.hits.push(hit));
    ctx.restore();
    this.paintLabels(ctx);
    this.paintOverview();
    this.placePlayhead();
  },

  /** Gaps, holds and faults concern every lane. */
  paintBands(ctx) {
    for (const mark of story.marks) {
      if (mark.to_us < this.view.from || mark.from_us > this.view.to) continue;
      const x0 = this.x(mark.from_us), x1 = Math.max(x0 + 1.5, this.x(mark.to_us));
      if (mark.kind === "hold") ctx.fillStyle = theme.wash;
      else if (mark.kind === "gap") ctx.fillStyle = theme.hatch(ctx, theme.line);
      else continue;
      ctx.fillRect(x0, 28, x1 - x0, this.height);
    }
  },

  paintLabels(ctx) {
    ctx.textAlign = "left";
    for (const lane of this.lanes) {
      ctx.fillStyle = theme.line;
      ctx.fillRect(0, lane.y, this.view.right, 1);
      if (!lane.label) continue;
      ctx.fillStyle = theme[lane.key];
      ctx.font = `${this.view.left ? 600 : 500} ${this.view.left ? 12.5 : 11}px ${theme.sans}`;
      ctx.fillText(lane.label, 16, lane.y + (this.view.left ? 20 : 14));
    }
  },

  paintOverview() {
    const ctx = this.overview.getContext("2d");
    const width = this.view.right;
    const place = (us) => us / lengthUs * width;
    ctx.clearRect(0, 0, width, 52);
    const x0 = place(this.view.from), x1 = Math.max(x0 + 3, place(this.view.to));
    if (!this.whole) this.whole = this.paintWhole(width);
    ctx.drawImage(this.whole, 0, 0, width, 52);
    ctx.globalAlpha = 0.72;
    ctx.fillStyle = theme.panel;
    ctx.fillRect(0, 0, x0, 52);
    ctx.fillRect(x1, 0, width - x1, 52);
    ctx.globalAlpha = 1;
    if (x1 - x0 < width - 1) {
      ctx.strokeStyle = theme.soft;
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      ctx.roundRect(x0 + 0.75, 1.5, x1 - x0 - 1.5, 49, 4);
      ctx.stroke();
    }
    ctx.fillStyle = theme.ink;
    ctx.fillRect(place(player.us), 0, 1, 52);
  },

  /** The whole call, small: painted once and kept, since it is shown again at every step of the playhead. */
  paintWhole(width) {
    const canvas = el("canvas");
    this.sized(canvas, 52);
    const ctx = canvas.getContext("2d");
    const view = { from: 0, to: lengthUs };
    const place = (us) => us / lengthUs * width;
    if (envelopes.caller) {
      paintWave(ctx, envelopes.caller, view, 0, width, 26, -20, theme.caller);
      paintWave(ctx, envelopes.agent, view, 0, width, 26, 20, theme.agent);
    } else {
      for (const [from, to] of story.voices) bar(ctx, place(from), place(to), 16, 8, theme.caller);
      for (const said of story.utterances) for (const [from, to] of said.parts) bar(ctx, place(from), place(to), 28, 8, theme.agent);
    }
    ctx.fillStyle = theme.floor;
    for (const taken of story.yields) ctx.fillRect(Math.round(place(taken.t_us)), 0, 1.5, 5);
    ctx.fillStyle = theme.fault;
    for (const mark of story.marks) if (mark.weight === "fault") ctx.fillRect(Math.round(place(mark.from_us)), 45, 2, 7);
    return canvas;
  },

  placePlayhead() {
    const x = this.x(player.us);
    byId("playhead").hidden = x < this.view.left - 1 || x > this.view.right;
    byId("playhead").style.transform = `translateX(${x}px)`;
  },

  // --- what is where ---

  hit(x, y, reach) {
    let best = null, least = Infinity;
    for (const hit of this.hits) {
      const dx = Math.max(hit.x0 - x, x - hit.x1, 0), dy = Math.max(hit.y0 - y, y - hit.y1, 0);
      const size = dx * 4 + dy * 8 + Math.min(hit.x1 - hit.x0, 400) / 400;
      if (dx <= reach && dy <= reach / 2 && size < least) { best = hit; least = size; }
    }
    return best;
  },

  select(hit) {
    this.selected = hit;
    const box = byId("detail");
    box.replaceChildren();
    if (!hit) {
      const help = narrowPage.matches
        ? "Tap to go there, drag to move, pinch to zoom."
        : "Click to go there, drag to move, Ctrl + wheel to zoom, space to play, [ and ] for the moments that matter.";
      box.append(el("span", {}, help));
      return;
    }
    const { title, time, text, unheard, fate } = hit.says;
    box.append(el("span", { class: "title" }, title), el("span", { class: "mono" }, time));
    if (text || unheard) box.append(saidText(text, unheard));
    if (fate) box.append(el("span", {}, fate));
    if (hit.seq !== undefined) box.append(eventLink(hit.seq));
  },

  /** In one sentence what goes on at a time, for those who do not see the lanes. */
  spokenAt(us) {
    const during = (item) => item.from_us <= us && us < item.to_us;
    const parts = [clock(us)];
    const heard = story.heard.find(during), said = story.utterances.find(during), floor = story.floor.find(during);
    if (heard) parts.push(`caller: ${heard.text}`);
    if (said) parts.push(`agent: ${said.sent}`);
    if (floor) parts.push(`floor: ${floor.holder}`);
    for (const mark of story.marks) if (Math.abs(mark.from_us - us) < 100000) parts.push(mark.text);
    return parts.join(", ");
  },
};

/** What is worth jumping to, in order. */
const moments = [
  ...story.yields.map((taken) => taken.t_us),
  ...story.utterances.filter((said) => said.unsent).map((said) => said.to_us),
  ...story.marks.filter((mark) => mark.weight !== "note" && mark.kind !== "loss").map((mark) => mark.from_us),
  ...story.works.flatMap((work) => (work.ended_us === null ? [] : [work.ended_us])),
].sort((a, b) => a - b);

function jump(direction) {
  const beyond = moments.filter((us) => (direction > 0 ? us > player.us + 100000 : us < player.us - 100000));
  if (beyond.length) player.seek(direction > 0 ? beyond[0] : beyond.at(-1));
}
