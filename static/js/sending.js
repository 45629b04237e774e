// Sends the forms that stand in a dialog, the panel or a toast, and stays there until they are carried out.
import { send } from "./pages.js";

const REFUSED = [409, 410, 422];
const says = document.getElementById("says").dataset;

/** Send a form once, however often it is pressed. `host` has `show(lifted)`, `done(page)` and `fail(form, text)`. */
export async function submit(form, submitter, host) {
  if (form.ariaBusy === "true") return;
  form.ariaBusy = "true";
  try {
    const answer = await send(form, submitter);
    if (answer.done !== null) host.done(answer.page);
    else if (answer.moved) location.assign(answer.url);
    else if (answer.lifted && (answer.status === 200 || REFUSED.includes(answer.status))) host.show(answer.lifted);
    else host.fail(form, reason(form, answer));
  } catch {
    host.fail(form, form.dataset.failed);
  } finally {
    form.ariaBusy = "false";
  }
}

/** Say above the buttons of a form that it was not carried out; what was typed stays. */
export function failed(form, text) {
  form.querySelector("[data-failed]")?.remove();
  const notice = document.getElementById("failed").content.firstElementChild.cloneNode(true);
  notice.textContent = text;
  form.querySelector(".actions").before(notice);
}

// What a page that is no answer to the form says: that somebody must sign in, may not, or that the box is away.
function reason(form, { status, lifted }) {
  if (status === 401) return says.signedOut;
  if (status >= 500 || !lifted) return form.dataset.failed;
  return [...lifted.querySelectorAll("h1, h1 + p")].map((at) => at.textContent.trim().replace(/[^.!?]$/, "$&.")).join(" ");
}
