// The parts of an open page that change, and the rule that nothing moves while somebody aims at it.
//
// A part is an element with an id and `data-region`. What has the same rows in the same order is drawn at once;
// rows that come, go or move wait while a row, a menu or a dialog is in use, and a chip tells how many.

import { settle } from "./clock.js";

const HELD_MOST = 10_000;
const TOMBSTONE = 4_000;
const FATES_MOST = 20;

const chip = document.getElementById("held");
/** Drawings that wait, by id of their part. */
const held = new Map();
let heldSince = 0;
let paused = false;

/** Hold everything back, or let it go on. */
export function pause(on) {
  paused = on;
  if (!on) held.clear();
  drawChip();
}

/** Draw a piece that the socket brought: a row or a head in its place. Nothing happens if it is not on the page. */
export function draw({ id, html }) {
  const target = document.getElementById(id);
  if (target && !paused) swap(target, html);
}

/** Write the counts of the filters, as the socket brought them; return whether one of them is not on the page yet. */
export function count(counts) {
  if (paused) return false;
  for (const element of document.querySelectorAll("[data-count]")) {
    const number = counts[element.dataset.count];
    if (number !== undefined) write(element, number.toLocaleString(document.documentElement.lang));
  }
  return Object.entries(counts).some(([key, number]) => number && !document.querySelector(`[data-count="${key}"]`));
}

/** Take the drawing of all parts: show it, or hold back what would move under somebody's hand. */
export async function take(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html");
  for (const region of fresh.querySelectorAll("[data-region]")) {
    const shown = document.getElementById(region.id);
    if (!shown) continue;
    held.delete(region.id);
    if (region.dataset.sort) keepOrder(shown, region);
    if (rows(shown).length + rows(region).length) await bury(shown, region);
    if (moves(shown, region) && (paused || aims(shown))) hold(region);
    else if (!paused) swap(shown, region.outerHTML);
  }
  drawChip();
}

/** Show what waits, if nobody aims any more; `now` asks no question. Called with every second that passes. */
export function release(now = false) {
  for (const grave of document.querySelectorAll(".tombstone[data-since]")) {
    const since = Number(grave.dataset.since);
    if (Date.now() - since >= TOMBSTONE && !aims(grave.closest("[data-region]"), since)) grave.remove();
  }
  if (paused && !now) return;
  for (const [id, region] of held) {
    const shown = document.getElementById(id);
    if (!now && shown && aims(shown)) continue;
    held.delete(id);
    if (shown) swap(shown, region.outerHTML);
  }
  drawChip();
}

/** How many rows wait to come, to go or to move. */
export function waiting() {
  let number = 0;
  for (const [id, region] of held) {
    const shown = new Set(rows(document.getElementById(id)).map((row) => row.id));
    const next = new Set(rows(region).map((row) => row.id));
    const changed = [...shown.symmetricDifference(next)].length;
    number += changed || 1;
  }
  return number;
}

// A chosen order is one of a moment: rows that stay keep their places, new ones come where they belong now.
function keepOrder(shown, next) {
  const order = new Map(rows(shown).map((row, at) => [row.id, at]));
  const staying = rows(next).filter((row) => order.has(row.id));
  const places = staying.map((row) => {
    const place = next.ownerDocument.createComment("");
    row.replaceWith(place);
    return place;
  });
  staying.sort((one, other) => order.get(one.id) - order.get(other.id));
  places.forEach((place, at) => place.replaceWith(staying[at]));
}

function rows(region) {
  return region ? [...region.querySelectorAll("tbody > tr[id]")] : [];
}

function moves(shown, next) {
  const order = (region) => rows(region).map((row) => row.id).join(" ");
  return order(shown) !== order(next);
}

// Without limit while something is open or selected; at most ten seconds while the pointer or the focus rests on a row.
function aims(region, since = heldSince) {
  if (document.querySelector("dialog[open], #panel:not([hidden]), details.menu[open]")) return true;
  const selection = getSelection();
  if (selection && !selection.isCollapsed && region.contains(selection.anchorNode)) return true;
  if (since && Date.now() - since > HELD_MOST) return false;
  return Boolean(region.querySelector("tbody tr:hover, tbody :focus-visible"));
}

function hold(region) {
  if (!held.size) heldSince = Date.now();
  held.set(region.id, region);
}

function drawChip() {
  if (!held.size) heldSince = 0;
  if (!chip) return;
  const number = waiting();
  chip.hidden = !number || paused;
  const text = number === 1 ? chip.dataset.one : chip.dataset.many;
  write(chip.querySelector("span"), text.replace("{n}", number.toLocaleString(document.documentElement.lang)));
}

function swap(target, html) {
  const focused = target.contains(document.activeElement) ? document.activeElement : null;
  const row = focused?.closest("tr[id]");
  const after = row ? rows(target).slice(rows(target).indexOf(row)).map((next) => next.id) : [];
  const id = target.id;
  htmx.swap({ text: html, target, swap: "outerMorph" });
  const drawn = document.getElementById(id);
  if (!drawn) return;
  settle(drawn);
  if (focused && !focused.isConnected) refocus(drawn, focused.id, after);
  document.dispatchEvent(new CustomEvent("studio:drawn", { detail: { region: drawn } }));
}

// Who stood on a row that went stands on the next one's button, else on the list's heading.
function refocus(region, id, after) {
  const same = id && document.getElementById(id);
  const next = after.map((row) => document.getElementById(row)?.querySelector(".c-action a, a.row-link, a")).find(Boolean);
  (same || next || region.querySelector("[tabindex='-1']") || document.getElementById("content")).focus();
}

// A slot that leaves while somebody looks stays for four seconds, struck through, with what became of it.
async function bury(shown, next) {
  const url = document.body.dataset.fates;
  const staying = new Set(rows(next).map((row) => row.id));
  const gone = rows(shown).filter((row) => !staying.has(row.id));
  const busy = gone.filter((row) => row.querySelector(".c-held") && !row.classList.contains("tombstone"));
  const graves = new Map(
    gone.filter((row) => row.classList.contains("tombstone")).map((row) => [row.id, row.outerHTML]),
  );
  if (url && busy.length && busy.length <= FATES_MOST && !paused) {
    for (const row of await fates(url, busy)) graves.set(row.id, row.outerHTML);
  }
  let anchor = null;
  for (const row of rows(shown)) {
    const kept = next.querySelector(`#${CSS.escape(row.id)}`);
    if (kept) anchor = kept;
    if (kept || !graves.has(row.id)) continue;
    const body = next.ownerDocument.createElement("tbody");
    body.innerHTML = graves.get(row.id);
    const grave = body.firstElementChild;
    if (anchor) anchor.after(grave);
    else next.querySelector("tbody")?.prepend(grave);
    anchor = grave;
  }
  // An empty list's sentence stands only where no row does.
  if (rows(next).length) next.querySelector("tbody tr:not([id]) > td.empty")?.parentElement.remove();
}

async function fates(url, gone) {
  const asked = new URLSearchParams(gone.map((row) => ["slot", row.id.replace("slot-", "")]));
  try {
    const answer = await fetch(`${url}?${asked}`, { cache: "no-store", signal: AbortSignal.timeout(2_000) });
    if (!answer.ok) return [];
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = [...page.querySelectorAll("tr[id]")];
    for (const row of found) row.dataset.since = Date.now();
    return found;
  } catch {
    return []; // Then they go without a word; the record has it.
  }
}

function write(element, text) {
  if (element && element.textContent !== String(text)) element.textContent = text;
}

chip?.querySelector("button").addEventListener("click", () => release(true));
