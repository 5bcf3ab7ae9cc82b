// For test.sh: asks the class about each line of its input, headers and body in Base64.
using System;
using System.Linq;
using System.Text;

static class Ask
{
    static void Main()
    {
        string secret = Environment.GetEnvironmentVariable("WEBHOOK_SECRET");
        for (string line; (line = Console.ReadLine()) != null;)
        {
            string[] parts = line.Split(' ');
            string[] headers = Encoding.GetEncoding("iso-8859-1").GetString(Convert.FromBase64String(parts[0])).Split('\n');
            Func<string, string[]> valuesOf = name => headers
                .Where(header => header.StartsWith(name + ":", StringComparison.OrdinalIgnoreCase))
                .Select(header => header.Substring(name.Length + 1)).ToArray();
            Console.WriteLine(Webhook.Verify(valuesOf, Convert.FromBase64String(parts[1]), secret));
            Console.Out.Flush();
        }
    }
}
