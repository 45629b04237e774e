// What follows a form that was carried out: its message, and a page that shows the change.
import { focusFirst } from "./places.js";
import { toastAll } from "./toasts.js";

const KEPT = "stackbone.changed";

/** Show what came of it and have the page brought up to date; `places` are where the focus goes. */
export function changed(page, places) {
  // The live part refreshes its regions and says so; where there is none, the page loads anew.
  if (document.dispatchEvent(new CustomEvent("studio:changed", { cancelable: true }))) {
    sessionStorage.setItem(KEPT, JSON.stringify({ messages: page.body.innerHTML, places }));
    location.reload();
  } else {
    focusFirst(places);
    toastAll(page);
  }
}

const kept = sessionStorage.getItem(KEPT);
sessionStorage.removeItem(KEPT);
if (kept) {
  const { messages, places } = JSON.parse(kept);
  focusFirst(places);
  toastAll(new DOMParser().parseFromString(messages, "text/html"));
}
