# pip install standardwebhooks
import os
import sys

from standardwebhooks import Webhook

# The secret as the page showed it: the library decodes it itself.
webhook = Webhook(os.environ["WEBHOOK_SECRET"])

id, timestamp, signature = sys.argv[1:]
headers = {"webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature}
raw_body = sys.stdin.buffer.read()
event = webhook.verify(raw_body, headers)  # raises where it does not verify
print(event)
