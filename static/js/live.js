// The connection of an open page, the mark that says how fresh it is, and the button that holds it still.

import { hear, instant, now, tick } from "./clock.js";
import * as regions from "./regions.js";
import { say } from "./toasts.js";

const SILENCE = 25_000; // No sign of life for so long: a half-open connection looks alive for ever.
const POLL_AFTER = 30_000;
const POLL_EVERY = 15_000;
const STALE_AFTER = 45_000;
const RETRY_MOST = 15_000;
const GAP = 500; // Between two fetches: never more than two a second.
const GAP_MOST = 5_000; // A fetch that slept along with its laptop took hours, and is no measure.
const SAY_EVERY = 10_000;
const BAD_REQUEST = 4400;

const page = document.body.dataset;
const REDRAWN_EVERY = Number(page.every ?? 30) * 1000; // What no message tells, like the passing of time, is drawn so often.
const mark = document.getElementById("live");
const button = document.getElementById("hold");
const banner = document.getElementById("stale");
const icons = Object.fromEntries((mark?.dataset.icons ?? "").split(" ").map((pair) => pair.split("=")));

let socket = null;
let caughtUp = false;
let told = 0; // Messages of news that came over this socket; the box counts along.
let heard = 0;
let downSince = Date.now();
let lostSaid = false;
let attempt = 0;
let nextTry = 0;
let good = Date.now(); // The last good answer, whichever way it came.
let started = Date.now();
let pausedAt = null;
let missed = new Set();
let timer = null;

// --- Fetching the parts that change -------------------------------------------------------------------------

let fetching = null;
let again = false;
let fetched = 0;
let took = 0;

/** Fetch what changes and draw it: one at a time, one more where asked meanwhile, never more than two a second. */
export function refresh() {
  if (!page.fragment) return Promise.resolve(false);
  if (fetching) {
    again = true;
    return fetching;
  }
  fetching = (async () => {
    let done = false;
    do {
      again = false;
      await pass(Math.max(0, fetched + Math.min(GAP_MOST, Math.max(GAP, 4 * took)) - Date.now()));
      fetched = Date.now();
      done = await draw();
      took = Date.now() - fetched;
    } while (again && done);
    fetching = null;
    return done;
  })();
  return fetching;
}

async function draw() {
  try {
    const answer = await fetch(page.fragment + location.search, {
      cache: "no-store",
      signal: AbortSignal.timeout(10_000),
    });
    if (!answer.ok || answer.redirected) return false;
    await regions.take(await answer.text());
  } catch {
    return false;
  }
  good = Date.now();
  drawTitle();
  drawOrder();
  show();
  return true;
}

const pass = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// --- The socket ---------------------------------------------------------------------------------------------

