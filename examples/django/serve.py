"""Serves the product over HTTP, and its webhooks over HTTPS, since Herald sends to https:// only.

In production a server such as gunicorn does it, behind a proxy that ends TLS."""

import os
import signal
import ssl
import sys
import threading
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "product.settings")


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Handler(WSGIRequestHandler):
    timeout = 20

    def log_message(self, *_):
        """Says nothing of requests."""


def serve(port: int, tls: ssl.SSLContext | None = None) -> None:
    server = Server(("127.0.0.1", port), Handler)
    server.set_app(application)
    if tls is not None:
        # The handshake is made by the request's own thread.
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()


application = get_wsgi_application()
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(os.environ["TLS_CERT_FILE"], os.environ["TLS_KEY_FILE"])
serve(int(os.environ["PORT"]))
serve(int(os.environ["WEBHOOK_PORT"]), tls)
print("Ready.", flush=True)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
signal.pause()
