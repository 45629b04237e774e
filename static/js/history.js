// Reads a limit's history point by point, under the pointer or with the arrow keys; the words are the table's.

const PAGE = 10;
const FRESH = 60_000; // There is nothing new in it more often.
let drawn = Date.now();
// Which point each drawing stands at; what a swap brings knows nothing of it.
const places = new WeakMap();

lift();
document.addEventListener("htmx:after:swap", lift);
// What makes it a slider stays through a swap, or the focus would go with it.
// A row that the socket brings knows no last hour: the one on the page stays.
window.htmx?.registerExtension("history", {
  htmx_before_morph_attr: (element) => !element.matches(".chart-frame"),
  htmx_before_morph_node: (element, { newNode }) => !newNode.matches?.(".c-spark[data-kept]"),
});
// Whenever the page is brought up to date, and not held still, the history is too, once a minute.
document.addEventListener("studio:drawn", () => {
  const section = document.getElementById("history");
  if (!section || Date.now() - drawn < FRESH) return;
  drawn = Date.now();
  htmx.ajax("GET", section.dataset.fragment + location.search, { target: section, swap: "outerMorph" });
});
document.addEventListener("pointermove", (event) => {
  const frame = frameOf(event.target);
  if (frame) read(frame, under(frame, event.clientX));
});
document.addEventListener("pointerout", (event) => {
  const frame = frameOf(event.target);
  if (frame && !frame.contains(event.relatedTarget) && document.activeElement !== frame) rest(frame);
});
document.addEventListener("focusin", (event) => {
  if (frameOf(event.target) === event.target) read(event.target, at(event.target));
});
document.addEventListener("focusout", (event) => {
  if (frameOf(event.target) === event.target) rest(event.target);
});
document.addEventListener("keydown", (event) => {
  const frame = frameOf(event.target);
  if (!frame || event.ctrlKey || event.altKey || event.metaKey) return;
  const last = count(frame) - 1;
  const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -PAGE, PageUp: PAGE, Home: -last, End: last };
  if (!(event.key in steps)) return;
  event.preventDefault();
  read(frame, Math.min(Math.max(at(frame) + steps[event.key], 0), last));
});

// Without scripts the drawing is a picture; with them it is a slider whose value is a point.
function lift() {
  for (const frame of document.querySelectorAll(".chart-frame")) {
    const last = count(frame) - 1;
    const shown = Math.min(at(frame), last);
    frame.tabIndex = 0;
    frame.setAttribute("role", "slider");
    frame.setAttribute("aria-label", frame.dataset.label);
    frame.setAttribute("aria-describedby", frame.dataset.described);
    frame.setAttribute("aria-valuemin", 0);
    frame.setAttribute("aria-valuemax", last);
    frame.setAttribute("aria-valuenow", shown);
    frame.setAttribute("aria-valuetext", said(frame, shown));
    if (document.activeElement === frame) read(frame, shown);
  }
}

function frameOf(target) {
  return target instanceof Element ? target.closest(".chart-frame") : null;
}

function count(frame) {
  return Number(frame.querySelector(".chart").dataset.count);
}

function at(frame) {
  return places.get(frame) ?? count(frame) - 1;
}

// A stretch without data is one row, which stands for all points from its own on.
function said(frame, point) {
  const rows = [...frame.closest(".history").querySelectorAll("[data-point]")];
  return rows.find((row) => Number(row.dataset.point) <= point)?.dataset.said ?? "";
}

function under(frame, clientX) {
  const chart = [...frame.querySelectorAll(".chart")].find((each) => each.getClientRects().length);
  const { left, right, count: points } = chart.dataset;
  const box = chart.getBoundingClientRect();
  const x = ((clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
  const point = Math.floor(((x - left) / (right - left)) * points);
  return Math.min(Math.max(point, 0), points - 1);
}

function read(frame, point) {
  const text = said(frame, point);
  places.set(frame, point);
  frame.setAttribute("aria-valuenow", point);
  frame.setAttribute("aria-valuetext", text);
  frame.closest(".history").querySelector(".chart-reading").textContent = text;
  for (const chart of frame.querySelectorAll(".chart")) {
    const { left, right, count: points } = chart.dataset;
    move(chart, Number(left) + ((right - left) * (point + 0.5)) / points);
  }
}

function rest(frame) {
  frame.closest(".history").querySelector(".chart-reading").textContent = "";
  for (const chart of frame.querySelectorAll(".chart")) move(chart, -9);
}

function move(chart, x) {
  const cursor = chart.querySelector(".chart-cursor");
  cursor.setAttribute("x1", x);
  cursor.setAttribute("x2", x);
}
