"use strict";
// Painting of the timeline. Nothing here keeps state but caches; `timeline` (timeline.js) says what is to be seen.

const theme = {
  read() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["panel", "ink", "soft", "faint", "line", "grid", "wash", "caller", "agent", "floor", "work", "wire", "fault", "on-accent"]) {
      this[name] = style.getPropertyValue(`--${name}`).trim();
    }
    this.sans = style.getPropertyValue("--sans").trim();
    this.mono = style.getPropertyValue("--mono").trim();
    this.hatches = new Map();
  },
  /** A diagonal hatch of a colour. */
  hatch(ctx, colour) {
    if (!this.hatches.has(colour)) {
      const tile = el("canvas", { width: 6, height: 6 });
      const pen = tile.getContext("2d");
      pen.strokeStyle = colour;
      pen.lineWidth = 1.5;
      pen.beginPath();
      for (const shift of [-6, 0, 6]) { pen.moveTo(shift - 1, 7); pen.lineTo(shift + 7, -1); }
      pen.stroke();
      this.hatches.set(colour, ctx.createPattern(tile, "repeat"));
    }
    return this.hatches.get(colour);
  },
};

/** The envelope of one side as bytes, or null. */
function envelope(side) {
  if (!data.peaks) return null;
  const text = atob(data.peaks[side]);
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
  return bytes;
}
const envelopes = { caller: envelope("caller"), agent: envelope("agent") };

/** The loudest step of the call fills the height, unless all of it is very quiet. */
const loudest = Object.values(envelopes).reduce((most, bytes) => (bytes || []).reduce((top, value) => Math.max(top, value), most), 90);

/** The level (0..1) of a side between two times: the greatest of the steps, or between two steps the way from one to the other. */
function level(bytes, fromUs, toUs) {
  const from = fromUs / data.peaks.step_us, to = toUs / data.peaks.step_us;
  if (to - from < 1) {
    const index = Math.floor(from), part = from - index;
    return ((bytes[index] || 0) * (1 - part) + (bytes[index + 1] || 0) * part) / loudest;
  }
  let most = 0;
  for (let index = Math.max(0, Math.floor(from)); index < to && index < bytes.length; index++) most = Math.max(most, bytes[index]);
  return most / loudest;
}

/** Half a waveform standing on `base`, growing by `height` (negative: upwards), for columns `left`..`right` of `view`. */
function paintWave(ctx, bytes, view, left, right, base, height, colour) {
  const perPixel = (view.to - view.from) / (right - left);
  ctx.fillStyle = colour;
  ctx.beginPath();
  ctx.moveTo(left, base);
  for (let x = left; x <= right; x++) {
    const at = view.from + (x - left) * perPixel;
    ctx.lineTo(x, base + Math.max(0.012, level(bytes, at, at + perPixel)) * height);
  }
  ctx.lineTo(right, base);
  ctx.fill();
}

function bar(ctx, x0, x1, y, height, fill, radius = 2) {
  const width = Math.max(0.6, x1 - x0);
  ctx.fillStyle = fill;
  if (width < 3) return ctx.fillRect(x0, y, width, height);
  ctx.beginPath();
  ctx.roundRect(x0, y, width, height, Math.min(radius, width / 2, height / 2));
  ctx.fill();
}

function dashed(ctx, x0, x1, y, height, colour) {
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1;
  ctx.setLineDash([3, 2.5]);
  ctx.strokeRect(x0 + 0.5, y + 0.5, Math.max(1, x1 - x0 - 1), height - 1);
  ctx.restore();
}

/** Narrower columns of text say nothing, px. */
const leastRoom = 54;
const lineHeight = 15;

const widths = new Map();
/** The width of a text in the context's current font, px. */
function widthOf(ctx, text) {
  const key = ctx.font + text;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 20000) widths.clear();
    width = ctx.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}

/** `text`, shortened with an ellipsis to fit into `room` px; "" when nothing sensible fits. */
function fitted(ctx, text, room) {
  if (widthOf(ctx, text) <= room) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (ctx.measureText(text.slice(0, middle).trimEnd() + "…").width <= room) low = middle;
    else high = middle - 1;
  }
  return low < 2 ? "" : text.slice(0, low).trimEnd() + "…";
}

/** Words of runs (`[text, struck]`) laid out in lines of `room` px; the last line ends in "…" when more would follow. */
function wrapped(ctx, runs, room, mostLines) {
  const ellipsis = widthOf(ctx, "…");
  const words = runs.flatMap(([text, struck]) => text.split(/\s+/).filter(Boolean).map((word) => [word, struck]));
  const space = widthOf(ctx, " ");
  const lines = [[]];
  let x = 0;
  for (const [word, struck] of words) {
    let width = widthOf(ctx, word);
    if (x > 0 && x + width > room) {
      if (lines.length === mostLines) return ended(lines, room, ellipsis);
      lines.push([]);
      x = 0;
    }
    const shown = width > room ? fitted(ctx, word, room) : word;
    if (!shown) return lines;
    width = Math.min(width, room);
    lines.at(-1).push([x, shown, struck, width]);
    x += width + space;
  }
  return lines;
}

/** Lines whose last one ends in "…"; words make room for it. */
function ended(lines, room, ellipsis) {
  const last = lines.at(-1);
  while (last.length > 1 && last.at(-1)[0] + last.at(-1)[3] + ellipsis > room) last.pop();
  const [x, , , width] = last.at(-1);
  if (x + width + ellipsis <= room) last.push([x + width, "…", false, 0]);
  return lines;
}

/** Text from `x` on, in at most `mostLines` lines of `room` px, or not at all below `least` px; struck words are faded. */
function paintText(ctx, runs, x, y, room, mostLines, colour, least = leastRoom) {
  if (room < least && (room < 8 || widthOf(ctx, runs.map(([text]) => text).join(" ").trim()) > room)) return;
  wrapped(ctx, runs, room, mostLines).forEach((line, row) => {
    for (const [offset, word, struck, width] of line) paintWord(ctx, word, x + offset, y + row * lineHeight, width, struck, colour);
  });
}

function paintWord(ctx, word, x, y, width, struck, colour) {
  ctx.fillStyle = struck ? theme.faint : colour;
  ctx.fillText(word, x, y);
  if (struck) ctx.fillRect(x - 1, y - 4, width + 2, 1);
}

/** Nice distances between two times of the ruler, µs. */
const rulerSteps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600].map((seconds) => seconds * 1e6);

function paintRuler(ctx, view, x, top, bottom) {
  const wanted = 84 * (view.to - view.from) / (view.right - view.left);
  const step = rulerSteps.find((candidate) => candidate >= wanted) || rulerSteps.at(-1);
  ctx.font = `11px ${theme.mono}`;
  ctx.textAlign = "left";
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
    const place = Math.round(x(at));
    ctx.fillStyle = theme.grid;
    ctx.fillRect(place, top, 1, bottom - top);
    ctx.fillStyle = theme.faint;
    const label = clock(at, step < 1e6 ? 1 : 0);
    if (place + widthOf(ctx, label) + 5 < view.right) ctx.fillText(label, place + 5, top + 16);
  }
}
