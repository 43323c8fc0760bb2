"use strict";
// What every part of the page stands on: the data, the writing of times, building elements, the player.
// Texts come from callers: elements are built with text nodes only, never from markup.

const data = JSON.parse(document.getElementById("data").textContent);
const story = data.story;
const lengthUs = Math.max(story.length_us, 20000);
const byId = (id) => document.getElementById(id);
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
const narrowPage = matchMedia("(max-width: 720px)");

/** An element with properties (`class`, `data-*`, `aria-*` and `role` as attributes) and children (text or elements). */
function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") made.className = value;
    else if (name.includes("-") || name === "role") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

/** A place on the call's clock, "1:04.2" or "1:02:04.2"; `digits` after the point. */
function clock(us, digits = 1) {
  const unit = 10 ** digits;
  const ticks = Math.floor(Math.max(0, us) / 1e6 * unit + 1e-6);
  const seconds = Math.floor(ticks / unit);
  const pad = (number, width = 2) => String(number).padStart(width, "0");
  const minutes = Math.floor(seconds / 60) % 60;
  const hours = Math.floor(seconds / 3600);
  const head = hours ? `${hours}:${pad(minutes)}` : String(minutes);
  return `${head}:${pad(seconds % 60)}${digits ? "." + pad(ticks % unit, digits) : ""}`;
}

/** A length of time: "340 ms", "2.4 s", "1:04". */
function lasting(us) {
  if (us < 1e6) return `${Math.round(us / 1000)} ms`;
  return us < 60e6 ? `${(us / 1e6).toFixed(1)} s` : clock(us, 0);
}

/** The first place in a list sorted by `key` at which `key(item) >= value`. */
function lowerBound(list, value, key) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(list[middle]) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Where we are in the call, and the sound that goes with it. */
const player = {
  us: 0,
  audio: byId("audio"),
  listeners: [],
  get playing() { return !this.audio.paused && !this.audio.ended; },
  onMove(listener) { this.listeners.push(listener); },
  moved(by) { for (const listener of this.listeners) listener(this.us, by); },
  seek(us) {
    this.us = Math.min(Math.max(0, us), lengthUs);
    if (this.audio.readyState > 0) this.audio.currentTime = this.us / 1e6;
    this.moved("seek");
  },
  toggle() {
    if (byId("play").disabled) return;
    if (this.playing) return void this.audio.pause();
    if (this.us >= lengthUs - 50000) this.seek(0);
    this.audio.play().catch(() => this.noSound());
  },
  follow() {
    if (!this.playing) return;
    this.us = Math.min(this.audio.currentTime * 1e6, lengthUs);
    this.moved("play");
    requestAnimationFrame(() => this.follow());
  },
  noSound() {
    byId("play").disabled = true;
    byId("silent").hidden = false;
  },
  start() {
    const { audio } = this;
    const show = () => {
      byId("play").classList.toggle("playing", this.playing);
      byId("play").setAttribute("aria-pressed", String(this.playing));
      byId("play").setAttribute("aria-label", this.playing ? "Pause" : "Play");
    };
    for (const name of ["play", "pause", "ended"]) audio.addEventListener(name, show);
    audio.addEventListener("play", () => this.follow());
    audio.addEventListener("loadedmetadata", () => { audio.currentTime = this.us / 1e6; });
    audio.addEventListener("error", () => this.noSound());
    byId("play").addEventListener("click", () => this.toggle());
    this.onMove((us) => { byId("now").textContent = clock(us); });
    byId("total").textContent = `/ ${clock(lengthUs)}`;
    if (data.audio) audio.src = data.audio;
    else this.noSound();
  },
};

/** A name or number with all but its end hidden. */
function masked(text) {
  const number = /^\+?[\d\s()/.-]{5,}$/.test(text);
  const hidden = "•".repeat(Math.max(3, Math.min(8, text.length - (number ? 5 : 1))));
  return number ? text.slice(0, 3) + hidden + text.slice(-2) : text.slice(0, 1) + hidden;
}

/** The other end of the line is shown in full only when asked for. */
const remote = {
  shown: data.redacted,
  of(text) { return this.shown || text !== story.remote ? text : masked(text); },
};

/** Shows the event `seq` in the table and remembers it in the address. */
function eventLink(seq, text = `event ${seq}`) {
  return el("a", { href: `#seq=${seq}` }, text);
}
