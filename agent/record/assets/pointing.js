"use strict";
// Pointer, wheel and keyboard on the timeline.

/** Heard text, then what was never heard, faded and struck. */
function saidText(text, unheard) {
  const line = el("span", { class: "text" }, text);
  if (unheard) line.append(text ? " " : "", el("s", { class: "unheard" }, el("span", { class: "unseen" }, "never heard: "), unheard));
  return line;
}

const pointing = {
  pointers: new Map(),
  moved: false,

  start() {
    const { board, overview } = timeline;
    board.addEventListener("pointerdown", (event) => this.down(event));
    board.addEventListener("pointermove", (event) => this.move(event));
    board.addEventListener("pointerup", (event) => this.up(event));
    board.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    board.addEventListener("pointerleave", () => this.hide());
    board.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    board.addEventListener("dblclick", (event) => timeline.zoom(0.5, timeline.at(event.offsetX)));
    board.addEventListener("keydown", (event) => this.key(event));
    overview.addEventListener("pointerdown", (event) => this.grab(event));
    overview.addEventListener("pointermove", (event) => this.drag(event));
    document.addEventListener("keydown", (event) => this.anywhere(event));
    byId("zoom-in").addEventListener("click", () => timeline.zoom(0.6));
    byId("zoom-out").addEventListener("click", () => timeline.zoom(1 / 0.6));
    byId("zoom-all").addEventListener("click", () => timeline.show(0, lengthUs));
    byId("previous").addEventListener("click", () => jump(-1));
    byId("next").addEventListener("click", () => jump(1));
  },

  place(event) {
    const box = timeline.board.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  },

  down(event) {
    if (event.button) return;
    timeline.board.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.place(event));
    if (this.pointers.size === 1) Object.assign(this, { moved: false, began: this.place(event) });
  },

  move(event) {
    const here = this.place(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) return void (event.pointerType === "mouse" && this.point(here));
    const perPixel = (timeline.view.to - timeline.view.from) / (timeline.view.right - timeline.view.left);
    if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const gap = Math.max(12, Math.abs(here.x - other.x)), gapBefore = Math.max(12, Math.abs(before.x - other.x));
      timeline.zoom(gapBefore / gap, timeline.at((here.x + other.x) / 2));
      this.moved = true;
    } else if (this.moved || Math.abs(here.x - this.began.x) > 4) {
      this.moved = true;
      timeline.board.classList.add("dragging");
      timeline.pan((before.x - here.x) * perPixel);
      this.hide();
    }
    this.pointers.set(event.pointerId, here);
  },

  up(event) {
    this.pointers.delete(event.pointerId);
    timeline.board.classList.remove("dragging");
    if (this.moved || !this.began) return;
    const { x, y } = this.place(event);
    const hit = timeline.hit(x, y, event.pointerType === "touch" ? 16 : 4);
    timeline.select(hit);
    if (x >= timeline.view.left) player.seek(timeline.at(x));
  },

  /** The line under the pointer, and what it points at. */
  point({ x, y }) {
    byId("hover").hidden = x < timeline.view.left;
    byId("hover").style.transform = `translateX(${Math.round(x)}px)`;
    const hit = timeline.hit(x, y, 4);
    const tip = byId("tip");
    tip.hidden = !hit;
    if (!hit) return;
    if (this.shown !== hit) {
      const { title, time, text, unheard, fate } = hit.says;
      tip.replaceChildren(el("p", {}, el("span", { class: "title" }, title)), el("p", { class: "time mono" }, time));
      if (text || unheard) tip.append(el("p", {}, saidText(text, unheard)));
      if (fate) tip.append(el("p", { class: "fate" }, fate));
      this.shown = hit;
    }
    const left = Math.min(x + 14, timeline.view.right - tip.offsetWidth - 8);
    const top = y + 18 + tip.offsetHeight > timeline.height ? y - tip.offsetHeight - 12 : y + 18;
    tip.style.transform = `translate(${Math.max(8, left)}px, ${top}px)`;
  },

  hide() {
    byId("hover").hidden = byId("tip").hidden = true;
  },

  wheel(event) {
    const perPixel = (timeline.view.to - timeline.view.from) / (timeline.view.right - timeline.view.left);
    const scale = event.deltaMode ? 16 : 1;
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (event.ctrlKey || event.metaKey || event.altKey) {
      timeline.zoom(Math.exp(Math.max(-80, Math.min(80, event.deltaY * scale)) * 0.006), timeline.at(this.place(event).x));
    } else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
      timeline.pan(sideways * scale * perPixel);
    } else return;
    event.preventDefault();
    this.hide();
  },

  grab(event) {
    timeline.overview.setPointerCapture(event.pointerId);
    const us = this.inOverview(event);
    const span = timeline.view.to - timeline.view.from;
    if (!timeline.inSight(us)) timeline.show(us - span / 2, us + span / 2);
    this.grip = us - timeline.view.from;
  },

  drag(event) {
    if (!timeline.overview.hasPointerCapture(event.pointerId)) return;
    const from = this.inOverview(event) - this.grip;
    timeline.show(from, from + timeline.view.to - timeline.view.from);
  },

  inOverview(event) {
    const box = timeline.overview.getBoundingClientRect();
    return (event.clientX - box.left) / box.width * lengthUs;
  },

  key(event) {
    const step = event.shiftKey ? 5e6 : 1e6;
    const acts = {
      ArrowLeft: () => player.seek(player.us - step),
      ArrowRight: () => player.seek(player.us + step),
      ArrowUp: () => timeline.zoom(0.6),
      ArrowDown: () => timeline.zoom(1 / 0.6),
      PageUp: () => player.seek(player.us - 30e6),
      PageDown: () => player.seek(player.us + 30e6),
      Home: () => player.seek(0),
      End: () => player.seek(lengthUs),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !acts[event.key]) return;
    acts[event.key]();
    event.preventDefault();
  },

  anywhere(event) {
    const busy = event.target.closest("input, select, textarea");
    if (busy || event.ctrlKey || event.metaKey || event.altKey) return;
    const acts = { "+": () => timeline.zoom(0.6), "=": () => timeline.zoom(0.6), "-": () => timeline.zoom(1 / 0.6), 0: () => timeline.show(0, lengthUs), "[": () => jump(-1), "]": () => jump(1) };
    if (event.key === " " && !event.target.closest("button, a, [role=row]")) player.toggle();
    else if (acts[event.key]) acts[event.key]();
    else return;
    event.preventDefault();
  },
};
