"use strict";
// Without this script the file is a page to read: every slide with its notes below it.
(() => {
  const root = document.documentElement;
  const turns = [...document.querySelectorAll(".turn")];
  const bar = document.querySelector("nav");
  const keys = document.querySelector("dialog");
  const clock = document.querySelector(".clock");
  const speaking = location.search === "?speaker";
  let place = 0;
  let started = null;
  let peer = speaking ? opener : null;

  const find = () => turns.findIndex((turn) => `#${turn.id}` === location.hash);
  const show = (view) => {
    root.dataset.view = view;
    for (const name of ["notes", "all"]) {
      bar.querySelector(`[data-do="${name}"]`).setAttribute("aria-pressed", String(view === name));
    }
    if (view === "all") turns[place].scrollIntoView();
  };
  const turn = (to, told) => {
    const next = Math.max(0, Math.min(turns.length - 1, to));
    if (next !== place) started ??= Date.now();
    place = next;
    turns.forEach((each, i) => each.classList.toggle("current", i === place));
    if (find() !== place) history.replaceState(null, "", `#${turns[place].id}`);
    for (const notes of turns[place].querySelectorAll(".notes")) notes.scrollTop = 0;
    if (root.dataset.view === "all") turns[place].scrollIntoView();
    if (!told && peer && !peer.closed) peer.postMessage({ place }, "*");
  };
  const doings = {
    on: () => turn(place + 1),
    back: () => turn(place - 1),
    first: () => turn(0),
    last: () => turn(turns.length - 1),
    notes: () => show(root.dataset.view === "notes" ? "deck" : "notes"),
    all: () => show(root.dataset.view === "all" ? "deck" : "all"),
    theme: () => {
      const dark = root.dataset.theme
        ? root.dataset.theme === "dark"
        : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
    },
    speaker: () => {
      if (speaking) return;
      const address = location.href.replace(/[?#].*$/, "");
      peer = open(`${address}?speaker#${turns[place].id}`, "speaker", "width=1200,height=760");
    },
    full: () => (document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen()),
    help: () => (keys.open ? keys.close() : keys.showModal()),
  };
  const bound = {
    ArrowRight: "on", ArrowDown: "on", PageDown: "on", " ": "on",
    ArrowLeft: "back", ArrowUp: "back", PageUp: "back", Home: "first", End: "last",
    n: "notes", a: "all", t: "theme", s: "speaker", f: "full", "?": "help",
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
    const reading = root.dataset.view === "all" && /^(Arrow|Page|Home|End| )/.test(event.key);
    if (reading || (event.target.closest("button, a") && event.key === " ")) return;
    const name = bound[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!name) return;
    event.preventDefault();
    doings[name]();
  });
  bar.addEventListener("click", (event) => {
    const name = event.target.dataset.do;
    if (name) doings[name]();
  });
  addEventListener("message", (event) => {
    // From the other window of this talk and nobody else.
    if (peer && event.source === peer && Number.isInteger(event.data?.place)) {
      turn(event.data.place, true);
    }
  });
  addEventListener("hashchange", () => { if (find() >= 0) turn(find()); });
  let fading;
  addEventListener("mousemove", () => {
    bar.classList.add("moved");
    clearTimeout(fading);
    fading = setTimeout(() => bar.classList.remove("moved"), 2000);
  });
  let from = null;
  addEventListener("touchstart", (event) => { from = event.touches[0].clientX; }, { passive: true });
  addEventListener("touchend", (event) => {
    const way = event.changedTouches[0].clientX - from;
    if (root.dataset.view !== "all" && Math.abs(way) > 60) turn(place + (way < 0 ? 1 : -1));
  });
  setInterval(() => {
    const seconds = started ? Math.floor((Date.now() - started) / 1000) : 0;
    clock.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  }, 1000);

  bar.hidden = false;
  show(speaking ? "notes" : "deck");
  turn(Math.max(0, find()), true);
})();
