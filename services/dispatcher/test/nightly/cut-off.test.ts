import { testCutOff } from "../cut-off-modes.ts";

testCutOff("the name server is silent");
testCutOff("the name server fails");
testCutOff("there is no route");
