import hashlib
import hmac
import os
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE_SECONDS = 300
BODY_LIMIT_BYTES = 1024 * 1024
HEADERS = ("X-Service-Signature", "X-Service-Timestamp", "X-Service-Event", "X-Service-Delivery-Id")


def verify(headers, raw_body: bytes, secret: str) -> bool:
    """headers: pairs of name and value, such as request.headers.items() of Flask.
    raw_body: the bytes as received. Verify first, parse afterwards.
    secret: the signing secret, its text as it is."""
    headers = list(headers)  # Flask gives a generator, which can be read once.
    # Each header is there once; a second one, also one that was joined with a comma, would make it ambiguous.
    values = [[value for name, value in headers if name.lower() == wanted.lower()] for wanted in HEADERS]
    if any(len(found) != 1 or "," in found[0] for found in values):
        return False
    signature, timestamp = values[0][0], values[1][0]
    if not re.fullmatch(r"sha256=[0-9a-f]{64}", signature):
        return False
    if not re.fullmatch(r"0|[1-9][0-9]{0,15}", timestamp) or int(timestamp) > 2**53 - 1:
        return False
    if abs(int(time.time()) - int(timestamp)) > TOLERANCE_SECONDS:
        return False

    message = timestamp.encode() + b"." + raw_body
    expected = hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()
    return hmac.compare_digest("sha256=" + expected, signature)


def store(raw_body: bytes) -> None:
    """Stores the event durably, once for each "id" in it, since it may come twice. Work on it afterwards."""
    print(len(raw_body), "bytes", flush=True)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            return self.answer(411)
        if int(length) > BODY_LIMIT_BYTES:
            return self.answer(413)
        raw_body = self.rfile.read(int(length))
        if not verify(self.headers.items(), raw_body, SECRET):
            return self.answer(401)
        store(raw_body)
        self.answer(204)

    def refuse_method(self):
        self.answer(405)

    do_GET = do_PUT = do_PATCH = do_DELETE = refuse_method

    def answer(self, status: int):
        self.send_response(status)
        self.end_headers()


if __name__ == "__main__":
    SECRET = os.environ["WEBHOOK_SECRET"]
    assert SECRET, "Set WEBHOOK_SECRET to the endpoint's signing secret."
    ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver).serve_forever()
