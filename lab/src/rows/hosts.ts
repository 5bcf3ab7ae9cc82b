import { nameServer } from "@herald/dev/harness/name-server";
import { readService } from "@herald/e2e/herald/readings";
import { measureFullSpeed, untilArrived, warmUp } from "../measuring.ts";
import { BENCH_LOAD, EXACTLY_ONCE, type Row, SAMPLE_BODY, worseOf } from "../row.ts";
import { startTraffic, type Traffic } from "../traffic.ts";

const FEW = 20;
const MANY = 5_000;

/** The cost of receivers on thousands of hosts: look-ups, connections and TLS sessions for each of them. */
export const hostsRow: Row = {
  name: "hosts",
  title: "Deliveries to thousands of hosts",
  figures: {
    few: { label: `deliveries to ${FEW} hosts`, unit: "/s" },
    many: { label: `deliveries to ${MANY} hosts`, unit: "/s" },
    ratio: { label: "  the one to the other", unit: "x", bar: { atLeast: 0.8 } },
    fewCpu: { label: `CPU a delivery of the dispatcher, ${FEW} hosts`, unit: "us" },
    manyCpu: { label: `  ${MANY} hosts`, unit: "us" },
    questions: { label: "questions to name servers a delivery", unit: "" },
    memory: { label: "resident memory of the dispatcher", unit: "MiB", bar: { atMost: 256 } },
    ...BENCH_LOAD,
    ...EXACTLY_ONCE,
  },
  async open(environment, { seconds, progress }) {
    const names = await nameServer();
    const herald = await environment.openHerald("hosts");
    const api = await herald.start("management-api");
    const dispatcher = await herald.start("dispatcher", { DNS_SERVERS: names.address });
    await herald.start("publisher");
    const startTo = async (hosts: number) => {
      progress(`Creating ${hosts} endpoints`);
      const hostOf = (index: number) => `h${index}-of-${hosts}.receivers.example`;
      const traffic = await startTraffic(environment, herald, { api, endpoints: hosts, hostOf });
      // Each host is delivered to at least once before anything is measured.
      await warmUp(traffic, MANY);
      return traffic;
    };
    const few = await startTo(FEW);
    const many = await startTo(MANY);

    async function measure(traffic: Traffic) {
      const { feeding, ...measured } = await measureFullSpeed(traffic, seconds, async () => ({
        cpu: (await readService(dispatcher)).cpuSeconds * 1_000_000,
        questions: names.questions.length,
      }));
      const { lost, repeated } = await untilArrived(traffic, await feeding);
      return { ...measured, figures: { ...measured.busy, lost, repeated } };
    }

    return {
      conditions: `${FEW} and ${MANY} hosts of one endpoint each, found by a name server in the bench's own process, which answer at once; bodies of ${SAMPLE_BODY.length} bytes, ${seconds} s`,
      async round() {
        const toFew = await measure(few);
        const toMany = await measure(many);
        return {
          few: toFew.perSecond,
          many: toMany.perSecond,
          ratio: toMany.perSecond / toFew.perSecond,
          fewCpu: toFew.each.cpu,
          manyCpu: toMany.each.cpu,
          questions: toMany.each.questions,
          memory: (await readService(dispatcher)).residentMebibytes,
          ...worseOf([toFew.figures, toMany.figures]),
        };
      },
      async close() {
        await Promise.all([few, many].map((traffic) => traffic.close()));
        await herald.close();
        await names.close();
      },
    };
  },
};
