// Keys: each does what a link or button of the page does, and nothing that these could not do.
import { close as closePanel } from "./panels.js";

const OFF = "stackbone.keys-off";
const SOON = 1500;
const help = document.getElementById("shortcuts");
const single = document.getElementById("shortcuts-on");
let goAt = -Infinity;

const KEYS = {
  "?": showHelp,
  "/": () => document.querySelector("main input[type=search]")?.select(),
  j: () => step(1),
  k: () => step(-1),
  e: () => edit(),
  r: () => row()?.querySelector("a[data-dialog]")?.click(),
  p: () => document.dispatchEvent(new CustomEvent("studio:toggle-pause")),
  ".": () => document.dispatchEvent(new CustomEvent("studio:refresh", { cancelable: true })) && location.reload(),
};

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return sendForm(event);
  if (event.key === "Escape") return escape(event);
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (!single.checked || document.querySelector("dialog:modal")) return;
  const gone = event.timeStamp - goAt < SOON && document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
  goAt = event.key === "g" ? event.timeStamp : -Infinity;
  const act = gone ? () => gone.click() : Object.hasOwn(KEYS, event.key) && KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

function showHelp() {
  help.showModal();
  help.querySelector("form button").focus();
}

function isTyping(at) {
  return at.closest("input:not([type=checkbox]), textarea, select, [contenteditable]") !== null;
}

function row() {
  return document.activeElement.closest("main tbody tr");
}

function step(by) {
  const stops = [...document.querySelectorAll("main tbody tr")]
    .map((each) => each.querySelector(":is(a, button):not(.copy)"))
    .filter((stop) => stop?.checkVisibility());
  const at = stops.findIndex((stop) => stop.closest("tr") === row());
  const next = at === -1 ? (by > 0 ? 0 : stops.length - 1) : at + by;
  stops[Math.max(0, Math.min(next, stops.length - 1))]?.focus();
}

function edit() {
  const own = row()?.querySelector("[data-edit]")?.dataset.edit;
  if (own) location.assign(own);
  else document.querySelector("a[data-panel]")?.click();
}

function sendForm(event) {
  const form = event.target.closest("form") ?? document.querySelector("dialog:modal form[method=post]");
  if (form?.method !== "post") return;
  event.preventDefault();
  const button = form.querySelector(".button-primary, .button-danger");
  if (button) form.requestSubmit(button);
}

function escape(event) {
  if (document.querySelector("dialog:modal")) return; // the browser closes it
  const field = event.target.closest("input[type=search]");
  if (field?.value) {
    event.preventDefault();
    field.value = "";
    field.dispatchEvent(new Event("input", { bubbles: true }));
  } else if (event.target.closest("#panel")) {
    closePanel();
  }
}

// A browser that keeps nothing has the keys on.
function remembered(change) {
  try {
    return change(localStorage);
  } catch {
    return null;
  }
}

single.checked = remembered((kept) => kept.getItem(OFF)) === null;
single.addEventListener("change", () => {
  remembered((kept) => (single.checked ? kept.removeItem(OFF) : kept.setItem(OFF, "1")));
});
document.getElementById("help-open")?.addEventListener("click", showHelp);
