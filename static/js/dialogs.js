// The one dialog: it shows the page of a question over the page that the question was asked on.
import { changed } from "./changes.js";
import { isPlain, load } from "./pages.js";
import { placesFrom, focusFirst } from "./places.js";
import { failed, submit } from "./sending.js";
import { say, toast } from "./toasts.js";

const EVERY = 500;
const dialog = document.getElementById("dialog");
const body = document.getElementById("dialog-body");
let url = ""; // of the page that is shown, or being fetched
let opener = null;
let places = []; // where the focus goes from here
let looked = 0;
let next = null; // the look that is planned

const host = {
  show,
  fail: failed,
  done(page) {
    dialog.close();
    // The row of a slot that was released is about to go: the one that takes its place is next.
    changed(page, opener?.closest("tr") ? places.slice(1) : places);
  },
};

async function open(link) {
  if (url === link.href) return;
  url = link.href;
  if (!dialog.open) [opener, places] = [link, placesFrom(link)];
  try {
    const answer = await load(link.href);
    if (url !== link.href) return;
    if (answer.status !== 200 || !answer.lifted) return location.assign(link.href);
    show(answer.lifted);
  } catch {
    toast(document.getElementById("says").dataset.unanswered, "error");
    if (!dialog.open) url = "";
  }
}

function show(lifted) {
  const shown = document.importNode(lifted, true);
  body.replaceChildren(shown);
  dialog.setAttribute("role", shown.dataset.lift || "dialog");
  name(shown);
  if (!dialog.open) dialog.showModal();
  (shown.querySelector("[autofocus]") ?? shown.querySelector("[data-close], a, button"))?.focus();
}

function name(shown) {
  shown.querySelector("h1").id = "dialog-h";
  dialog.setAttribute("aria-labelledby", "dialog-h");
}

// The question may have answered itself meanwhile: look again, and keep what was typed.
async function look() {
  looked = performance.now();
  const asked = url;
  const answer = await load(asked).catch(() => null);
  if (!dialog.open || url !== asked || answer?.status !== 200 || !answer.lifted) return;
  const [form, fresh] = [body.querySelector("form"), answer.lifted.querySelector("form")];
  if (form?.ariaBusy === "true") return;
  if (form && fresh) return renew(document.importNode(answer.lifted, true));
  if (!form) return;
  show(answer.lifted);
  say([...body.querySelectorAll("h1, h1 + .notice")].map((at) => at.textContent.trim()).join(". "));
}

// Everything around the form, which keeps its fields, its focus and its caret.
function renew(fresh) {
  const form = body.querySelector("form");
  if (body.contains(document.activeElement) && !form.contains(document.activeElement)) return;
  const parts = [...fresh.children];
  const at = parts.indexOf(fresh.querySelector("form"));
  for (const part of [...form.parentElement.children]) if (part !== form) part.remove();
  form.before(...parts.slice(0, at));
  form.after(...parts.slice(at + 1));
  name(body);
}

document.addEventListener("click", (click) => {
  const link = click.target.closest("a[data-dialog]");
  const close = click.target.closest("#dialog [data-close]");
  if (!isPlain(click) || !(link || close)) return;
  click.preventDefault();
  if (close) dialog.close();
  else open(link);
});

dialog.addEventListener("submit", (event) => {
  event.preventDefault();
  submit(event.target, event.submitter, host);
});

dialog.addEventListener("close", () => {
  body.replaceChildren();
  url = "";
  clearTimeout(next);
  // The browser gives the focus back to the opener; this is for when a swap took it away.
  if (!opener?.isConnected) focusFirst(places);
});

document.addEventListener("studio:limit-changed", ({ detail }) => {
  if (!dialog.open || body.querySelector(`[data-limit="${CSS.escape(detail.limit)}"]`) === null) return;
  clearTimeout(next);
  next = setTimeout(look, Math.max(0, looked + EVERY - performance.now()));
});
