// The box's time in the browser: durations that tick, instants in the reader's zone.
//
// The browser's own clock is trusted for nothing but the passing of time: each message of the box brings its now.

const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const language = document.documentElement.lang;
const utcKept = "stackbone.utc";

let ahead = 0;
let latest = null;

/** Take the box's time, as a message or a page brought it. */
export function hear(iso) {
  if (!iso) return;
  latest = new Date(iso);
  ahead = latest - Date.now();
}

/** The box's time now, in milliseconds. */
export const now = () => Date.now() + ahead;

/** Write a duration as the pages do: "14s", "12m 04s", "1h 30m", "2d 4h"; `short`: its largest unit alone. */
export function duration(milliseconds, short = false) {
  const length = Math.max(0, Math.floor(milliseconds / SECOND) * SECOND);
  const [size, letter, next, nextLetter] =
    length >= DAY ? [DAY, "d", HOUR, "h"]
    : length >= HOUR ? [HOUR, "h", MINUTE, "m"]
    : length >= MINUTE ? [MINUTE, "m", SECOND, "s"]
    : [SECOND, "s"];
  const first = `${Math.floor(length / size)}${letter}`;
  if (short || !next) return first;
  const second = Math.floor((length % size) / next);
  return `${first} ${nextLetter === "s" ? String(second).padStart(2, "0") : second}${nextLetter}`;
}

/** Write an instant as the pages do, in the reader's zone: "14:32:08", on another day "1 Dec 14:32". */
export function instant(date) {
  const at = parts(date), today = parts(new Date(now()));
  if (at.day === today.day) return `${at.time}:${at.second}`;
  return `${at.dayShort}${at.year === today.year ? "" : ` ${at.year}`} ${at.time}`;
}

const zones = { utc: formats("UTC"), local: formats(undefined) };

function formats(timeZone) {
  const written = (options) => new Intl.DateTimeFormat(language, { timeZone, ...options });
  const name = written({}).resolvedOptions().timeZone;
  return {
    name,
    day: new Intl.DateTimeFormat("sv", { timeZone }),
    dayShort: written({ day: "numeric", month: "short" }),
    year: written({ year: "numeric" }),
    time: new Intl.DateTimeFormat("sv", { timeZone, hour: "2-digit", minute: "2-digit" }),
    second: new Intl.DateTimeFormat("sv", { timeZone, timeStyle: "medium" }),
    zone: written({ timeZoneName: "short" }),
  };
}

const inUtc = () => kept(utcKept) === "1" || zones.local.name === "UTC";
const zone = () => (inUtc() ? zones.utc : zones.local);

function parts(date, format = zone()) {
  return {
    day: format.day.format(date),
    dayShort: format.dayShort.format(date).replace(".", ""),
    year: format.year.format(date),
    time: format.time.format(date),
    second: format.second.format(date).slice(-2),
  };
}

function full(date, format) {
  const at = parts(date, format);
  const name = format.zone.formatToParts(date).find((part) => part.type === "timeZoneName")?.value ?? "";
  return `${at.dayShort} ${at.year}, ${at.time}:${at.second} ${name}`;
}

/** Write every instant below `root` in the reader's zone; the server's UTC stays in its tooltip. */
export function localise(root = document) {
  for (const element of root.querySelectorAll("time[datetime]")) {
    const date = new Date(element.dateTime);
    if (Number.isNaN(date.getTime())) continue;
    const text = instant(date);
    if (element.textContent !== text) element.textContent = text;
    element.title = inUtc()
      ? full(date, zones.utc)
      : `${full(date, zones.local)} · ${full(date, zones.utc)}`;
  }
}

/** Bring every ticking duration below `root` to now; return whether one has just run out. */
export function tick(root = document) {
  const at = now();
  let ranOut = false;
  for (const element of root.querySelectorAll(".tick")) {
    const { since, until, short } = element.dataset;
    const milliseconds = since ? at - new Date(since) : new Date(until) - at;
    const text = duration(milliseconds, short !== undefined);
    if (element.textContent !== text) element.textContent = text;
    if (until && milliseconds <= 0 && !element.dataset.ranOut) {
      element.dataset.ranOut = "";
      ranOut = true;
    }
  }
  return ranOut;
}

/** Bring all that tells the time below `root` up to date, as after a part of the page was drawn anew. */
export function settle(root = document) {
  localise(root);
  tick(root);
}

function kept(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // A browser that keeps nothing still shows the time.
  }
}

function keep(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Then for this page alone.
  }
}

function drawZone() {
  const foot = document.getElementById("zone");
  if (!foot) return;
  foot.textContent = foot.dataset.text.replace("{zone}", zone().name);
  if (zones.local.name === "UTC") return;
  const other = document.createElement("button");
  other.type = "button";
  other.className = "link";
  other.textContent = inUtc() ? foot.dataset.local : foot.dataset.utc;
  other.addEventListener("click", () => {
    keep(utcKept, inUtc() ? "0" : "1");
    drawZone();
    localise();
    foot.querySelector("button")?.focus();
  });
  foot.append(" · ", other);
}

hear(document.body.dataset.now);
drawZone();
settle();
