// A printed page says when it was printed.
const at = document.getElementById("printed-at");

addEventListener("beforeprint", () => {
  const now = new Intl.DateTimeFormat(document.documentElement.lang, {
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "short",
  }).format();
  if (at) at.textContent = at.dataset.says.replace("{at}", now);
});
