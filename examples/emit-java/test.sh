#!/bin/sh
# Run by packages/e2e/test/nightly/examples in a copy of this folder; $TRY is what it tries programs with.
set -eu
mvn -q dependency:copy-dependencies -DoutputDirectory=lib
javac -cp 'lib/*' -d classes Emit.java

# Java reads no SSL_CERT_FILE.
cat > emit.sh <<'END'
if [ -n "${SSL_CERT_FILE:-}" ]; then
  store=authorities-$$
  keytool -importcert -noprompt -file "$SSL_CERT_FILE" -keystore "$store" -storepass changeit >&2
  set -- -Djavax.net.ssl.trustStore="$store" -Djavax.net.ssl.trustStorePassword=changeit
fi
exec java "$@" -cp 'lib/*:classes' Emit
END
$TRY emitter sh emit.sh
