#!/bin/sh
# Run by packages/e2e/test/nightly/examples in a copy of this folder; $TRY is what it tries programs with.
set -eu
mvn -q dependency:copy-dependencies -DoutputDirectory=lib
javac -cp 'lib/*' -d classes Emit.java
$TRY emitter java -cp 'lib/*:classes' Emit
