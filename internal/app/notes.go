package app

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/store"
)

// Notes are the named values of the state, for commands that opened no gate.
type Notes struct {
	store.Settings
	key []byte
}

// errPassing is the error of a state that a later command does not find.
var errPassing = errors.New("the configuration keeps its state in memory")

// OpenNotes opens the state of the configuration, and creates it when there is none.
// It refuses a state that ends with the command.
func (rt *Runtime) OpenNotes(ctx context.Context) (Notes, error) {
	if rt.InForce().Config.State.Kind == config.StateMemory {
		return Notes{}, errPassing
	}
	if err := rt.openRecord(ctx); err != nil {
		return Notes{}, err
	}
	return Notes{rt.Settings, rt.key.Derive("notes of secrets")}, nil
}

// ComputeMAC returns a text that is the same for the same value. It tells nothing of
// the value to a reader who lacks the key beside the state.
func (n Notes) ComputeMAC(value sallyport.Secret) string {
	h := hmac.New(sha256.New, n.key)
	_, _ = h.Write([]byte(value.Reveal()))
	return hex.EncodeToString(h.Sum(nil))
}
