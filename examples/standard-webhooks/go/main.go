// go get github.com/standard-webhooks/standard-webhooks/libraries
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	// The secret as the page showed it: the library decodes it itself.
	webhook, err := standardwebhooks.NewWebhook(os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		log.Fatal(err)
	}

	header := http.Header{}
	header.Set("webhook-id", os.Args[1])
	header.Set("webhook-timestamp", os.Args[2])
	header.Set("webhook-signature", os.Args[3])
	rawBody, err := io.ReadAll(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	if err := webhook.Verify(rawBody, header); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", rawBody)
}
