/** Says a sentence to who listens, without moving the focus: what a glance would notice. One region for the whole page. */
export function announce(sentence: string): void {
  const region = document.getElementById("announcements");
  if (!region) return;
  const line = document.createElement("p");
  line.textContent = sentence;
  region.append(line);
  setTimeout(() => line.remove(), 10_000);
}
