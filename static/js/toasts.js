export function say(text) {
  speak(document.getElementById("said"), text);
}
export function warn(text) {
  speak(document.getElementById("warned"), text);
}
function speak(at, text) {
  at.textContent = "";
  setTimeout(() => (at.textContent = text), 50);
}
