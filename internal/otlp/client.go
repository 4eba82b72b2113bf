package otlp

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/transport"
)

// The paths of a collector.
const (
	pathTraces  = "/v1/traces"
	pathMetrics = "/v1/metrics"
	pathLogs    = "/v1/logs"
)

const (
	// sendWait bounds one request.
	sendWait = 10 * time.Second
	// maxTries bounds how often spans are sent again; firstPause is the time before the
	// second try, which doubles, and longestPause the longest that a collector may ask for.
	maxTries, firstPause, longestPause = 4, time.Second, 30 * time.Second
	// maxAnswer bounds what is read of an answer, in bytes.
	maxAnswer = 64 << 10
)

// errRejected says that a collector took a request and not all that is in it.
var errRejected = errors.New("the collector rejected some of them")

// Client sends messages to one collector.
type Client struct {
	url    string
	header func(context.Context) (http.Header, error)
	client *http.Client
	pause  time.Duration
}

// NewClient returns a client of the collector at a base URL. header returns the headers of
// a request, with the secrets of now; dial makes the connections, and secure says whom they
// believe, nil for the authorities of the system. Proxies of the environment are ignored and
// redirects not followed: the operator named the collector.
func NewClient(url string, header func(context.Context) (http.Header, error), dial func(ctx context.Context, network, address string) (net.Conn, error), secure *tls.Config) *Client {
	t := &http.Transport{DialContext: dial, TLSClientConfig: secure, ForceAttemptHTTP2: true, TLSHandshakeTimeout: sendWait, MaxIdleConns: 2, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: maxAnswer}
	return &Client{strings.TrimSuffix(url, "/"), header, &http.Client{
		Transport: t, Timeout: sendWait,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, firstPause}
}

// CloseIdle closes connections that are not in use.
func (c *Client) CloseIdle() { c.client.CloseIdleConnections() }

// StatusError is an answer that is no success.
type StatusError struct {
	status int
	after  time.Duration // when to try again; 0 where the collector does not say
}

// Error implements error.
func (e *StatusError) Error() string { return fmt.Sprintf("the collector answered %d", e.status) }

// isPassing reports whether trying again may help.
func (e *StatusError) isPassing() bool {
	switch e.status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// Pause is how long the collector wants to be left alone; 0 where it does not say.
func (e *StatusError) Pause() time.Duration { return e.after }

// IsAboutContent reports whether the collector refuses what is in the message: it cannot read
// it, or it is too long. The same message again is refused again.
func (e *StatusError) IsAboutContent() bool {
	return e.status == http.StatusBadRequest || e.status == http.StatusRequestEntityTooLarge
}

// sendUntilTaken sends a message until the collector takes or refuses it, a few times.
func (c *Client) sendUntilTaken(ctx context.Context, path string, message []byte) (rejected int64, err error) {
	pause := c.pause
	for try := 1; ; try++ {
		rejected, err = c.sendOnce(ctx, path, message)
		answer, answered := errors.AsType[*StatusError](err)
		if err == nil || answered && !answer.isPassing() || try == maxTries || ctx.Err() != nil {
			return rejected, err
		}
		wait := pause
		if answered && answer.after > 0 {
			wait = min(answer.after, longestPause)
		}
		pause *= 2
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return 0, err
		}
	}
}

// sendOnce sends a message, and returns how much of it the collector rejected. What is taken
// is taken, also when the rest of the answer cannot be read.
func (c *Client) sendOnce(ctx context.Context, path string, message []byte) (rejected int64, err error) {
	body, _, err := c.postMessage(ctx, path, message)
	return readRejected(body), err
}

// postMessage sends a message, and returns the answer to it: a success, of which wholly says
// whether it came to its end.
func (c *Client) postMessage(ctx context.Context, path string, message []byte) (answer []byte, wholly bool, err error) {
	header, err := c.header(ctx)
	if err != nil {
		return nil, false, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+path, bytes.NewReader(message))
	if err != nil {
		return nil, false, err
	}
	r.Header = header
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("User-Agent", "sallyport")
	resp, err := c.client.Do(r)
	if err != nil {
		return nil, false, transport.Failure(ctx, err, func(what string, _ error) error { return errors.New(what) })
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		seconds, _ := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 16)
		return nil, false, &StatusError{resp.StatusCode, time.Duration(seconds) * time.Second}
	}
	return body, err == nil, nil
}

// readRejected reads how many items of a request a collector says that it rejected: the
// first field of the first field of its answer.
func readRejected(answer []byte) int64 {
	const inner, number = 1<<3 | typeBytes, 1<<3 | typeVarint
	if len(answer) == 0 || answer[0] != inner {
		return 0
	}
	_, n := binary.Uvarint(answer[1:])
	if n <= 0 || len(answer) <= 1+n || answer[1+n] != number {
		return 0
	}
	rejected, n := binary.Uvarint(answer[2+n:])
	if n <= 0 {
		return 0
	}
	return int64(rejected)
}
