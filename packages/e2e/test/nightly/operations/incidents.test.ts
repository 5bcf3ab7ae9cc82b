import type { EndpointDetails } from "@herald/contracts";
import { eventually } from "@herald/dev/harness/eventually";
import { expect, jest, test } from "@jest/globals";
import { connect } from "amqplib";
import { useIncidents } from "./incident-environment.ts";
import { documentedMetrics, projectFile, RULES_FILE, rules } from "./project-files.ts";
import { shortened } from "./prometheus.ts";

// Each test breaks something, sees the alerts fire, does what their pages of the runbook say, and sees the alerts end.

/** Those that no test here fires, with the reason; `promtool` shows that they do. */
const NOT_FIRED = {
  HeraldDatabaseGrows: "its days and hours are numbers in the query, which is the deployed one",
  HeraldRunsShort:
    "its shares are numbers in the query, likewise, and publishers make partitions sooner than an incident could miss them",
  HeraldBudgetSpent: "it fires with those of its objectives, and ends hours after them",
  HeraldProcessesDiffer:
    "the processes of these incidents have one clock and the same settings; their own tests have others",
  HeraldAttemptsUnrecorded: "no intruder is in these incidents; the dispatcher's own tests have forged hand-overs",
  HeraldOutboxStuck: "no relay runs in these incidents",
};

const NO_OUTAGE =
  "it takes receivers of five hosts, and a name server that dies: the dispatcher's own tests have those";

/** Metrics without a value in these incidents, with the reason. */
const NOT_MEASURED = {
  herald_expired_deliveries_total: "nothing waits for 30 days; the publisher's own tests have deliveries that do",
  herald_clock_difference_seconds: NOT_FIRED.HeraldProcessesDiffer,
  herald_outage: NO_OUTAGE,
  herald_attempts_unrecorded_total: NOT_FIRED.HeraldAttemptsUnrecorded,
  herald_settings_differ: NOT_FIRED.HeraldProcessesDiffer,
  herald_attempts_given_back_total: NO_OUTAGE,
  herald_outbox_waiting: NOT_FIRED.HeraldOutboxStuck,
  herald_outbox_oldest_age_seconds: NOT_FIRED.HeraldOutboxStuck,
  herald_outbox_refused: NOT_FIRED.HeraldOutboxStuck,
  herald_relay_sent_total: NOT_FIRED.HeraldOutboxStuck,
  herald_relay_refused_total: NOT_FIRED.HeraldOutboxStuck,
  herald_relay_failures_total: NOT_FIRED.HeraldOutboxStuck,
  herald_interruptions_total: "a dispatcher would have to die during an attempt",
  herald_resend_deliveries_total: "a delivery would have to be given up, which takes a quarter of an hour",
  herald_events_rest_seconds:
    "an inbox would have to fill a publisher's memory; the publisher's own tests have one that does",
  herald_log_lines_lost_total: "a log would have to take no lines; the tests of the log have one",
  herald_health_retries_total: "two dispatchers would have to write one endpoint's health at the same moment",
};

jest.setTimeout(900_000);

const environment = useIncidents();
const { emit, organization, fires, ends, follow, keep } = environment;

test("the rules differ from the deployed ones in their durations and in nothing else", () => {
  const deployed = projectFile(RULES_FILE);
  const duration = /(?<=^ +for: )\w+$|(?<=\[)\w+(?=\])/gm;
  expect(shortened(deployed).replace(duration, "")).toBe(deployed.replace(duration, ""));
  expect(shortened("        for: 2m\n[1h]")).toBe("        for: 2000ms\n[60000ms]");
});

