#!/bin/sh
# Run by packages/e2e/test/nightly/examples in a copy of this folder; $TRY is what it tries programs with.
set -eu
# Mono's compiler knows the C# of .NET Framework, so what it takes, every later one takes.
mcs -nologo -warnaserror -r:System.Core.dll -out:verify.exe Webhook.cs Ask.cs
$TRY receiver node ask.mjs
