// The edit form beside the page on wide screens, so that the numbers being thought about stay in sight.
import { changed } from "./changes.js";
import { isPlain, load } from "./pages.js";
import { placesFrom, focusFirst } from "./places.js";
import { failed, submit } from "./sending.js";
import { toast } from "./toasts.js";

const WIDE = matchMedia("(width >= 74em)");
const panel = document.getElementById("panel");
let places = [];
let asked = null;

const host = {
  show,
  fail: failed,
  done(page) {
    close();
    changed(page, places);
  },
};

/** Close the panel and give the focus back; what was typed is dropped, as by Cancel on the page. */
export function close() {
  panel.hidden = true;
  delete panel.dataset.open;
  panel.replaceChildren();
  focusFirst(places);
}

async function open(link) {
  if (asked) return;
  asked = link.href;
  try {
    const answer = await load(link.href);
    if (answer.status !== 200 || !answer.lifted) return location.assign(link.href);
    places = placesFrom(link);
    show(answer.lifted);
    panel.querySelector("#id_capacity")?.focus();
  } catch {
    toast(document.getElementById("says").dataset.unanswered, "error");
  } finally {
    asked = null;
  }
}

function show(lifted) {
  panel.replaceChildren(document.importNode(lifted, true));
  panel.hidden = false;
  panel.dataset.open = "";
  htmx.process(panel);
  panel.querySelector("[autofocus]")?.focus();
}

document.addEventListener("click", (click) => {
  const link = click.target.closest("a[data-panel]");
  const cancel = click.target.closest("#panel [data-close]");
  if (!isPlain(click) || !(cancel || (link && WIDE.matches))) return;
  click.preventDefault();
  if (cancel) close();
  else if ("open" in panel.dataset) panel.querySelector("#id_capacity")?.focus();
  else open(link);
});

panel.addEventListener("submit", (event) => {
  event.preventDefault();
  submit(event.target, event.submitter, host);
});

// What will happen depends on what is busy and who waits: ask again, where it has been asked.
document.addEventListener("studio:limit-changed", ({ detail }) => {
  const form = document.querySelector(`form[data-preview="${CSS.escape(detail.limit)}"]`);
  if (form?.querySelector("#preview > *")) form.dispatchEvent(new Event("look"));
});
