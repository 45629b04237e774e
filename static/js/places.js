// Where the focus goes when what had it is gone.

/** Return the ids to try, in order: the control itself, those of the rows after it, the heading of its section. */
export function placesFrom(control) {
  const found = [control];
  for (let next = control.closest("tr")?.nextElementSibling; next; next = next.nextElementSibling) {
    found.push(next.querySelector("[data-dialog]") ?? next.querySelector("a, button"));
  }
  found.push(control.closest("section")?.querySelector("h2"));
  return found.filter((at) => at?.id).map((at) => at.id);
}

/** Focus the first of these that is there; nothing else gets the focus. */
export function focusFirst(ids) {
  ids.map((id) => document.getElementById(id)).find((at) => at)?.focus();
}
