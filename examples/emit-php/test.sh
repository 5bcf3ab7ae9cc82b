#!/bin/sh
# Run by packages/e2e/test/nightly/examples in a copy of this folder; $TRY is what it tries programs with.
set -eu
# Debian's package of the library, where Composer would put it.
mkdir -p vendor
echo '<?php require "PhpAmqpLib/autoload.php";' > vendor/autoload.php
$TRY emitter php emit.php
