import { testOutage } from "../outage-modes.ts";

testOutage("the name server is silent");
testOutage("the name server fails");
testOutage("there is no route");
