// Fetches Studio's pages and sends its forms. Always whole pages, of which a part is shown elsewhere:
// no address ever answers with a fragment that Back could show.

const ASKED = { headers: { "HX-Request": "true" }, cache: "no-store" };

/** Fetch a page; throws where Studio does not answer. */
export async function load(url) {
  return answer(await fetch(url, ASKED));
}

/** Send a form as the browser would; throws where Studio does not answer. */
export async function send(form, submitter) {
  const body = new URLSearchParams(new FormData(form, submitter));
  return answer(await fetch(form.action, { ...ASKED, method: "POST", body }));
}

/** Tell whether a click only means "go there": no other button, no key for a new tab. */
export function isPlain(click) {
  return !click.defaultPrevented && click.button === 0 && !(click.ctrlKey || click.metaKey || click.shiftKey || click.altKey);
}

// `done` is what came of a form that was carried out; `lifted` is the part of a page that may stand in another.
async function answer(response) {
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return {
    status: response.status,
    url: response.url,
    moved: response.redirected,
    done: response.headers.get("Studio-Done"),
    page,
    lifted: page.querySelector("[data-lift], .blank"),
  };
}
