import { testCutOff } from "./cut-off-modes.ts";

// The other ways are in nightly/.
testCutOff("the name server is dead");
