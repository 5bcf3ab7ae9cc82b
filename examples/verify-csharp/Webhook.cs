using System;
using System.Globalization;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;

// For .NET and for .NET Framework 4.6 and later.
public static class Webhook
{
    private const long ToleranceSeconds = 300;

    private static readonly string[] Names =
        { "X-Service-Signature", "X-Service-Timestamp", "X-Service-Event", "X-Service-Delivery-Id" };

    /// <param name="valuesOf">All values of a header by its name; null or none where it is absent.</param>
    /// <param name="rawBody">The bytes as received: verify first, parse afterwards.</param>
    /// <param name="secret">The signing secret, its text as it is.</param>
    public static bool Verify(Func<string, string[]> valuesOf, byte[] rawBody, string secret)
    {
        // Each header is there once; a second one, also one that was joined with a comma, would make it ambiguous.
        string[][] headers = Names.Select(name => valuesOf(name) ?? new string[0]).ToArray();
        if (headers.Any(values => values.Length != 1 || values[0].Contains(","))) return false;
        string signature = headers[0][0], timestamp = headers[1][0];
        if (!Regex.IsMatch(signature, @"\Asha256=[0-9a-f]{64}\z")) return false;
        if (!Regex.IsMatch(timestamp, @"\A(0|[1-9][0-9]{0,15})\z")) return false;
        long seconds = long.Parse(timestamp, CultureInfo.InvariantCulture);
        if (seconds > 9007199254740991) return false;
        if (Math.Abs(DateTimeOffset.UtcNow.ToUnixTimeSeconds() - seconds) > ToleranceSeconds) return false;

        byte[] message = Encoding.UTF8.GetBytes(timestamp + ".").Concat(rawBody).ToArray();
        using (var hmac = new HMACSHA256(Encoding.UTF8.GetBytes(secret)))
        {
            string digest = BitConverter.ToString(hmac.ComputeHash(message)).Replace("-", "").ToLowerInvariant();
            return SameInConstantTime("sha256=" + digest, signature);
        }
    }

    // What CryptographicOperations.FixedTimeEquals does, which .NET Framework doesn't have.
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
    private static bool SameInConstantTime(string expected, string given)
    {
        int difference = expected.Length ^ given.Length;
        for (int index = 0; index < expected.Length && index < given.Length; index++)
            difference |= expected[index] ^ given[index];
        return difference == 0;
    }
}

// ASP.NET Core, where the body's limit is a setting of Kestrel (MaxRequestBodySize):
//
// app.MapPost("/webhooks", async (HttpRequest request) => {
//     using var body = new MemoryStream();
//     await request.Body.CopyToAsync(body);
//     if (!Webhook.Verify(name => request.Headers[name].ToArray(), body.ToArray(), secret)) return Results.Unauthorized();
//     await Store(body.ToArray()); // durably, once for each "id"; do the work afterwards
//     return Results.NoContent();
// });
