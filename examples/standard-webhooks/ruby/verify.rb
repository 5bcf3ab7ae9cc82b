# gem install standardwebhooks
require "standardwebhooks"

# The secret as the page showed it: the library decodes it itself.
webhook = StandardWebhooks::Webhook.new(ENV.fetch("WEBHOOK_SECRET"))

id, timestamp, signature = ARGV
headers = { "webhook-id" => id, "webhook-timestamp" => timestamp, "webhook-signature" => signature }
raw_body = $stdin.read
event = webhook.verify(raw_body, headers) # raises where it does not verify
puts event