test("receivers that fail, events that break the contract and notices that lost their queue are alerts that their pages end", async () => {
  const { system, receiver } = environment;
  let broken = true;
  let served = 0;
  receiver.answerWith(({ path }) => {
    // Every fourth succeeds, so that this endpoint is never disabled.
    if (path === "/mostly-fails") return { status: broken && served++ % 4 !== 3 ? 500 : 200 };
    return { status: path === "/fails" && broken ? 500 : 200 };
  });
  const [flaky, first, failing] = await Promise.all([
    organization("/mostly-fails"),
    organization("/fails"),
    organization("/fails", 12),
  ]);
  const product = await connect(system.amqpUrl);
  const flow = keep(() => emit(flaky.organizationId, 1), 300);
  try {
    const channel = await product.createConfirmChannel();
    channel.publish(`${system.namespace}.events`, "RiskCreated", Buffer.from('{"type":"RiskCreated"}'));
    channel.publish(`${system.namespace}.events`, "RiskCreatd", Buffer.from('{"type":"RiskCreatd"}'));
    await channel.waitForConfirms();
    const notices = `${system.namespace}.notices`;
    await channel.assertQueue("product.notices", { durable: true });
    const bind = () => channel.bindQueue("product.notices", notices, "endpoint.*");
    await bind();
    const taken: string[] = [];
    await channel.consume("product.notices", (message) => message && taken.push(message.fields.routingKey));
    await emit(first.organizationId, 6);
    await eventually(() => expect(taken).toContain("endpoint.disabled"));
    await channel.unbindQueue("product.notices", notices, "endpoint.*");
    await emit(failing.organizationId, 6);
    await Promise.all([
      (async () => {
        const [page] = await Promise.all(
          ["most attempts fail", "many endpoints were disabled within half an hour"].map((because) =>
            fires("HeraldAttemptsFail", { because }),
          ),
        );
        // Its owners mend the receiver, and admins resume what was disabled.
        broken = false;
        for (const id of failing.ids) await failing.edit(id, { enabled: true });
        expect(await follow(page ?? "", "receivers-fail")).toContain("500");
        await ends("HeraldAttemptsFail");
      })(),
      (async () => {
        const page = await fires("HeraldNoticesStuck", { type: "endpoint.disabled" });
        expect(await follow(page, "no-queue")).not.toContain(notices);
        await bind();
        expect(await follow(page, "no-queue")).toContain(notices);
      })(),
      (async () => {
        const because = "they were set aside, mostly since they break the contract";
        const page = await fires("HeraldEventsNotDelivered", { because });
        expect(await follow(page, "broken-events")).toContain("Discarded 1 event");
      })(),
      fires("HeraldEventsNotDelivered", { because: "within an hour some were of an unknown type, or too old" }),
    ]);
  } finally {
    await flow.stop();
    await product.close();
  }
});

test("slow receivers and a forgotten transaction are alerts that their pages end", async () => {
  const { system, receiver } = environment;
  // Together more than half of the attempts that a dispatcher may have in flight, and none more than an endpoint may have.
  receiver.answerWith({ delayMs: 1_500 });
  const [slow, waiting] = await Promise.all([organization("/", 40), organization("/")]);
  const [editing, forgetful] = [await system.connect(), await system.connect()];
  try {
    // Due again, as after an edit. The forgetful transaction waits for the lock already when the edit ends, so it has it
    // before a publisher can look.
    await editing.query("begin");
    await editing.query("update catch_up set priority = 0, due_at = now() where endpoint_id = $1", [waiting.ids[0]]);
    await forgetful.query("begin");
    const locked = forgetful.query("select from catch_up where endpoint_id = $1 for update", [waiting.ids[0]]);
    await eventually(async () =>
      expect(await system.query("select from pg_stat_activity where wait_event_type = 'Lock'")).toHaveLength(1),
    );
    await editing.query("commit");
    await locked;
    await emit(slow.organizationId, 10);
    await Promise.all([
      (async () => {
        const page = await fires("HeraldCatchUpStuck");
        await follow(page, "forgotten-transaction");
        await ends("HeraldCatchUpStuck");
      })(),
      (async () => {
        const page = await fires("HeraldDeliveriesLate", { objective: "first-attempts" });
        await follow(page, "slow-receivers");
        await ends("HeraldDeliveriesLate");
      })(),
    ]);
  } finally {
    await editing.end().catch(() => {});
    await forgetful.end().catch(() => {});
  }
});

test("dispatchers that are gone are alerts that their pages end, and what came meanwhile arrives", async () => {
  const { system } = environment;
  const api = await organization("/");
  await system.kill("dispatcher");
  await emit(api.organizationId, 3);
  // The alert is about minutes, which the delivery has not got: they are put into it.
  await eventually(async () => {
    const rows = await system.query(
      `with moved as (
         update due set due_at = now() - interval '10 minutes' where endpoint_id = $1 returning delivery_id, due_at
       )
       update delivery set next_attempt_at = due_at from moved where id = delivery_id returning id`,
      [api.ids[0]],
    );
    expect(rows).toHaveLength(3);
  });
  const [down, silent, unowned, late] = await Promise.all([
    fires("HeraldServiceDown", { service: "dispatcher" }),
    fires("HeraldProcessUnstable", { because: "does not answer" }),
    fires("HeraldNotAttempted", { because: "no dispatcher owns some of the shards" }),
    fires("HeraldDeliveriesLate"),
  ]);
  expect(await follow(late, "service-away")).toContain("No dispatcher is at work");
  expect(await follow(unowned, "service-away")).toContain("shards unowned");
  await follow(silent, "service-away");
  await follow(down, "service-away");
  await ends("HeraldServiceDown", "HeraldProcessUnstable", "HeraldNotAttempted", "HeraldDeliveriesLate");
  expect((await api.get(api.ids[0] ?? "")).deliveries.filter(({ succeeded }) => succeeded)).toHaveLength(3);
});