function open() {
  const url = new URL("/ws/studio/", location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  if (page.list !== undefined) url.searchParams.set("list", "");
  if (page.limit) url.searchParams.set("limit", page.limit);
  for (const limit of (page.watch ?? "").split(" ").filter(Boolean)) url.searchParams.append("watch", limit);
  url.searchParams.set("lang", document.documentElement.lang);
  if (page.mark) url.searchParams.set("mark", page.mark);
  const opened = new WebSocket(url);
  socket = opened;
  heard = Date.now();
  opened.addEventListener("message", (event) => opened === socket && receive(JSON.parse(event.data)));
  opened.addEventListener("close", (event) => opened === socket && closed(event.code));
  show();
}

function closed(code) {
  socket = null;
  caughtUp = false;
  downSince ||= Date.now();
  // What this page asks for makes no sense to the box, and will not the next time either: then by fetching alone.
  nextTry = code === BAD_REQUEST ? Infinity : Date.now() + Math.min(RETRY_MOST, 500 * 2 ** attempt) * (0.5 + Math.random() / 2);
  attempt += 1;
  show();
}

function receive(message) {
  heard = Date.now();
  good = heard;
  hear(message.now);
  if (message.type === "hello") greet(message);
  else if (message.type === "changed") change(message);
  else if (message.type === "tick" && message.n !== told) {
    told = message.n; // Something was lost on the way.
    refresh();
  }
  show();
}

async function greet({ fresh }) {
  told = 0;
  delete page.mark; // It tells how the page was drawn at first, and that once.
  const opened = socket;
  tellRows();
  if (!fresh && !(await refresh())) {
    if (opened === socket) opened.close();
    return;
  }
  if (opened !== socket) return;
  caughtUp = true;
  attempt = 0;
  downSince = null;
  if (lostSaid) say(mark.dataset.back);
  lostSaid = false;
  show();
}

function change({ pieces, limits, elsewhere, set, counts }) {
  told += 1;
  if (pausedAt) for (const limit of limits) missed.add(limit);
  if (pausedAt && elsewhere && page.list !== undefined) missed.add("");
  for (const piece of pieces) regions.draw(piece);
  const filterIsNew = counts ? regions.count(counts) : false;
  if (!pausedAt) {
    drawTitle();
    drawOrder();
    sayState();
  }
  for (const limit of limits) document.dispatchEvent(new CustomEvent("studio:limit-changed", { detail: { limit } }));
  const list = document.getElementById("limits");
  const comesOrGoes = list && (filterIsNew || list.dataset.set !== set || list.dataset.narrowed !== undefined);
  if (!pausedAt && (page.list === undefined ? limits.length : comesOrGoes)) refresh();
}

// The list says which rows it shows: of these the socket brings the drawing.
function tellRows() {
  if (page.list === undefined || socket?.readyState !== WebSocket.OPEN) return;
  const show = [...document.querySelectorAll("tr[data-limit]")].map((row) => row.dataset.limit).sort();
  const text = JSON.stringify({ show });
  if (socket.shown !== text) socket.send(text);
  socket.shown = text;
}

// --- What the page says about itself ------------------------------------------------------------------------

function state() {
  if (pausedAt) return "paused";
  if (socket?.readyState === WebSocket.OPEN && caughtUp) return "live";
  if (Date.now() - Math.max(good, started) > STALE_AFTER) return "stale";
  if (socket?.readyState === WebSocket.OPEN) return "catching";
  if (downSince && Date.now() - downSince > POLL_AFTER) return "polling";
  return attempt ? "reconnecting" : "catching";
}

function show() {
  if (!mark) return;
  const at = state();
  const seconds = Math.max(0, Math.ceil((nextTry - Date.now()) / 1000));
  const time = (date) => instant(new Date(date + now() - Date.now()));
  let text = (mark.dataset[at] ?? "").replace("{seconds}", seconds);
  if (at === "stale") text = text.replace("{time}", time(good));
  if (at === "paused") {
    text = text.replace("{time}", time(pausedAt));
    const held = missed.size === 1 ? mark.dataset.heldOne : mark.dataset.heldMany;
    if (missed.size) text += ` · ${held.replace("{n}", missed.size)}`;
  }
  mark.dataset.state = at;
  write(mark.querySelector(".live-text"), text);
  const act = mark.querySelector(".live-act");
  act.hidden = at !== "reconnecting" && at !== "stale";
  write(act, at === "stale" ? mark.dataset.retry : mark.dataset.try);
  document.documentElement.classList.toggle("is-stale", at === "stale");
  if (banner) {
    banner.hidden = at !== "stale";
    if (at === "stale") write(banner, banner.dataset.text.replace("{time}", time(good)));
  }
  if (downSince && attempt && !lostSaid && Date.now() - downSince > 5_000) {
    lostSaid = true;
    say(mark.dataset.lost);
  }
}

function drawTitle() {
  const head = document.querySelector("[data-title]");
  if (!head) return;
  const title = document.title.split(" · ").slice(1);
  document.title = [head.dataset.title, ...title.slice(-1)].join(" · ");
  const icon = document.querySelector("link[rel=icon]");
  if (icon && icons[head.dataset.icon] && icon.getAttribute("href") !== icons[head.dataset.icon]) {
    icon.href = icons[head.dataset.icon];
  }
}

// Rows never change places by themselves: where the chosen order no longer holds, a link offers to sort again.
function drawOrder() {
  tellRows();
  const list = document.getElementById("limits");
  const again = document.getElementById("order");
  if (!list || !again) return;
  const sort = list.dataset.sort ?? "";
  const key = sort.replace("-", "");
  const values = [...list.querySelectorAll("tr[data-limit]")].map((row) => Number(row.getAttribute(`data-by-${key}`)));
  const falling = (key !== "state") !== sort.startsWith("-");
  const holds = values.every((value, at) => !at || (falling ? values[at - 1] >= value : values[at - 1] <= value));
  again.hidden = !key || key === "name" || holds;
  if (!again.hidden) write(again.querySelector("span"), again.dataset.text.replace("{time}", instant(new Date(drawn))));
}
const drawn = now();

let saidState = document.querySelector("[data-said]")?.dataset.said;
let saidAt = 0;

// Of one limit's page, what its state has become; never a count, and not more often than one can listen to.
function sayState() {
  const said = document.querySelector("[data-said]")?.dataset.said;
  if (!said || said === saidState || Date.now() - saidAt < SAY_EVERY) return;
  saidState = said;
  saidAt = Date.now();
  say(said);
}

function write(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

// --- Running ------------------------------------------------------------------------------------------------

function pause() {
  pausedAt = pausedAt ? null : Date.now();
  missed = new Set();
  regions.pause(Boolean(pausedAt));
  button.textContent = pausedAt ? button.dataset.resume : button.dataset.pause;
  button.setAttribute("aria-pressed", String(Boolean(pausedAt)));
  if (!pausedAt) refresh();
  show();
}

function beat() {
  const at = Date.now();
  if (socket && at - heard > SILENCE) {
    const silent = socket;
    closed(0);
    silent.close();
  }
  if (!socket && at >= nextTry) open();
  if (downSince && at - downSince > POLL_AFTER && at - fetched > POLL_EVERY) refresh();
  if (!pausedAt) {
    const ranOut = tick();
    if (ranOut || at - fetched > REDRAWN_EVERY) refresh();
    sayState();
  }
  regions.release();
  show();
}

function start() {
  if (timer || document.hidden) return;
  timer = setInterval(beat, 1000);
  nextTry = 0;
  started = Date.now();
  downSince ||= started;
  beat();
}

function stop() {
  clearInterval(timer);
  timer = null;
  const left = socket;
  socket = null;
  caughtUp = false;
  left?.close();
}

function retry() {
  attempt = 0;
  nextTry = 0;
  downSince = Date.now();
  if (timer && !socket) open();
  refresh();
}

if (page.fragment && mark) {
  fetched = Date.now();
  const text = mark.querySelector(".live-text");
  text.textContent = "";
  button.hidden = false;
  button.addEventListener("click", pause);
  mark.querySelector(".live-act").addEventListener("click", retry);
  document.addEventListener("studio:toggle-pause", pause);
  document.addEventListener("studio:refresh", (event) => {
    event.preventDefault();
    refresh();
  });
  document.addEventListener("studio:changed", (event) => {
    event.preventDefault();
    refresh();
  });
  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : start()));
  addEventListener("pagehide", stop);
  addEventListener("pageshow", (event) => event.persisted && start());
  addEventListener("online", retry);
  start();
} else {
  setInterval(tick, 1000);
}
