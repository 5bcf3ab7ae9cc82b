// Emits WorkItemCompleted for each work item whose id, a UUID, is a line of the standard input.
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"regexp"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const pause = 500 * time.Millisecond

var (
	errUnroutable = errors.New("no queue takes it: start Herald's publisher, and compare BROKER_NAMESPACE")
	errRefused    = errors.New("the broker refused it: too many events wait, try again later")
)

var uuidPattern = regexp.MustCompile(`^(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

type event struct {
	OrganizationID string         `json:"organizationId"`
	ID             string         `json:"id"`
	Type           string         `json:"type"`
	OccurredAtUTC  string         `json:"occurredAtUtc"`
	EntityType     string         `json:"entityType"`
	EntityID       string         `json:"entityId"`
	Data           map[string]any `json:"data"`
}

// newEvent makes an event. Keep it over retries: its organization, id and time say which event it is.
func newEvent(organizationID, eventType, entityType, entityID string, data map[string]any) event {
	occurredAt := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	return event{organizationID, newUUID(), eventType, occurredAt, entityType, entityID, data}
}

func newUUID() string {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		panic(err)
	}
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// routingKey has a digit that chooses one of sixteen queues, so that an organization's flood does not hold up the others.
func routingKey(event event) string {
	digits := fmt.Sprintf("%x", sha256.Sum256([]byte(event.OrganizationID)))
	// Dots divide a routing key, so those of a type become hyphens.
	return fmt.Sprintf("%s.%c.%c", strings.ReplaceAll(event.Type, ".", "-"), digits[0], digits[1])
}

type emitter struct {
	url, exchange string
	timeout       time.Duration
	connection    *amqp.Connection
	channel       *amqp.Channel
	returned      chan amqp.Return
	closed        chan *amqp.Error
}

// emit returns nil when the broker has stored the event. After an error, emitting the same event again is safe.
func (e *emitter) emit(event event, traceparent string) error {
	if !uuidPattern.MatchString(event.EntityID) {
		return errors.New("its entity id is no UUID, so Herald would reject it")
	}
	ctx, cancel := context.WithTimeout(context.Background(), e.timeout)
	defer cancel()
	for {
		err := e.publish(ctx, event, traceparent)
		if err == nil || errors.Is(err, errUnroutable) || errors.Is(err, errRefused) {
			return err
		}
		// The broker may have it or not. Sent again, it is the same event, and Herald delivers it once.
		e.close()
		select {
		case <-ctx.Done():
			return fmt.Errorf("the broker did not confirm it in time: %w", err)
		case <-time.After(pause):
		}
	}
}

func (e *emitter) publish(ctx context.Context, event event, traceparent string) error {
	body, err := json.Marshal(event)
	if err != nil {
		return err
	}
	if err := e.open(); err != nil {
		return err
	}
	message := amqp.Publishing{
		ContentType:  "application/json",
		DeliveryMode: amqp.Persistent,
		MessageId:    event.ID,
		Type:         event.Type,
		Headers:      amqp.Table{},
		Body:         body,
	}
	if traceparent != "" {
		message.Headers["traceparent"] = traceparent
	}
	key := routingKey(event)
	const mandatory, immediate = true, false
	confirm, err := e.channel.PublishWithDeferredConfirmWithContext(ctx, e.exchange, key, mandatory, immediate, message)
	if err != nil {
		return err
	}
	acknowledged, err := confirm.WaitContext(ctx)
	if err != nil {
		return err
	}
	if !acknowledged {
		// A channel that closes answers its confirms with false too, and says so first.
		select {
		case reason := <-e.closed:
			return fmt.Errorf("the channel closed: %v", reason)
		default:
			return errRefused
		}
	}
	// What no queue takes is returned before it is confirmed.
	select {
	case _, returned := <-e.returned:
		if returned {
			return errUnroutable
		}
	default:
	}
	return nil
}

// open declares nothing: an emitter may write to the exchange, which Herald makes, and nothing else.
func (e *emitter) open() error {
	if e.channel != nil {
		return nil
	}
	var err error
	if e.connection, err = amqp.Dial(e.url); err != nil {
		return err
	}
	if e.channel, err = e.connection.Channel(); err != nil {
		return err
	}
	e.returned = e.channel.NotifyReturn(make(chan amqp.Return, 1))
	e.closed = e.channel.NotifyClose(make(chan *amqp.Error, 1))
	return e.channel.Confirm(false)
}

func (e *emitter) close() {
	if e.connection != nil {
		_ = e.connection.CloseDeadline(time.Now().Add(time.Second))
	}
	e.connection, e.channel = nil, nil
}

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func main() {
	organizationID := os.Getenv("ORGANIZATION_ID")
	if organizationID == "" {
		log.Fatal("Set ORGANIZATION_ID to the organization whose events these are.")
	}
	timeout, err := time.ParseDuration(setting("TIMEOUT_SECONDS", "30") + "s")
	if err != nil {
		log.Fatal(err)
	}
	exchange := setting("BROKER_NAMESPACE", "herald") + ".events"
	e := &emitter{url: setting("AMQP_URL", "amqp://localhost"), exchange: exchange, timeout: timeout}
	exitCode := 0
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		changes := map[string]any{"Status": map[string]string{"oldValue": "InProgress", "newValue": "Done"}}
		workItemID := strings.TrimSpace(lines.Text())
		event := newEvent(organizationID, "WorkItemCompleted", "WorkItem", workItemID, map[string]any{"changes": changes})
		if err := e.emit(event, os.Getenv("TRACEPARENT")); err != nil {
			exitCode = 1
			fmt.Printf("not emitted %s: %v\n", event.ID, err)
			continue
		}
		fmt.Printf("emitted %s\n", event.ID)
	}
	e.close()
	os.Exit(exitCode)
}
