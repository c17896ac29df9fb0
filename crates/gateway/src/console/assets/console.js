// What makes pages follow along and answer to keys. Every page can be read and every decision made without it.
"use strict";

// A part with data-live is replaced by what the gateway renders each time that something happens.
for (const part of document.querySelectorAll("[data-live]")) {
  follow(part);
}

function follow(part) {
  const state = document.querySelector("[data-state]");
  const say = (text) => { if (state) state.textContent = text; };
  const source = new EventSource(part.dataset.live);
  source.addEventListener("open", () => say("following along"));
  source.addEventListener("error", () => say("reconnecting"));
  source.addEventListener("show", (event) => {
    const open = [...part.querySelectorAll("details")].map((one) => one.open);
    const chosen = part.querySelector("[data-selected]")?.dataset.gate;
    const focused = part.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    const scrolled = [...part.querySelectorAll(".frame")].map((one) => one.scrollLeft);
    part.replaceChildren(...new DOMParser().parseFromString(event.data, "text/html").body.childNodes);
    [...part.querySelectorAll("details")].forEach((one, place) => { one.open = open[place] ?? one.open; });
    [...part.querySelectorAll(".frame")].forEach((one, place) => { one.scrollLeft = scrolled[place] ?? 0; });
    if (chosen) select(rows().find((row) => row.dataset.gate === chosen), false);
    if (focused) [...part.querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus();
    const open_gates = part.querySelector("[data-open]")?.dataset.open;
    if (open_gates !== undefined) document.title = document.title.replace(/^(\(\d+\) )?/, Number(open_gates) ? `(${open_gates}) ` : "");
  });
}

// The queue answers to keys.
function rows() {
  return [...document.querySelectorAll("[data-gate]")];
}

function selected() {
  return document.querySelector("[data-gate][data-selected]");
}

function select(row, focus = true) {
  for (const other of rows()) delete other.dataset.selected;
  if (!row) return;
  row.dataset.selected = "";
  const link = row.querySelector("a");
  if (focus) link.focus();
  row.scrollIntoView({ block: "nearest" });
}

function step(by) {
  const all = rows();
  if (all.length === 0) return;
  const place = all.indexOf(selected());
  select(all[place < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(place + by, 0), all.length - 1)]);
}

function decide(which) {
  const field = document.querySelector(`#${which}-reason`);
  if (field) return field.focus();
  const link = selected()?.querySelector("a");
  if (link) location.assign(`${link.getAttribute("href")}#${which}-reason`);
}

const keys = {
  j: () => step(1),
  k: () => step(-1),
  Enter: () => selected()?.querySelector("a").click(),
  a: () => decide("approve"),
  d: () => decide("deny"),
  q: () => location.assign("/console/queue"),
  "?": () => document.querySelector("dialog[data-keys]")?.showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  // A dialog that was just closed keeps the focus until the next frame is drawn; nobody types into what is not shown.
  const isShown = event.target.checkVisibility();
  if (isShown && event.target.closest("input, textarea, select, button, summary, dialog")) return;
  if (event.key === "Enter" && event.target.closest("a")) return;
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

if (location.hash) document.querySelector(`[id="${CSS.escape(location.hash.slice(1))}"]`)?.focus();
