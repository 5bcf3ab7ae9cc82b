use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::env;
use std::io::Read;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};
use tiny_http::{Method, Request, Response, Server};

const TOLERANCE_SECONDS: u64 = 300;
const BODY_LIMIT_BYTES: u64 = 1024 * 1024;

/// `raw_body` is the bytes as received: verify first, parse afterwards.
/// `secret` is the signing secret, its text as it is.
fn verify(headers: &[(String, String)], raw_body: &[u8], secret: &str) -> bool {
    let (signature, timestamp) = match (once(headers, "X-Service-Signature"), once(headers, "X-Service-Timestamp")) {
        (Some(signature), Some(timestamp)) => (signature, timestamp),
        _ => return false,
    };
    if once(headers, "X-Service-Event").is_none() || once(headers, "X-Service-Delivery-Id").is_none() {
        return false;
    }
    let (digest, seconds) = match (digest_of(signature), seconds_of(timestamp)) {
        (Some(digest), Some(seconds)) => (digest, seconds),
        _ => return false,
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    if now.abs_diff(seconds) > TOLERANCE_SECONDS {
        return false;
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(raw_body);
    mac.verify_slice(&digest).is_ok() // in constant time
}

/// A header that is there once; a second one, also one that was joined with a comma, would make it ambiguous.
fn once<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut values = headers.iter().filter(|(each, _)| each.eq_ignore_ascii_case(name)).map(|(_, value)| value);
    let value = values.next()?;
    (values.next().is_none() && !value.contains(',')).then_some(value)
}

/// "sha256=" and 64 lowercase hexadecimal digits.
fn digest_of(signature: &str) -> Option<Vec<u8>> {
    let hex = signature.strip_prefix("sha256=")?;
    if hex.len() != 64 || !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    (0..64).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok()).collect()
}

/// The usual text of a number below 2^53, which a sign or a leading zero is not.
fn seconds_of(timestamp: &str) -> Option<u64> {
    let seconds: u64 = timestamp.parse().ok()?;
    (seconds < 1 << 53 && seconds.to_string() == timestamp).then_some(seconds)
}

/// Stores the event durably, once for each "id" in it, since it may come twice. Work on it afterwards.
fn store(raw_body: &[u8]) {
    println!("{} bytes", raw_body.len());
}

fn receive(request: &mut Request, secret: &str) -> u16 {
    if *request.method() != Method::Post {
        return 405;
    }
    let headers: Vec<(String, String)> = request
        .headers()
        .iter()
        .map(|header| (header.field.to_string(), header.value.to_string()))
        .collect();
    let mut raw_body = Vec::new();
    if request.as_reader().take(BODY_LIMIT_BYTES + 1).read_to_end(&mut raw_body).is_err() {
        return 400;
    }
    if raw_body.len() as u64 > BODY_LIMIT_BYTES {
        return 413;
    }
    if !verify(&headers, &raw_body, secret) {
        return 401;
    }
    store(&raw_body);
    204
}

fn main() {
    let secret = env::var("WEBHOOK_SECRET").unwrap_or_default();
    assert!(!secret.is_empty(), "Set WEBHOOK_SECRET to the endpoint's signing secret.");
    let port = env::var("PORT").unwrap_or("8080".into());
    let server = Server::http(format!("127.0.0.1:{port}")).unwrap();
    for mut request in server.incoming_requests() {
        let secret = secret.clone();
        thread::spawn(move || {
            let status = receive(&mut request, &secret);
            let _ = request.respond(Response::empty(status));
        });
    }
}
