package database

import (
	"context"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/database/internal/engine"
)

func TestSecretByReference(t *testing.T) {
	t.Parallel()
	var d settingsDriver
	b, err := Open(map[string]Connection{"db": {Driver: &d, SecretRef: "db/main"}}, &Options{Secrets: source{}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	if got, err := d.given.Address(t.Context()); err != nil || got != "address of db/main" {
		t.Errorf("address() = %q, %v", got, err)
	}
}

// settingsDriver stores the settings that it is given.
type settingsDriver struct{ given engine.Settings }

func (*settingsDriver) Name() string { return "settings" }

func (*settingsDriver) OnFile() bool { return false }

func (d *settingsDriver) Open(s engine.Settings) engine.Engine {
	d.given = s
	return nil
}

// source answers every reference.
type source struct{}

func (source) Secret(_ context.Context, ref string) (sallyport.Secret, bool, error) {
	return sallyport.NewSecret("address of " + ref), true, nil
}

func (source) Known(context.Context) ([]sallyport.Secret, error) { return nil, nil }
