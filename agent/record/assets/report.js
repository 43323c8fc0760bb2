"use strict";
// The head of the page, and the start of everything.

function startHead() {
  document.title = `${data.headline.replace(/\.$/, "")} · call ${story.call_id}`;
  byId("headline").textContent = data.headline;
  byId("call-id").textContent = story.call_id;
  const fact = (name, ...value) => byId("facts").append(el("li", {}, el("span", { class: "name" }, name), ...value));
  fact("when", data.when);
  fact("length", data.length);
  fact("line", `${story.line}, ${story.direction}`);
  const who = el("span", {}, remote.of(story.remote));
  const reveal = el("button", { type: "button", "aria-label": "Show the number or name in full" }, "show");
  reveal.addEventListener("click", () => {
    remote.shown = true;
    who.textContent = story.remote;
    reveal.remove();
    eventTable.paint();
  });
  if (story.remote) fact(story.direction === "inbound" ? "caller" : "called", who, data.redacted ? "" : reveal);
  for (const note of data.notes) byId("notes").append(el("li", {}, note));
  byId("notes").hidden = !data.notes.length;
  for (const figure of data.figures) byId("figures").append(figureBox(figure));
  const personal = data.redacted ? "Personal texts are blocked out and there is no sound in this copy. " : "";
  byId("foot").textContent = `${personal}All times are those of the call's own clock; ${data.events.length.toLocaleString("en")} events, none left out.`;
}

function figureBox(figure) {
  const value = el("span", { class: "value" }, figure.value, figure.unit ? el("span", { class: "unit" }, figure.unit) : "");
  const box = el("div", { class: `figure ${figure.tone}` }, el("dt", {}, figure.label));
  if (figure.at_us === null) return box.append(el("dd", { class: "value" }, ...value.childNodes), el("dd", { class: "note" }, figure.note)), box;
  const button = el("button", { type: "button", class: "value", title: `Go to ${clock(figure.at_us)}` }, ...value.childNodes);
  button.addEventListener("click", () => player.seek(figure.at_us));
  box.append(el("dd", {}, button), el("dd", { class: "note" }, figure.note));
  return box;
}

function startTimeline() {
  const { board } = timeline;
  board.setAttribute("aria-valuemax", String(Math.round(lengthUs / 1e6)));
  const width = board.clientWidth;
  const first = Math.min(lengthUs, width * (narrowPage.matches ? 60000 : 40000));
  Object.assign(timeline.view, { from: 0, to: lengthUs < first * 1.7 && !narrowPage.matches ? lengthUs : first });
  player.onMove((us, by) => {
    if (by === "seek" || us > timeline.view.to) timeline.bring(us);
    timeline.placePlayhead();
    timeline.paintOverview();
    board.setAttribute("aria-valuenow", String(Math.round(us / 1e6)));
    if (by === "seek") board.setAttribute("aria-valuetext", timeline.spokenAt(us));
  });
  theme.read();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { theme.read(); timeline.layOut(); });
  new ResizeObserver(() => { timeline.layOut(); eventTable.paint(); }).observe(board);
  timeline.layOut();
  timeline.select(null);
  pointing.start();
}

startHead();
player.start();
startTimeline();
conversation.start();
eventTable.start();
player.moved("start");
addEventListener("scroll", () => {
  const bar = document.querySelector(".transport");
  bar.classList.toggle("stuck", bar.getBoundingClientRect().top <= 0);
}, { passive: true });
eventTable.fromAddress();
document.documentElement.dataset.ready = "yes";
