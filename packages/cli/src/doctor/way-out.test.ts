import { expect, test } from "@jest/globals";
import { wayOutFinding } from "./way-out.ts";

test.each([
  [{ code: "ERR_ADDRESS_NOT_ALLOWED" }, "not public", "ALLOWED_PRIVATE_NETWORKS"],
  [{ code: "ECONNREFUSED", syscall: "queryA" }, "name servers do not say", "DNS_SERVERS"],
  [{ code: "ETIMEOUT", syscall: "queryA" }, "name servers do not say", "port 53"],
  [{ code: "ENOTFOUND", syscall: "queryA" }, "is not known here", "--url"],
  [{ code: "ENODATA", syscall: "queryA" }, "has no address", "--url"],
  [{ code: "ECONNREFUSED", syscall: "connect" }, "Nothing listens", "--url"],
  [{ message: "timeout" }, "does not answer", "firewall"],
  [{ code: "DEPTH_ZERO_SELF_SIGNED_CERT" }, "not trusted", "EXTRA_CA_FILE"],
  [{ code: "EPIPE", message: "broken" }, "broken", "port 443"],
])("a way out that is closed is explained: %j", (error, what, remedy) => {
  expect(wayOutFinding(Object.assign(new Error(), error), "receiver.example")).toMatchObject({
    status: "fault",
    what: expect.stringContaining(what),
    remedy: expect.stringContaining(remedy),
  });
});
