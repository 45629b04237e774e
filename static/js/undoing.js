// The Undo button of a toast.
import { changed } from "./changes.js";
import { submit } from "./sending.js";
import { dismiss, toast } from "./toasts.js";

document.getElementById("toasts").addEventListener("submit", (event) => {
  event.preventDefault();
  const shown = event.target.closest(".toast");
  submit(event.target, event.submitter, {
    show: () => dismiss(shown),
    fail: (form, text) => toast(text, "error"),
    done(page) {
      dismiss(shown);
      changed(page, []);
    },
  });
});
