import { names } from "@herald/common/broker/topology";
import { collectNotices } from "../environment/queues.ts";
import { startRegions } from "../environment/regions.ts";
import { USUAL_TIMES } from "../environment/settings.ts";
import { planSteadyTenants } from "../plan/tenants.ts";
import { NOTICES_QUEUE } from "../run.ts";
import type { InjectedFault } from "../verdict/history.ts";
import { longestPauseAfter } from "../verdict/pauses.ts";
import { heraldRestore, untilStored } from "./herald-restore.ts";
import { inEnvironment } from "./in-environment.ts";
import type { Scenario } from "./scenario.ts";

/** From the region's end to the switch: whoever decides on it has to be sure first. */
const DETECTED_AFTER_MS = 2_000;
/** What the replica lacks when the region is lost: so that there is something to close, on a machine where a replica is never behind. */
const BEHIND_MS = 1_500;
/** New events, emitted to the second region before the outbox is replayed. */
const GOES_ON_MS = 2_000;

/**
 * A region is lost under load: its broker, its database and all services end at once and stay away. The second region's
 * replica, which nobody waited for, becomes the database; copies of the latest events are there by federation, and the product emits again what the
 * replica may lack, while `herald restore` holds all attempts.
 */
export const secondRegionScenario: Scenario = (options) =>
  inEnvironment(options, { startServers: startRegions, times: USUAL_TIMES }, async (environment, run) => {
    const { seed, seconds, pause, progress } = options;
    const { servers, links, namespace } = environment;
    const services = [...environment.services.values()];
    const dispatchers = services.filter(({ label }) => label.startsWith("dispatcher"));
    const others = services.filter((service) => !dispatchers.includes(service));
    const measured = { replicaBehindMs: 0, copiedEvents: 0, acceptsAfterMs: 0 };
    const result = await run({
      tenants: planSteadyTenants(seed),
      outages: [],
      pauses: [],
      // A payload that was delivered by hand and that the replica lacks is nobody's event: no emitter has it to emit it again.
      manual: false,
      async disturb({ emitAgain }) {
        await pause((seconds * 1_000) / 2);
        await servers.fallBehind();
        await pause(BEHIND_MS);
        progress("Losing the first region");
        const lost: InjectedFault = { kind: "region-lost", target: "first region", from: Date.now(), until: 0 };
        const held = { ...lost, kind: "attempts-held" };
        await Promise.all([...services.map((service) => service.die()), servers.loseFirst()]);
        // What outlives its server for a moment is not heard of any more.
        for (const link of links.values()) link.cut();
        await pause(DETECTED_AFTER_MS);

        progress("Switching to the second region");
        const { replayedTo, copiedEvents } = await servers.switchOver();
        measured.replicaBehindMs = Math.max(0, lost.from - replayedTo.getTime());
        measured.copiedEvents = copiedEvents;
        await collectNotices(servers.amqpUrls(), names(namespace).noticesExchange, NOTICES_QUEUE);
        await heraldRestore(environment, "begin", "--restored-to", replayedTo.toISOString());
        held.from = Date.now();
        await Promise.all(services.map((service) => service.resume()));
        // Dispatchers are not ready before the end.
        await Promise.all(others.map((service) => service.ready()));
        measured.acceptsAfterMs = Date.now() - lost.from;
        await servers.takeCopies();
        await pause(GOES_ON_MS);

        progress("Emitting again what the replica may lack");
        await emitAgain();
        lost.until = Date.now();
        await untilStored(environment, pause);
        held.until = Date.now();
        await heraldRestore(environment, "end");
        await Promise.all(dispatchers.map((service) => service.ready()));
        return [lost, held];
      },
    });

    const { requests, faults } = result.history;
    const [lost, held] = faults as [InjectedFault, InjectedFault];
    const arrivals = requests.map(({ at }) => at);
    const early = arrivals.filter((at) => at > held.from && at < held.until).length;
    const complaints: string[] = [];
    const { failedAttempts } = result.verdict.figures;
    if (failedAttempts > 0) complaints.push(`${failedAttempts} attempts failed, none for a reason of the receiver's`);
    if (early > 0) complaints.push(`${early} requests came while all attempts were held`);
    if (measured.replicaBehindMs === 0) complaints.push("the replica had everything: nothing was shown");
    if (measured.copiedEvents === 0) complaints.push("no event had been copied to the second region");
    if (!arrivals.some((at) => at > held.until)) complaints.push("nothing was delivered after the switch");
    return {
      ...result,
      extra: {
        "until the switch began, ms": DETECTED_AFTER_MS,
        "the replica lacked the last, ms": measured.replicaBehindMs,
        "events copied by federation": measured.copiedEvents,
        "events are taken again after, ms": measured.acceptsAfterMs,
        "attempts begin again after, ms": held.until - lost.from,
        "longest pause in deliveries, ms": longestPauseAfter(arrivals, lost.from, held.until),
      },
      complaints,
    };
  });
