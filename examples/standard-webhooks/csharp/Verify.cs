// dotnet add package StandardWebhooks
using System;
using System.IO;
using System.Net;
using StandardWebhooks;

// The secret as the page showed it: the library decodes it itself.
var webhook = new Webhook(Environment.GetEnvironmentVariable("WEBHOOK_SECRET"));

var headers = new WebHeaderCollection
{
    { "webhook-id", args[0] },
    { "webhook-timestamp", args[1] },
    { "webhook-signature", args[2] },
};
string rawBody = new StreamReader(Console.OpenStandardInput()).ReadToEnd();
webhook.Verify(rawBody, headers); // throws where it does not verify
Console.WriteLine(rawBody);
