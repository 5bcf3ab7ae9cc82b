#!/bin/sh
# Run by packages/e2e/test/nightly/examples in a copy of this folder; $TRY is what it tries programs with.
set -eu
mvn -q dependency:copy -Dartifact=com.standardwebhooks:standardwebhooks:1.1.0 -DoutputDirectory=.
javac -cp standardwebhooks-1.1.0.jar Verify.java
$TRY verifier java -cp standardwebhooks-1.1.0.jar:. Verify
