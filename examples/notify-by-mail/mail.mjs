const SUBJECTS = {
  "endpoint.failing": (name) => `Webhook "${name}" is failing`,
  "endpoint.disabled": (name) => `Webhook "${name}" was disabled`,
  "endpoint.recovered": (name) => `Webhook "${name}" works again`,
  "endpoint.exhausted": (name) => `Webhook "${name}" did not take all deliveries`,
  "endpoint.expired": (name) => `Webhook "${name}" did not get all deliveries in time`,
  "endpoint.resumed": (name) => `Webhook "${name}" was resumed`,
  "endpoint.secret_replaced": (name) => `Webhook "${name}" has a new signing secret`,
  "endpoint.deleted": (name) => `Webhook "${name}" was deleted`,
  "event.rejected": () => "Herald rejected an event",
};

/** Whether there are words for a notice. Herald may learn to tell more, which must not stop this program. */
export function isKnown({ type }) {
  return Object.hasOwn(SUBJECTS, type);
}

/**
 * A notice as a mail, in plain text and in HTML.
 *
 * The notice's id is the Message-ID: a mail that is sent twice, since this program died between sending and acknowledging, can be
 * told from another one, and many mail servers then deliver it once.
 */
export function mailOf(notice, { from, pageUrl }) {
  const subject = SUBJECTS[notice.type](oneLine(notice.endpoint?.name ?? ""));
  const lines = [oneLine(notice.reason), "", ...factsOf(notice).map(([what, value]) => `${what}: ${oneLine(value)}`)];
  if (pageUrl) lines.push("", pageUrl);
  return {
    from,
    subject,
    messageId: `<${oneLine(notice.id)}@${from.slice(from.lastIndexOf("@") + 1).replace(/[^\w.-]/g, "")}>`,
    // Automatic answers, "I am on holiday", are not for this address.
    headers: { "Auto-Submitted": "auto-generated" },
    text: `${lines.join("\n")}\n`,
    html: lines.map((line) => `<p>${escapeHtml(line)}</p>`).join("\n"),
  };
}

function factsOf({ type, endpoint, occurredAtUtc, eventId, eventType, organizationId, events }) {
  const facts = [["When", occurredAtUtc]];
  if (type === "event.rejected") {
    facts.push(["Organization", organizationId ?? "unknown"], ["Event", `${eventType ?? "unknown"} ${eventId ?? ""}`]);
    if (events > 1) facts.push(["How many like this", String(events)]);
  } else {
    facts.push(["Webhook", `${endpoint.name} (${endpoint.id})`], ["Receiver", endpoint.origin]);
  }
  return facts;
}

/** An organization names its endpoints: no name may begin a header of its own, turn the text round, or go on without an end. */
function oneLine(text) {
  return String(text)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, " ")
    .slice(0, 500)
    .trim();
}

function escapeHtml(text) {
  const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (character) => entities[character]);
}
