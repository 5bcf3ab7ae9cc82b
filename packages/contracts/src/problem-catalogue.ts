/** A kind of problem: fixed texts for clients, and advice for people. */
export interface ProblemKind {
  status: number;
  /** The same for every problem of the kind. */
  title: string;
  /** When it comes. For the documentation. */
  when: string;
  /** How to act on it. For the documentation, and for `detail` if the route says nothing more exact. */
  action: string;
}

/** Every error with which the management API refuses requests, by code. OpenAPI, documentation and tests are made of this list. */
export const PROBLEMS = {
  invalid_request: {
    status: 400,
    title: "The request has fields that can't be accepted",
    when: "A field of the body or a query parameter is missing, of the wrong type, or breaks a rule, or is unknown. The bodies of `/webhooks`, `/webhooks/{id}` and `/webhooks/{id}/deliver` may have further fields.",
    action: "Correct what `errors` lists, and send the request again.",
  },
  malformed_http: {
    status: 400,
    title: "This is no valid HTTP request",
    when: "The request line, a header or the framing of the body breaks the rules of HTTP/1.1.",
    action: "Send a valid request; if a library made it, look at the proxies between.",
  },
  malformed_json: {
    status: 400,
    title: "The body isn't JSON",
    when: "The body is missing, isn't valid JSON, or isn't valid UTF-8.",
    action: "Send a JSON object as UTF-8.",
  },
  idempotency_key_invalid: {
    status: 400,
    title: "The idempotency key can't be used",
    when: "The header `Idempotency-Key` is empty, longer than 255 characters, holds others than visible ASCII, or is there twice.",
    action: "Send one key, such as a UUID, that is new for each thing to be done.",
  },
  event_not_subscribed: {
    status: 400,
    title: "The endpoint isn't subscribed to this event",
    when: "A manual delivery of an event that the endpoint doesn't list in `events`.",
    action: "Use one of the endpoint's events, or add this one to them.",
  },
  endpoint_disabled: {
    status: 400,
    title: "The endpoint is disabled",
    when: "A manual delivery or a resend to an endpoint that is paused or was disabled after failures.",
    action: "Enable the endpoint, then send again.",
  },
  endpoint_limit_reached: {
    status: 400,
    title: "The organization has as many endpoints as it may have",
    when: "Creating one endpoint too many.",
    action: "Delete an endpoint that isn't needed any more, or ask the operator of the service for a higher limit.",
  },
  authentication_required: {
    status: 401,
    title: "A token is needed",
    when: "The request carries neither a bearer token nor the admin page's cookie.",
    action: "Send `Authorization: Bearer <token>` with the access token of a signed-in user.",
  },
  token_invalid: {
    status: 401,
    title: "The token can't be accepted",
    when: "The token is malformed, not signed with an accepted key, or made for another application.",
    action: "Sign in again and use the new token.",
  },
  token_expired: {
    status: 401,
    title: "The token has expired",
    when: "The token's time is over.",
    action: "Refresh the token or sign in again.",
  },
  api_key_not_accepted: {
    status: 401,
    title: "API keys don't authorize webhook management",
    when: "The request carries an API key, in any header, and no token.",
    action: "Webhooks are managed by signed-in users: send `Authorization: Bearer <token>` with a user's access token.",
  },
  organization_missing: {
    status: 403,
    title: "The token names no organization",
    when: "The token has no organization claim.",
    action: "Choose an organization and use the token that is made for it.",
  },
  subscription_inactive: {
    status: 403,
    title: "The organization's subscription isn't active",
    when: "The organization's subscription is neither active nor trialing.",
    action: "Renew the subscription.",
  },
  module_missing: {
    status: 403,
    title: "The organization lacks a module",
    when: "The organization hasn't got the module that holds webhook management.",
    action: "Ask the organization's administrator to add the module that `missing` names.",
  },
  permission_missing: {
    status: 403,
    title: "The caller lacks a permission",
    when: "Reading needs `integrations.view`; everything else needs `integrations.view` and `integrations.manage`.",
    action: "Ask the organization's administrator for the permissions that `missing` names.",
  },
  entitlement_missing: {
    status: 403,
    title: "The organization lacks an entitlement",
    when: "Creating, editing or delivering without the entitlement `integrations`.",
    action: "Add integrations to the organization's plan.",
  },
  origin_mismatch: {
    status: 403,
    title: "The request comes from another site",
    when: "A change that is authenticated by cookie without an `Origin` header that matches.",
    action:
      "Send it from the admin page itself, or use a bearer token. If it comes from the admin page, `detail` names the two origins that differ: correct `PUBLIC_ORIGIN`, or let the proxy in front keep `Host`.",
  },
  organization_mismatch: {
    status: 403,
    title: "The request is meant for another organization",
    when: "The header `Herald-Organization` names another organization than the token does. The admin page sends the header: in another tab, its user may have signed in for another organization.",
    action: "Sign in for the organization that is meant, or reload the page.",
  },
  webhook_not_found: {
    status: 404,
    title: "There is no such endpoint",
    when: "The organization has no endpoint with this id.",
    action: "List the endpoints and use the id of one of them.",
  },
  delivery_not_found: {
    status: 404,
    title: "There is no such delivery",
    when: "The endpoint has no delivery with this id, or has it no more.",
    action: "List the endpoint's deliveries and use the id of one of them.",
  },
  resend_not_found: {
    status: 404,
    title: "There is no such resend",
    when: "The endpoint has no resend with this id, or has it no more.",
    action: "List the endpoint's resends and use the id of one of them.",
  },
  event_not_found: {
    status: 404,
    title: "There is no such event",
    when: "The organization has no event with this key, or has it no more.",
    action:
      "Search for the event by its id, its entity or one of its deliveries, and use the `key` of one that is found.",
  },
  route_not_found: {
    status: 404,
    title: "There is nothing at this address",
    when: "The path isn't one of this API's.",
    action: "Compare the path with `/openapi.json`.",
  },
  method_not_allowed: {
    status: 405,
    title: "This address doesn't take this method",
    when: "The path is one of this API's, but not with this method.",
    action: "Use one of the methods that the `Allow` header lists.",
  },
  request_timeout: {
    status: 408,
    title: "The request took too long to arrive",
    when: "Headers or body weren't complete in time.",
    action: "Send the request again over a better connection.",
  },
  version_conflict: {
    status: 409,
    title: "The endpoint has changed since it was read",
    when: "An edit or delete with a version that isn't the latest.",
    action: "Reload the endpoint, apply the change to what it is now, and send it with the new version.",
  },
  nothing_to_resend: {
    status: 409,
    title: "There is nothing to send again",
    when: "Starting a resend if the receiver got everything that the filter chooses, or if that has been sent again already.",
    action: "Look at the preview, and widen the filter.",
  },
  resend_running: {
    status: 409,
    title: "A resend of this endpoint runs already",
    when: "Starting a resend while another one of the same endpoint runs.",
    action: "Wait until it has finished, or stop it.",
  },
  body_too_large: {
    status: 413,
    title: "The body is too large",
    when: "The body is larger than any valid request of the route.",
    action: "Send a smaller body.",
  },
  unsupported_media_type: {
    status: 415,
    title: "The body has to be JSON",
    when: "The body's `Content-Type` isn't `application/json`, its charset isn't UTF-8, or it is compressed.",
    action: "Send it with `Content-Type: application/json`, as UTF-8 and uncompressed.",
  },
  expectation_failed: {
    status: 417,
    title: "The expectation can't be met",
    when: "The header `Expect` asks for something other than `100-continue`.",
    action: "Send the request without the header `Expect`.",
  },
  too_many_requests: {
    status: 429,
    title: "Too many requests",
    when: "The organization made more reads, changes or manual deliveries in a minute than it may, or far too many at once.",
    action: "Wait for as many seconds as the `Retry-After` header says.",
  },
  headers_too_large: {
    status: 431,
    title: "The headers are too large",
    when: "The request line and headers are larger than 16 KiB.",
    action: "Send fewer or shorter headers and cookies.",
  },
  internal_error: {
    status: 500,
    title: "Something went wrong in Herald",
    when: "A bug.",
    action: "Try again; if it stays, give the `requestId` to the operator of the service.",
  },
  key_server_unavailable: {
    status: 503,
    title: "Tokens can't be verified at the moment",
    when: "The identity provider's keys can't be read.",
    action: "Try again after as many seconds as the `Retry-After` header says.",
  },
  read_out_of_time: {
    status: 503,
    title: "Reading took too long",
    when: "The database took longer than 5 s for a read, or the read waited 1 s for those of other organizations: the database is overloaded, or its disk is slow.",
    action:
      "Try again after as many seconds as the `Retry-After` header says; of a history, ask for less: a smaller `limit`, a " +
      "shorter time between `from` and `to`.",
  },
  database_unavailable: {
    status: 503,
    title: "The database can't be reached at the moment",
    when: "The database is down or overloaded.",
    action:
      "Try again after as many seconds as the `Retry-After` header says. A change may have been made: read first.",
  },
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof PROBLEMS;
