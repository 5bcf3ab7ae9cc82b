/** Numbers from 0 to 1 that are the same on every run. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

/** A UUIDv7 of a time: lists are in the order of their ids. */
export function uuidv7(timeMs: number, random: () => number): string {
  const time = Math.floor(timeMs).toString(16).padStart(12, "0");
  const noise = Array.from({ length: 18 }, () => Math.floor(random() * 16).toString(16)).join("");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${noise.slice(0, 3)}-8${noise.slice(3, 6)}-${noise.slice(6)}`;
}
