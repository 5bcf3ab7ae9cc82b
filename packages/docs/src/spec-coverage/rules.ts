/** A part of SPEC, with what it asks of Herald. */
export interface SpecSection {
  number: string;
  title: string;
  /** By id, in SPEC's order: the number that SPEC gives a rule, or the section's and a word where it gives none. */
  rules: Record<string, string>;
}

/** What Herald was asked to do, rule by rule. An id, once given, keeps its meaning: titles of tests name it. */
export const specSections: readonly SpecSection[] = [
  {
    number: "1",
    title: "The service",
    rules: {
      "1/events": "A business event of an organization reaches each receiver that the organization subscribed to it.",
      "1/manage":
        "An organization lists, creates, edits, pauses, resumes and deletes its endpoints, replaces a secret, and delivers by hand.",
      "1/no-test-send": "Nothing is sent when an endpoint is saved, and no operation exists that sends a test.",
      "1/page": "The page to manage webhooks is at /administration/integrations, under Integrations, Webhooks.",
      "1/controls":
        "The page's controls are called New webhook, Name, Endpoint URL, Active, Save webhook and Replace signing secret; events are chosen there.",
    },
  },
  {
    number: "2.1",
    title: "Endpoints",
    rules: {
      "2.1/fields":
        "An endpoint is shown with id, name, URL, Active flag, failure count, events, deliveries and version, and nothing else.",
      "2.1/deliveries": "A listing holds the 200 newest deliveries of the whole organization, each with its endpoint.",
      "2.1/events": "At least one of the supported events is chosen, by its exact name; there are no wildcards.",
      "2.1.1": "The URL is absolute and HTTPS.",
      "2.1.2": "The URL holds no credentials.",
      "2.1.3": "Nothing is sent to loopback, private or reserved addresses, whatever name leads there.",
      "2.1.4": "The URL is the final one: a redirect is a failure and is not followed.",
      "2.1.5": "Saving looks at the URL's text only: nothing is resolved, connected to or proven.",
    },
  },
  {
    number: "2.2",
    title: "Deliveries as they are shown",
    rules: {
      "2.2/fields":
        "A delivery is shown with id, event, attempt count, status, success, error and time, and nothing else.",
      "2.2/latest": "A delivery is one row, however many attempts it had, and shows its latest one.",
      "2.2/id": "A delivery keeps its id over all attempts, and every attempt carries it.",
      "2.2/business-event": "The business event's id is shown; a manual delivery has none.",
      "2.2/503": "Where the receiver gave no answer, the status is 503 and the error says what happened.",
    },
  },
  {
    number: "2.3",
    title: "Signing secrets",
    rules: {
      "2.3/shown": "A new secret is in the answer that made it, and in no other.",
      "2.3/text": "A secret looks like Base64 and is used as the text that it is.",
      "2.3/kept": "An edit that doesn't replace the secret keeps it.",
      "2.3/current":
        "Every attempt that begins after an edit uses the new URL and the new secret, retries that waited included.",
      "2.3/in-flight": "An attempt that is under way during an edit ends with the URL and secret that it began with.",
    },
  },
  {
    number: "2.4",
    title: "What receivers get of an event",
    rules: {
      "2.4/fields":
        "The body holds id, type, occurredAtUtc, entityType, entityId and data, in this order, and nothing else: no organization, no actor, no version.",
      "2.4/id": "The body's id is the business event's, the same at every endpoint; it is not the delivery's.",
      "2.4/time": "occurredAtUtc is when the event occurred, on retries too.",
      "2.4/changes": "data.changes maps fields to old and new values, texts or null; it may be empty.",
      "2.4/data": "data goes out as the product service wrote it.",
      "2.4/again": "A work item that is completed a second time is a second event, with an id of its own.",
      "2.4/manual": "A manual payload goes out alone, without this envelope.",
      "2.4/tolerant": "The receiver's kit takes bodies with fields that it doesn't know.",
    },
  },
  {
    number: "3.1",
    title: "States of an endpoint",
    rules: {
      "3.1/create": "A new endpoint is enabled or not, as the request says.",
      "3.1/pause": "A pause sends nothing more and loses nothing that was pending.",
      "3.1/resume":
        "Enabling starts the failure count over and sends what was unfinished; deliveries that had five attempts stay as they are.",
      "3.1/failures": "Five failures in a row disable the endpoint.",
      "3.1/several":
        "Failures of several deliveries count together, and can disable before any delivery had five attempts.",
      "3.1/success": "Any success starts the failure count over.",
      "3.1/delete": "Deleting takes the current version, and erases the endpoint, its subscriptions and its history.",
      "3.1/delete-in-flight": "An attempt under way during a deletion may still arrive, and leaves nothing behind.",
    },
  },
  {
    number: "3.2",
    title: "States of a delivery",
    rules: {
      "3.2/succeeded": "A 2xx ends the delivery as succeeded.",
      "3.2/retry": "A failure before the fifth attempt makes the delivery due again after its delay.",
      "3.2/resent": "A retry has the delivery's id and body, and a timestamp and signature of its own.",
      "3.2/exhausted": "A fifth failed attempt ends the delivery.",
      "3.2/no-replay": "Nothing makes an exhausted delivery go out again.",
    },
  },
  {
    number: "4.1",
    title: "Management routes",
    rules: {
      "4.1/prefix": "All routes lie under /api/organization/integration-operations, behind the deployment's base path.",
      "4.1/list": "GET /webhooks answers 200 with a list of endpoints.",
      "4.1/create": "POST /webhooks answers 200 with the endpoint and its secret.",
      "4.1/edit": "PUT /webhooks/{id} answers 200 with the endpoint, and with its secret where it was replaced.",
      "4.1/deliver": "POST /webhooks/{id}/deliver answers 200 with the delivery.",
      "4.1/delete": "DELETE /webhooks/{id} answers 204.",
      "4.1/body": "A request's fields have their types and bounds; fields that nobody knows are passed over.",
      "4.1.1":
        "An edit or a deletion of another version than the current one is refused; after reloading it goes through.",
      "4.1.2":
        "A manual delivery takes an active endpoint that subscribes to the event, sends the JSON as it is, and changes no business record.",
      "4.1.3": "200 to a manual delivery does not mean that the receiver took it: succeeded says so.",
      "4.1.4":
        "A manual payload is signed and sent as the same bytes (SPEC allows other bytes to be sent; Herald does not do that).",
      "4.1.5": "A deletion takes the history along, a pause keeps it.",
    },
  },
  {
    number: "4.2",
    title: "The request to the receiver",
    rules: {
      "4.2/request": "An attempt is a POST of application/json; charset=utf-8 to the endpoint's URL.",
      "4.2/headers": "It carries signature, timestamp, event and delivery id, each once.",
      "4.2/timestamp": "The timestamp is the attempt's, in whole Unix seconds.",
      "4.2/body": "The body is the event's payload, or the manual one.",
      "4.2/outcome": "Any 2xx is a success, and any other answer a failure.",
    },
  },
  {
    number: "4.3",
    title: "The signature",
    rules: {
      "4.3.1": "What is signed is the timestamp's text, a dot and the raw body.",
      "4.3.2": "The key is the secret's literal text, neither decoded nor trimmed.",
      "4.3.3": "The digest is HMAC-SHA256.",
      "4.3.4": "The header is sha256= and the digest in lower-case hexadecimal.",
      "4.3/unsigned":
        "Event and delivery id in the headers are not signed; the type in the verified body is the one to trust.",
    },
  },
  {
    number: "4.4",
    title: "The receiver's part, as its kit does it",
    rules: {
      "4.4.1": "The exact bytes that came are kept and verified.",
      "4.4.2": "Verification comes before parsing, and what fails it is rejected.",
      "4.4.3/signature": "A signature is sha256= and 64 lower-case hexadecimal characters.",
      "4.4.3/timestamp": "A timestamp is at most 16 characters, and the text of a safe integer that isn't negative.",
      "4.4.3/tolerance": "A timestamp is at most 300 seconds away from now.",
      "4.4.3/compare": "Digests are compared in constant time.",
      "4.4.4": "Bodies have a limit, and headers that are there twice are refused.",
      "4.4.5": "The answer is 2xx once the event is stored, and a failure where it can't be.",
      "4.4.6": "A duplicate is answered as a success and does nothing.",
      "4.4.7": "An event is taken once for an endpoint, by the id in the verified body, also of many at once.",
      "4.4.8": "A manual payload may have no event id, and needs a key of its own.",
      "4.4.9": "Verification alone stops no replay.",
      "4.4.10": "Deliveries may come twice, and in another order.",
    },
  },
  {
    number: "5",
    title: "Who may do what",
    rules: {
      "5.1": "An access token opens the management routes; an API key does not.",
      "5.2": "Reading takes integrations.view, everything else integrations.manage besides.",
      "5.3":
        "Subscription, module and, for saving and delivering, the integrations entitlement are looked at, and each organization sees its own only.",
      "5.4": "Who is refused gets a 401 or a 403.",
      "5.5": "A receiver recognizes deliveries by their signature.",
    },
  },
  {
    number: "6",
    title: "Events",
    rules: {
      "6/names": "Seven events can be subscribed to, by exactly these names; others are passed over.",
      "6/emitted": "A creation or a change of status emits the event that it stands for, and nothing else does.",
      "6/project-updated": "ProjectUpdated can be chosen, and an edit of a project does not emit it.",
      "6.1/window": "Events of the last seven days are delivered.",
      "6.1/creation": "Events from before the endpoint was created are not.",
      "6.2":
        "A catch-up reads 1,000 events at a time, earliest first (SPEC stops after them; Herald goes on until none is missing).",
      "6.3": "A retry pass takes what is due, endpoint by endpoint (SPEC lets a backlog hide others; Herald does not).",
      "6.4":
        "What was missed by a pause, an outage or a late subscription follows within seven days; exhausted deliveries remain a gap.",
      "6.5": "A manual delivery can send any event that the endpoint subscribes to, with any JSON.",
    },
  },
  {
    number: "7",
    title: "Errors",
    rules: {
      "7/400": "Settings and parameters that can't be used are a 400 that names each of them.",
      "7/401": "Who isn't known gets a 401.",
      "7/403": "Who isn't allowed gets a 403.",
      "7/409": "A stale version gets a 409 that says to reload.",
      "7/delivery": "A failed delivery shows the receiver's status, or 503 where there was none.",
      "7/support": "What goes to support names the endpoint, time, delivery, event and result, and no payload.",
      "7/secrets": "No secret appears in a log, a listing or an error.",
    },
  },
  {
    number: "8",
    title: "Numbers",
    rules: {
      "8/timeout": "An attempt has 15 seconds.",
      "8/attempts": "A delivery has five attempts.",
      "8/delays": "Retries are due 1, 2, 4 and 8 minutes after the attempt before them.",
      "8/polling": "What is due goes out within a second or so (SPEC has a minute).",
      "8/pass": "A retry pass reads 50 at a time.",
      "8/disabling": "Five failures in a row disable.",
      "8/recent": "A listing holds up to 200 deliveries.",
      "8/window": "Publication reaches seven days back.",
      "8/batch": "A catch-up reads 1,000 events at a time.",
      "8/tolerance": "The receiver's kit accepts timestamps up to 300 seconds away.",
      "8/signature-length": "A signature header has 71 characters.",
      "8/timestamp-length": "The receiver's kit accepts timestamps of up to 16 characters.",
    },
  },
  {
    number: "9",
    title: "Versions",
    rules: {
      "9.1":
        "An endpoint's version is opaque Base64, null on creation, new after every edit, and stale ones are refused.",
      "9.2": "The body of an event carries no version of its schema.",
    },
  },
];

/** Parts of SPEC that ask nothing of Herald that a test could show, and why. */
export const untested: readonly { part: string; why: string }[] = [
  {
    part: "1, other integrations",
    why: "Synchronization with other providers and callbacks of the billing provider are not Herald's.",
  },
  { part: "1, follow-up reads", why: "The public API that receivers read from is not Herald's." },
  {
    part: "2.4 and 4.4, the receiver's own code",
    why: "How a receiver maps an endpoint to its organization, checks the data that it needs and works on it later is its own; the kit's part is above.",
  },
  { part: "6.4, reconciliation", why: "Receivers' own checks and alerts for critical work are theirs." },
  {
    part: "5.6, 9.3 and whatever SPEC leaves open",
    why: "Herald decides it, and its tests show it without a section.",
  },
];

/** Rules whose tests are still to come. Before a release the list is empty; the coverage test says what is on it. */
export const awaited: readonly string[] = [];
