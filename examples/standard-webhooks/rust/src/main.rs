// cargo add standardwebhooks http
use http::HeaderMap;
use standardwebhooks::Webhook;
use std::env;
use std::io::Read;

fn main() {
    // The secret as the page showed it: the library decodes it itself.
    let webhook = Webhook::new(&env::var("WEBHOOK_SECRET").unwrap()).unwrap();

    let args: Vec<String> = env::args().collect();
    let mut headers = HeaderMap::new();
    headers.insert("webhook-id", args[1].parse().unwrap());
    headers.insert("webhook-timestamp", args[2].parse().unwrap());
    headers.insert("webhook-signature", args[3].parse().unwrap());
    let mut raw_body = Vec::new();
    std::io::stdin().read_to_end(&mut raw_body).unwrap();
    webhook.verify(&raw_body, &headers).unwrap();
    println!("{}", String::from_utf8_lossy(&raw_body));
}
