// Copy buttons: what they copy stands in `data-copy`, encoded as in an address, what they say afterwards in `data-copied`.
import { say } from "./toasts.js";

const SHOWN_FOR = 2000;

document.addEventListener("click", async (click) => {
  const button = click.target.closest("button[data-copy]");
  if (!button || "copiedAt" in button.dataset) return;
  await copy(decodeURIComponent(button.dataset.copy));
  const word = button.querySelector("[data-word]");
  const before = word.textContent;
  word.textContent = button.dataset.copied;
  button.dataset.copiedAt = "";
  say(button.dataset.copied);
  setTimeout(() => {
    word.textContent = before;
    delete button.dataset.copiedAt;
  }, SHOWN_FOR);
});

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Plain HTTP under another name than this machine's own: the old way.
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
