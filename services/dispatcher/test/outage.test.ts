import { testOutage } from "./outage-modes.ts";

// The other ways are in nightly/.
testOutage("the name server is dead");
