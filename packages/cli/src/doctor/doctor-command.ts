import { NEEDED_RIGHTS, type ServiceName } from "@herald/common/database/rights";
import { action, type Command, JSON_OPTION, oneOf } from "../command.ts";
import { plural } from "../output.ts";
import { countOf, report } from "./finding.ts";

const SERVICES = Object.keys(NEEDED_RIGHTS) as ServiceName[];

export const doctorCommand: Command = {
  summary: "says what of a set-up is wrong, and what to do about it",
  help: `  --service NAME   if each service has a user of its own, whose environment this is: ${SERVICES.join(", ")}
  --json           one JSON object instead of a table

Give it the environment variables of the services, and run it where they run: it reads them and tries things as each service would.
It leaves nothing: a row that it writes is taken back, messages are taken out again, and its own queue goes with it. With
--service it declares the service's exchanges and queues as its start does; those stay. docs/operating/doctor.md lists its checks.

"ok" needs nothing. "warning": Herald works, and should be made safer. "fault": Herald does not work, or may lose something.

Exit code: 0 no faults, 1 faults, 2 it could not run.
`,
  actions: {
    "": action({
      changes: false,
      usage: "[--service NAME] [--json]",
      options: {
        service: { type: "string" },
        ...JSON_OPTION,
      },
      async run(values, context) {
        // Loaded now, since no other command needs the settings of all services.
        const { diagnose } = await import("./diagnose.ts");
        const findings = await diagnose(context, {
          service: oneOf("--service", SERVICES, values.service),
          onCheck: (check) => context.progress(`looks at: ${check}`),
        });
        context.stdout(report(findings, values.json));
        const faults = countOf("fault", findings);
        if (faults > 0) throw new Error(`${plural(faults, "fault")} found.`);
      },
    }),
  },
};
