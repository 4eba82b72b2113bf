package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/notices"
	"github.com/sallyport/sallyport/internal/signin"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// flushWait bounds how long a server that ends goes on sending notices.
	flushWait = 3 * time.Second
	// actionNoticeLost is recorded when notices could not be sent.
	actionNoticeLost audit.Action = "notice.lost"
)

// StartNotices begins to tell the receivers of the configuration of calls that this
// server holds, in lines that clean makes readable. The function that it returns tries once more to send what waits, for a
// short time; call it when no call runs any more.
func (rt *Runtime) StartNotices(clean func(string) string) (stop func()) {
	s := notices.New(&notices.Options{
		Get: rt.Approvals.Get, Waiting: rt.ListHeld, Settings: rt.Settings, Secret: rt.findSecretNow, Known: rt.knownSecretsNow, SendMail: rt.sendMailNow, Network: *rt.network,
		Page: func(ctx context.Context) string {
			// Without an address a notice has no link.
			base, _ := rt.PageURL(ctx)
			return base
		},
		Command: func(id string) string { return rt.CommandLine("approvals approve " + id) },
		Clean:   clean, Logger: rt.Logger,
		RecordLoss: func(name string, count int64) {
			e := ChangeEvent(actionNoticeLost, "notices."+name, text.CountOf(int(count), "notice")+" could not be sent")
			if err := rt.recordChange(context.Background(), e); err != nil {
				rt.Logger.Error("there is no record of notices that could not be sent", "error", err)
			}
		},
	})
	s.Replace(rt.InForce().Config.Notices)
	rt.notices.Store(s)
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), flushWait)
		defer cancel()
		s.Close(ctx)
	}
}

// AnnounceWaiting tells the receivers of notices of the calls that wait already, each
// receiver once of each call, whichever server of the state told it.
func (rt *Runtime) AnnounceWaiting(ctx context.Context) {
	if s := rt.notices.Load(); s != nil {
		s.AnnounceWaiting(ctx)
	}
}

// findSecretNow asks the sources of the configuration in force.
func (rt *Runtime) findSecretNow(ctx context.Context, ref string) (s sallyport.Secret, ok bool, err error) {
	source := rt.InForce().secretsOf
	if source == nil {
		return s, false, nil
	}
	return source.Secret(ctx, ref)
}

// knownSecretsNow lists the secrets of the configuration in force.
func (rt *Runtime) knownSecretsNow(ctx context.Context) ([]sallyport.Secret, error) {
	source := rt.InForce().secretsOf
	if source == nil {
		return nil, nil
	}
	return source.Known(ctx)
}

// sendMailNow hands a mail to a relay of the configuration in force.
func (rt *Runtime) sendMailNow(ctx context.Context, relay string, m sallyport.Message) error {
	relays := rt.InForce().relays
	if relays == nil {
		return errors.New("the configuration has no mail relay any more")
	}
	return relays.Send(ctx, relay, m)
}

// PageURL returns the address by which people reach the page, without a final slash: that
// of the configuration, or of the server that serves the state. It is empty without one.
func (rt *Runtime) PageURL(ctx context.Context) (string, error) {
	if base := rt.InForce().Config.PageURL; base != "" {
		return base, nil
	}
	address, ok, err := rt.Settings.Get(ctx, signin.AddressSetting)
	if err != nil || !ok {
		return "", err
	}
	return rt.ServerURL(address), nil
}

// findBadSigners returns the webhooks whose secret is set and cannot sign.
func (rt *Runtime) findBadSigners(ctx context.Context) (list []Lack) {
	c := rt.InForce().Config
	for _, name := range slices.Sorted(maps.Keys(c.Notices)) {
		ref := c.Notices[name].Secret
		s, ok, err := rt.findSecretNow(ctx, ref)
		if ref == "" || !ok || err != nil {
			continue // the list of missing secrets has it
		}
		if _, err := notices.DecodeSecret(s); err != nil {
			list = append(list, Lack{
				What: "secret", Name: ref, Why: fmt.Sprintf("webhook %s: %s", name, err), Source: c.Source("notices." + name + ".secret"),
				Fix: rt.fixSecret(ref),
			})
		}
	}
	return list
}
