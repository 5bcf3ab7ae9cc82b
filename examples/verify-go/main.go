package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	toleranceSeconds = 300
	bodyLimitBytes   = 1 << 20
)

var (
	headerNames      = []string{"X-Service-Signature", "X-Service-Timestamp", "X-Service-Event", "X-Service-Delivery-Id"}
	signaturePattern = regexp.MustCompile(`^sha256=[0-9a-f]{64}$`)
	timestampPattern = regexp.MustCompile(`^(0|[1-9][0-9]{0,15})$`)
)

// verify takes the body's bytes as received: verify first, parse afterwards.
// The secret's text is the key, as it is.
func verify(header http.Header, rawBody []byte, secret string) bool {
	// Each header is there once; a second one, also one that was joined with a comma, would make it ambiguous.
	for _, name := range headerNames {
		if values := header.Values(name); len(values) != 1 || strings.Contains(values[0], ",") {
			return false
		}
	}
	signature, timestamp := header.Get("X-Service-Signature"), header.Get("X-Service-Timestamp")
	if !signaturePattern.MatchString(signature) || !timestampPattern.MatchString(timestamp) {
		return false
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || seconds > 1<<53-1 {
		return false
	}
	if age := time.Now().Unix() - seconds; age > toleranceSeconds || age < -toleranceSeconds {
		return false
	}

	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(rawBody)
	expected := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(expected), []byte(signature))
}

// store keeps the event durably, once for each "id" in it, since it may come twice. Work on it afterwards.
func store(rawBody []byte) error {
	log.Println(len(rawBody), "bytes")
	return nil
}

func main() {
	secret, port := os.Getenv("WEBHOOK_SECRET"), os.Getenv("PORT")
	if secret == "" {
		log.Fatal("Set WEBHOOK_SECRET to the endpoint's signing secret.")
	}
	if port == "" {
		port = "8080"
	}
	http.HandleFunc("/", func(response http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodPost {
			response.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		rawBody, err := io.ReadAll(http.MaxBytesReader(response, request.Body, bodyLimitBytes))
		if err != nil {
			response.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		if !verify(request.Header, rawBody, secret) {
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		if err := store(rawBody); err != nil {
			response.WriteHeader(http.StatusInternalServerError)
			return
		}
		response.WriteHeader(http.StatusNoContent)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}
