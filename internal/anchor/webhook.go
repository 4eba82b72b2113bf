package anchor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const (
	// requestWait bounds a request to a place or an authority, and its answer.
	requestWait = 15 * time.Second
	// maxAnswer bounds an answer: one of an authority has its certificates.
	maxAnswer = 64 << 10
)

// PostTo posts the entry to a web address, which has to answer with a status of 2xx.
func PostTo(ctx context.Context, client *http.Client, address string, e Entry) error {
	line, err := e.encodeLine()
	if err != nil {
		return err
	}
	_, err = postBody(ctx, client, address, "application/json", line)
	return err
}

// postBody posts a text and returns the answer. No error has the address, which may hold a
// secret.
func postBody(ctx context.Context, client *http.Client, address, content string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWait)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("the address: %w", withoutAddress(err))
	}
	r.Header.Set("Content-Type", content)
	answer, err := client.Do(r)
	if err != nil {
		return nil, withoutAddress(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		return nil, fmt.Errorf("the answer is %s", answer.Status)
	case err != nil:
		return nil, fmt.Errorf("the answer: %w", err)
	case len(text) > maxAnswer:
		return nil, fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	return text, nil
}

// withoutAddress returns the cause of an error of net/http, which quotes the address.
func withoutAddress(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