test("a database that is gone is an alert that its page ends, and everything that was emitted meanwhile arrives", async () => {
  const { system, receiver } = environment;
  const api = await organization("/");
  const seen = receiver.requests.length;
  await system.stopPostgres();
  const reading = keep(() => api.list(), 200);
  try {
    // A publisher holds 500 of one bucket.
    await emit(api.organizationId, 1_700);
    const [down, refuses, errors, pileUp] = await Promise.all([
      fires("HeraldDependencyDown", { dependency: "database" }),
      fires("HeraldDependencyDown", { because: "PostgreSQL carries out no statement of one kind" }),
      fires("HeraldApiErrors"),
      fires("HeraldNotStored"),
    ]);
    await follow(down, "database-away");
    await follow(refuses, "database-away");
    await follow(errors, "database-away");
    await follow(pileUp, "database-away");
    await ends("HeraldDependencyDown", "HeraldApiErrors", "HeraldNotStored");
  } finally {
    await reading.stop();
  }
  await receiver.received(seen + 1_700, 300_000);
});

test("a session that locks a table is an alert that its page ends, and what was emitted meanwhile arrives", async () => {
  const { system, receiver } = environment;
  const api = await organization("/");
  const seen = receiver.requests.length;
  const forgetful = await system.connect();
  try {
    await forgetful.query("begin; lock table delivery in access exclusive mode");
    await emit(api.organizationId, 5);
    await follow(await fires("HeraldStatementsWait"), "lock");
    await receiver.received(seen + 5, 300_000);
    await ends("HeraldStatementsWait");
  } finally {
    await forgetful.end().catch(() => {});
  }
});

test("a broker that is gone is an alert that its page ends, and so are the notices that wait for it", async () => {
  const { system, receiver } = environment;
  // The receiver fails when the broker is gone, and no sooner: then there are notices that can't get out.
  const { promise: failing, resolve: fail } = Promise.withResolvers<void>();
  receiver.answerWith(async () => {
    await failing;
    return { status: 500 };
  });
  const seen = receiver.requests.length;
  const api = await organization("/");
  await emit(api.organizationId, 5);
  await receiver.received(seen + 5, 60_000);
  await system.stopRabbitmq();
  fail();
  const [down, notices] = await Promise.all([
    fires("HeraldDependencyDown", { dependency: "broker" }),
    fires("HeraldNoticesStuck", { because: "RabbitMQ does not confirm them" }),
  ]);
  await follow(down, "broker-away");
  await follow(notices, "broker-away");
  await ends("HeraldDependencyDown");
});

test("an alarm of the broker is an alert while nothing is emitted, and its page shows which alarm it is", async () => {
  const { system } = environment;
  await system.setMemoryAlarm(true);
  try {
    const blocked = await fires("HeraldDependencyDown", {
      because: "RabbitMQ takes no messages, and emitters wait",
    });
    expect(await follow(blocked, "broker-blocked")).toContain("memory");
  } finally {
    await system.setMemoryAlarm(false);
  }
  await ends("HeraldDependencyDown");
});

test("the alerts of notices without a queue and of events that are not delivered end an hour of the rules later", async () => {
  await ends("HeraldNoticesStuck", "HeraldEventsNotDelivered");
});

test("every alert has fired in these incidents, but for those that say why not", () => {
  const alerts = rules().flatMap(({ alert }) => (alert ? [alert] : []));
  expect([...environment.fired, ...Object.keys(NOT_FIRED)].sort()).toEqual(alerts.sort());
});

test("every documented metric has had a value in these incidents", async () => {
  const { prometheus, receiver, system } = environment;
  const api = await organization("/");
  const [id = ""] = api.ids;
  await api.deliver(id, "WorkItemCompleted", "{}");
  // A resume catches up missed events, and a deletion erases rows.
  await api.edit(id, { enabled: false });
  const seen = receiver.requests.length;
  await emit(api.organizationId, 1);
  await eventually(async () =>
    expect((await api.read<EndpointDetails>(`/${id}`)).onResume).toMatchObject({ missedEvents: 1 }),
  );
  await api.edit(id, { enabled: true });
  await receiver.received(seen + 1);
  // An attempt that fails when nothing is left of its delivery.
  let fail = () => {};
  const failing = new Promise<void>((resolve) => {
    fail = resolve;
  });
  receiver.answerWith(async () => {
    await failing;
    return { status: 500 };
  });
  await emit(api.organizationId, 1);
  await receiver.received(seen + 2);
  await api.delete(id);
  await eventually(async () =>
    expect(await system.query("select from due where endpoint_id = $1", [id])).toHaveLength(0),
  );
  fail();
  const names = [...documentedMetrics().keys()].filter((name) => !(name in NOT_MEASURED));
  await eventually(async () => {
    const counts = await Promise.all(names.map((name) => prometheus.count(`max_over_time(${name}[10m]) > 0`)));
    expect(names.filter((_, index) => counts[index] === 0)).toEqual([]);
  });
});
