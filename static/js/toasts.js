// Messages: shown at the bottom left, and spoken. The page shows what changed; a toast is never the only record.

const AT_MOST = 2;
const SECONDS = 6;
const SECONDS_WITH_UNDO = 10;
const region = document.getElementById("toasts");
const timers = new Map();
let before = null; // what had the focus before a toast

/** Show and speak a message: a text, or an element such as a notice of the server. Kinds as the server's levels. */
export function toast(content, kind = "info") {
  const shown = document.getElementById("toast").content.firstElementChild.cloneNode(true);
  shown.classList.add(`notice-${kind}`);
  shown.dataset.kind = kind;
  shown.querySelector(".toast-said").append(...(content instanceof Element ? content.childNodes : [content]));
  while (region.childElementCount >= AT_MOST) dismiss(region.firstElementChild);
  region.append(shown);
  place();
  start(shown);
  const words = (shown.querySelector("p") ?? shown.querySelector(".toast-said")).textContent;
  (kind === "error" ? warn : say)(words);
  return shown;
}

/** Show the notices that the server wrote into a page. */
export function toastAll(page) {
  for (const notice of [...page.querySelectorAll(".messages .notice")]) {
    toast(document.importNode(notice, true), /notice-(\w+)/.exec(notice.className)[1]);
    notice.remove();
  }
  page.querySelector(".messages")?.remove();
}

/** Have a text read out when the reader comes to rest. */
export function say(text) {
  // What stands outside of an open modal dialog is not read.
  speak(document.querySelector("dialog:modal [role=status]") ?? document.getElementById("said"), text);
}

/** Have a text read out at once. */
export function warn(text) {
  speak(document.querySelector("dialog:modal [role=status]") ?? document.getElementById("warned"), text);
}

/** Take a toast away. */
export function dismiss(shown) {
  clearTimeout(timers.get(shown));
  timers.delete(shown);
  if (shown.contains(document.activeElement)) before?.focus();
  shown.remove();
}

function speak(at, text) {
  // The same words twice are no change; an emptied place makes them one.
  at.textContent = "";
  setTimeout(() => (at.textContent = text), 50);
}

function start(shown) {
  if (shown.dataset.kind === "error") return;
  const seconds = shown.querySelector("form") ? SECONDS_WITH_UNDO : SECONDS;
  clearTimeout(timers.get(shown));
  timers.set(shown, setTimeout(dismiss, seconds * 1000, shown));
}

function hold() {
  for (const timer of timers.values()) clearTimeout(timer);
}

function go() {
  if (!region.matches(":hover, :focus-within")) for (const shown of region.children) start(shown);
}

// Never over a button: at the top left where one is below.
function place() {
  region.classList.remove("toasts-above");
  const box = region.getBoundingClientRect();
  const covers = (at) => {
    const other = at.getBoundingClientRect();
    return other.width && other.left < box.right && other.right > box.left && other.top < box.bottom && other.bottom > box.top;
  };
  region.classList.toggle("toasts-above", [...document.querySelectorAll("main :is(.button, .input)")].some(covers));
}

region.addEventListener("pointerenter", hold);
region.addEventListener("pointerleave", go);
region.addEventListener("focusin", ({ relatedTarget }) => {
  if (relatedTarget && !region.contains(relatedTarget)) before = relatedTarget;
  hold();
});
region.addEventListener("focusout", () => setTimeout(go));
region.addEventListener("click", (click) => {
  if (click.target.closest("[data-dismiss]")) dismiss(click.target.closest(".toast"));
});
document.addEventListener("scrollend", place);

toastAll(document);
