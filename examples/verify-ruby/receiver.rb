require "openssl"
require "webrick"

TOLERANCE_SECONDS = 300
BODY_LIMIT_BYTES = 1024 * 1024

# headers: gives a header's value by its name, as `request.headers` of Rails does; one that is there twice is joined
#   with a comma, and a comma makes it ambiguous.
# raw_body: the bytes as received. Verify first, parse afterwards.
# secret: the signing secret, its text as it is.
def verify(headers, raw_body, secret)
  names = %w[X-Service-Signature X-Service-Timestamp X-Service-Event X-Service-Delivery-Id]
  values = names.map { |name| headers[name].to_s }
  return false if values.any? { |value| value.empty? || value.include?(",") }

  signature, timestamp = values
  return false unless signature.match?(/\Asha256=[0-9a-f]{64}\z/)
  return false unless timestamp.match?(/\A(0|[1-9][0-9]{0,15})\z/) && timestamp.to_i <= 2**53 - 1
  return false if (Time.now.to_i - timestamp.to_i).abs > TOLERANCE_SECONDS

  expected = "sha256=" + OpenSSL::HMAC.hexdigest("SHA256", secret, "#{timestamp}.".b + raw_body.b)
  OpenSSL.fixed_length_secure_compare(expected, signature)
end

# Stores the event durably, once for each "id" in it, since it may come twice. Work on it afterwards.
def store(raw_body)
  puts "#{raw_body.bytesize} bytes"
end

secret = ENV.fetch("WEBHOOK_SECRET", "")
abort "Set WEBHOOK_SECRET to the endpoint's signing secret." if secret.empty?

server = WEBrick::HTTPServer.new(BindAddress: "127.0.0.1", Port: ENV.fetch("PORT", "8080").to_i, AccessLog: [])
server.mount_proc("/") do |request, response|
  raise WEBrick::HTTPStatus::MethodNotAllowed unless request.request_method == "POST"

  raw_body = "".b
  request.body do |chunk|
    raw_body << chunk
    raise WEBrick::HTTPStatus::RequestEntityTooLarge if raw_body.bytesize > BODY_LIMIT_BYTES
  end
  raise WEBrick::HTTPStatus::Unauthorized unless verify(request, raw_body, secret)

  store(raw_body)
  response.status = 204
end
%w[INT TERM].each { |signal| trap(signal) { server.shutdown } }
server.start
