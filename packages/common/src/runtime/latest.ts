/** Makes a value the latest of a map, which keeps its keys in this order. Beyond `max` keys, the one that was set longest ago is forgotten. */
export function setLatest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > max) map.delete(map.keys().next().value as Key);
}
